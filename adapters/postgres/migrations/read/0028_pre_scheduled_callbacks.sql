-- To which leads is a call promised? Few at a time: an index for their list, and for one by its id.
CREATE INDEX leads_with_callback ON {read}.leads (company_id, id)
    WHERE deleted_at IS NULL AND callback_at IS NOT NULL;
