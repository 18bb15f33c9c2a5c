-- Who operates the deployment, what did they change, and what do the work tables say of all companies?

-- find --
SELECT id, name, private_key_sha256, revoked_at FROM {work}.operator_keys WHERE public_key = $1;

-- create --
-- None where there are $4 keys already that are not revoked.
INSERT INTO {work}.operator_keys (public_key, private_key_sha256, name)
SELECT $1, $2, $3
 WHERE (SELECT count(*) FROM {work}.operator_keys WHERE revoked_at IS NULL) < $4
RETURNING id;

-- keys --
SELECT id, public_key, name, created_at, revoked_at FROM {work}.operator_keys ORDER BY id DESC LIMIT $1;

-- revoke --
-- A key that is revoked already stays as it was.
UPDATE {work}.operator_keys SET revoked_at = coalesce(revoked_at, clock_timestamp()) WHERE public_key = $1
RETURNING id, revoked_at;

-- begin_audit --
INSERT INTO {work}.operator_audits (operator_key_id, actor, address, request_id, action, subject, detail)
VALUES ($1, $2, $3, $4, $5, $6, $7)
RETURNING id;

-- end_audit --
UPDATE {work}.operator_audits SET outcome = $2 WHERE id = $1;

-- audits --
SELECT * FROM {work}.operator_audits WHERE id < $1 ORDER BY id DESC LIMIT $2;

-- gateways --
SELECT process, channel, provider, renewed_at, stopped_at,
       stopped_at IS NULL AND renewed_at > clock_timestamp() - $1 * interval '1 second' AS is_live
  FROM {work}.gateways
 ORDER BY renewed_at DESC, process, channel
 LIMIT $2;

-- event_deliveries --
-- Subscriptions of all companies with events that wait or were given up, or that are disabled; the longest waiting first.
SELECT coalesce(counted.company_id, standing.company_id) AS company_id,
       coalesce(counted.subscription_id, standing.subscription_id) AS subscription_id,
       coalesce(counted.waiting_count, 0) AS waiting_count,
       counted.oldest_waiting_at,
       coalesce(counted.failed_count, 0) AS failed_count,
       standing.last_delivered_at, standing.failing_since, standing.disabled_at, standing.disabled_reason,
       coalesce(standing.dropped_count, 0) AS dropped_count
  FROM (SELECT company_id, subscription_id,
               count(*) FILTER (WHERE state = 'waiting') AS waiting_count,
               min(created_at) FILTER (WHERE state = 'waiting') AS oldest_waiting_at,
               count(*) FILTER (WHERE state = 'failed') AS failed_count
          FROM {work}.subscription_deliveries
         WHERE state IN ('waiting', 'failed')
         GROUP BY company_id, subscription_id) AS counted
  FULL JOIN {work}.subscription_standings AS standing USING (subscription_id)
 WHERE counted.subscription_id IS NOT NULL OR standing.disabled_at IS NOT NULL OR standing.failing_since IS NOT NULL
 ORDER BY counted.oldest_waiting_at NULLS LAST, 2
 LIMIT $1;

-- followed --
SELECT topic, partition, next_offset FROM {work}.subscription_progress;

-- carried_out --
SELECT topic, partition, next_offset FROM {work}.delivery_progress;
