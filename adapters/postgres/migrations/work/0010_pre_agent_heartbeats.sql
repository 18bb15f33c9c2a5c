-- Which pages of agents are open? A row per agent from the first heartbeat until the agent is reported silent.
--
-- Times are the database's. A process that reports a silent agent holds the row until `leased_until`, so that one does.
CREATE TABLE {work}.agent_heartbeats (
    agent_id      bigint       NOT NULL PRIMARY KEY,
    company_id    bigint       NOT NULL,
    heard_at      timestamptz  NOT NULL DEFAULT clock_timestamp(),
    leased_until  timestamptz
) WITH (fillfactor = 70);  -- rewritten some times a minute
CREATE INDEX agent_heartbeats_heard ON {work}.agent_heartbeats (heard_at);
