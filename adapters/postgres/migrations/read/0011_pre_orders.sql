-- How is a sorted list read in its order? An index for each column that lists are sorted by, where no filter's index serves.
--
-- What most rows share (an amount of 0, the usual priority) is not in the index: those rows stand together, newest first. A
-- row without a value comes last and needs no place either. Of equal rows the few that a page shows are sorted as they come.
CREATE INDEX leads_updated ON {read}.leads (company_id, updated_at) WHERE deleted_at IS NULL;
CREATE INDEX leads_first_action ON {read}.leads (company_id, first_action_at)
    WHERE deleted_at IS NULL AND first_action_at IS NOT NULL;
CREATE INDEX leads_last_action ON {read}.leads (company_id, last_action_at)
    WHERE deleted_at IS NULL AND last_action_at IS NOT NULL;
CREATE INDEX leads_last_call ON {read}.leads (company_id, last_call_at) WHERE deleted_at IS NULL AND last_call_at IS NOT NULL;
CREATE INDEX leads_expires ON {read}.leads (company_id, expires_at) WHERE deleted_at IS NULL AND expires_at IS NOT NULL;
CREATE INDEX leads_revenue ON {read}.leads (company_id, revenue, created_at, id) WHERE deleted_at IS NULL AND revenue <> 0;
CREATE INDEX leads_payout ON {read}.leads (company_id, payout, created_at, id) WHERE deleted_at IS NULL AND payout <> 0;
CREATE INDEX leads_priority ON {read}.leads (company_id, lead_priority, created_at, id)
    WHERE deleted_at IS NULL AND lead_priority <> 100;

CREATE INDEX calls_total_duration ON {read}.calls (company_id, total_duration, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX calls_attempt_number ON {read}.calls (company_id, attempt_number, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX calls_talk_duration ON {read}.calls (company_id, talk_duration, created_at, id)
    WHERE deleted_at IS NULL AND talk_duration <> 0;
CREATE INDEX calls_revenue ON {read}.calls (company_id, revenue, created_at, id) WHERE deleted_at IS NULL AND revenue <> 0;
CREATE INDEX calls_payout ON {read}.calls (company_id, payout, created_at, id) WHERE deleted_at IS NULL AND payout <> 0;
