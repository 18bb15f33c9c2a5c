-- Which calls did an agent speak in? An index for the filter `agent_id` of calls: an agent's page asks for the newest ones.
CREATE INDEX calls_agent ON {read}.calls (company_id, agent_id, created_at, id)
    WHERE deleted_at IS NULL AND agent_id IS NOT NULL;
