-- Which facts are about a contact itself, and which contacts are stopped? Lists of contacts go by descending id.
--
-- Few facts are about a contact: an index of all facts by contact would cost every decision a page.
CREATE INDEX history_contact ON {read}.history (company_id, contact_key, at) WHERE type LIKE 'contact.%';
DROP INDEX {read}.contacts_opted_out;
DROP INDEX {read}.contacts_blocked;
CREATE INDEX contacts_opted_out ON {read}.contacts (company_id, contact_id)
    WHERE opted_out_at IS NOT NULL OR rest ? 'opt_outs';
CREATE INDEX contacts_blocked ON {read}.contacts (company_id, contact_id) WHERE blocked_at IS NOT NULL;
CREATE INDEX contacts_suppressed ON {read}.contacts (company_id, contact_id) WHERE rest ? 'suppressed_at';
