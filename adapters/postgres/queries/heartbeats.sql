-- Which agents have pages that are silent?

-- hear --
INSERT INTO {work}.agent_heartbeats (agent_id, company_id) VALUES ($1, $2)
    ON CONFLICT (agent_id) DO UPDATE SET heard_at = clock_timestamp(), leased_until = NULL

-- renew --
-- A status that is set is a sign of life, but it does not begin to expect any.
UPDATE {work}.agent_heartbeats SET heard_at = clock_timestamp(), leased_until = NULL WHERE agent_id = $1

-- claim --
WITH silent AS (
    SELECT agent_id FROM {work}.agent_heartbeats
     WHERE heard_at < clock_timestamp() - $1 * interval '1 second'
       AND (leased_until IS NULL OR leased_until < clock_timestamp())
     ORDER BY heard_at LIMIT $2
       FOR UPDATE SKIP LOCKED
)
UPDATE {work}.agent_heartbeats AS h SET leased_until = clock_timestamp() + $3 * interval '1 second'
  FROM silent WHERE h.agent_id = silent.agent_id
RETURNING h.agent_id, h.company_id, h.heard_at

-- forget --
-- A heartbeat that came since the claim stays.
DELETE FROM {work}.agent_heartbeats WHERE agent_id = $1 AND heard_at = $2
