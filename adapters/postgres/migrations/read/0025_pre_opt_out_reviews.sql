-- Which doubtful texts wait for somebody to read them? The newest unclear text of each contact that is held for one.
CREATE INDEX contacts_in_review ON {read}.contacts (company_id, contact_id) WHERE rest ? 'review_until';
CREATE INDEX history_texts ON {read}.history (company_id, contact_key, at) WHERE type = 'sms.received';
