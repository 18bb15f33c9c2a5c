-- Which calls have a disposition, and which leads came with an import? Indexes for the filters by them; most have neither.
CREATE INDEX calls_disposition ON {read}.calls (company_id, call_disposition_id, created_at, id)
    WHERE deleted_at IS NULL AND call_disposition_id IS NOT NULL;
CREATE INDEX leads_import ON {read}.leads (company_id, ((rest ->> 'lead_import_id')::bigint), created_at, id)
    WHERE deleted_at IS NULL AND (rest ->> 'lead_import_id')::bigint IS NOT NULL;
