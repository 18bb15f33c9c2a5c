-- Which spans have the sums of every category? Those of reports by import, agent, ring pool and hour of an activity are new.
--
-- A process of an older release rolls spans up without them, also after this migration, and sets `rolled_at` alone: a span is
-- complete while `complete_at` equals that. The projectors roll the others up again, a few days at a time.
ALTER TABLE {read}.rolled_spans ADD COLUMN complete_at timestamptz;
CREATE INDEX rolled_spans_incomplete ON {read}.rolled_spans (source, company_id, start)
    WHERE tier = 'day' AND complete_at IS DISTINCT FROM rolled_at;

-- What a lead is grouped by may stand in its calls: the disposition of one, that it converted, or its agent.
CREATE OR REPLACE FUNCTION {read}.mark_days_of_leads() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('
        INSERT INTO %1$I.stale_days (company_id, source, day)
        SELECT DISTINCT l.company_id, ''leads'', date_bin(''1 day'', l.created_at, ''epoch'')
        FROM (
            SELECT company_id, lead_id FROM written
            WHERE call_disposition_id IS NOT NULL OR buyer_converted OR agent_id IS NOT NULL'
        || CASE TG_OP WHEN 'UPDATE' THEN '
            UNION SELECT company_id, lead_id FROM former
            WHERE call_disposition_id IS NOT NULL OR buyer_converted OR agent_id IS NOT NULL' ELSE '' END
        || ') AS c
        JOIN %1$I.leads AS l ON l.company_id = c.company_id AND l.id = c.lead_id', TG_TABLE_SCHEMA);
    RETURN NULL;
END $$;
