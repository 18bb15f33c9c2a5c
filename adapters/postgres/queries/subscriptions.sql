-- Which events wait for which subscriptions?

-- progress --
SELECT topic_id, next_offset, last_offset, last_digest
  FROM {work}.subscription_progress WHERE topic = $1 AND partition = $2

-- save_progress --
-- It never goes back: a former owner of the partition may still write. One of another topic stays: `recover` settles it.
INSERT INTO {work}.subscription_progress AS p (topic, partition, topic_id, next_offset, last_offset, last_digest)
SELECT $1, given.* FROM unnest($2::integer[], $3::text[], $4::bigint[], $5::bigint[], $6::text[]) AS given
    ON CONFLICT (topic, partition) DO UPDATE
   SET next_offset = excluded.next_offset, last_offset = excluded.last_offset, last_digest = excluded.last_digest
 WHERE p.topic_id = excluded.topic_id AND p.next_offset < excluded.next_offset

-- insert --
INSERT INTO {work}.subscription_deliveries
       (webhook_id, company_id, subscription_id, event, lead_id, call_id, occurred_at, body)
SELECT given.* FROM unnest(
    $1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::timestamptz[], $8::text[]
) AS given
    ON CONFLICT (webhook_id) DO NOTHING

-- waiting_counts --
SELECT subscription_id, count(*) AS count FROM {work}.subscription_deliveries WHERE state = 'waiting' GROUP BY 1

-- drop --
-- Count the events of a subscription that were not stored.
INSERT INTO {work}.subscription_standings AS s (subscription_id, company_id, dropped_count, dropped_since)
VALUES ($1, $2, $3, clock_timestamp())
    ON CONFLICT (subscription_id) DO UPDATE
   SET dropped_count = s.dropped_count + excluded.dropped_count,
       dropped_since = coalesce(s.dropped_since, excluded.dropped_since)

-- disabled --
SELECT subscription_id FROM {work}.subscription_standings WHERE disabled_at IS NOT NULL

-- claim --
-- Lease the deliveries that are due, within the places of each subscription and company and $5 in all, the longest due of a
-- subscription first. One waits while an earlier event of its lead does, until that one has failed for $8 seconds.
WITH due AS (
    SELECT one.id, asked.of_company, row_number() OVER (PARTITION BY asked.company_id ORDER BY asked.turn) AS place
      FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::integer[])
           WITH ORDINALITY AS asked (subscription_id, company_id, of_subscription, of_company, turn)
     CROSS JOIN LATERAL (
        SELECT d.id
          FROM {work}.subscription_deliveries AS d
         WHERE d.subscription_id = asked.subscription_id AND d.state = 'waiting' AND d.next_attempt_at <= clock_timestamp()
           AND (d.leased_until IS NULL OR d.leased_until < clock_timestamp())
           AND NOT EXISTS (
               SELECT 1 FROM {work}.subscription_deliveries AS b
                WHERE b.subscription_id = d.subscription_id AND b.lead_id = d.lead_id AND b.state = 'waiting' AND b.id < d.id
                  AND (b.failing_since IS NULL OR b.failing_since > clock_timestamp() - $8 * interval '1 second')
           )
         ORDER BY d.next_attempt_at, d.id
         LIMIT asked.of_subscription
           FOR UPDATE SKIP LOCKED
     ) AS one
)
UPDATE {work}.subscription_deliveries AS d
   SET claimant = $6, leased_until = clock_timestamp() + $7 * interval '1 second'
 WHERE d.id = ANY (ARRAY (SELECT id FROM due WHERE place <= of_company LIMIT $5))
RETURNING d.id, d.webhook_id, d.company_id, d.subscription_id, d.event, d.lead_id, d.body, d.tries

-- record --
-- Record an attempt, if the lease is still the claimant's. The waits grow by `tries`; without a next one the delivery ends.
WITH one AS (
    UPDATE {work}.subscription_deliveries AS d
       SET state = CASE WHEN $5 THEN 'delivered' WHEN $6::float8 IS NULL THEN 'failed' ELSE 'waiting' END,
           attempts = d.attempts + 1,
           tries = d.tries + 1,
           failing_since = CASE WHEN $5 THEN NULL ELSE coalesce(d.failing_since, clock_timestamp()) END,
           next_attempt_at = clock_timestamp() + coalesce($6::float8, 0) * interval '1 second',
           last_status = $3,
           last_detail = $4,
           ended_at = CASE WHEN $5 OR $6::float8 IS NULL THEN clock_timestamp() END,
           claimant = NULL,
           leased_until = NULL
     WHERE d.id = $1 AND d.claimant = $2 AND d.state = 'waiting'
 RETURNING d.id, d.attempts, d.company_id, d.subscription_id, d.failing_since
), logged AS (
    INSERT INTO {work}.subscription_attempts (delivery_id, number, milliseconds, status, detail)
    SELECT id, attempts, $7, $3, $4 FROM one
)
INSERT INTO {work}.subscription_standings AS s (subscription_id, company_id, last_delivered_at, failing_since)
SELECT subscription_id, company_id, CASE WHEN $5 THEN clock_timestamp() END, CASE WHEN NOT $5 THEN clock_timestamp() END
  FROM one
    ON CONFLICT (subscription_id) DO UPDATE
   SET last_delivered_at = coalesce(excluded.last_delivered_at, s.last_delivered_at),
       failing_since = CASE WHEN $5 THEN NULL ELSE coalesce(s.failing_since, excluded.failing_since) END
RETURNING (SELECT failing_since FROM one) AS delivery_failing_since, s.last_delivered_at

-- release --
-- Give back leases under which nothing was sent.
UPDATE {work}.subscription_deliveries SET claimant = NULL, leased_until = NULL
 WHERE id = ANY ($1::bigint[]) AND claimant = $2 AND state = 'waiting'

-- disable --
UPDATE {work}.subscription_standings SET disabled_at = clock_timestamp(), disabled_reason = $2
 WHERE subscription_id = $1 AND disabled_at IS NULL

-- enable --
UPDATE {work}.subscription_standings
   SET disabled_at = NULL, disabled_reason = NULL, failing_since = NULL, dropped_count = 0, dropped_since = NULL
 WHERE company_id = $1 AND subscription_id = $2

-- wake --
-- Let what waits be tried at once.
UPDATE {work}.subscription_deliveries SET next_attempt_at = clock_timestamp(), tries = 0, failing_since = NULL
 WHERE company_id = $1 AND subscription_id = $2 AND state = 'waiting'

-- replay --
-- Send the events of a span again, at most $6 of them, the oldest first.
UPDATE {work}.subscription_deliveries
   SET state = 'waiting', tries = 0, failing_since = NULL, ended_at = NULL, next_attempt_at = clock_timestamp()
 WHERE id = ANY (ARRAY (
        SELECT id FROM {work}.subscription_deliveries
         WHERE company_id = $1 AND subscription_id = $2 AND occurred_at >= $3 AND occurred_at < $4
           AND state = ANY ($5::text[])
         ORDER BY id LIMIT $6
           FOR UPDATE
       ))

-- standings --
SELECT asked.id AS subscription_id,
       (SELECT count(*) FROM {work}.subscription_deliveries AS d
         WHERE d.company_id = $1 AND d.subscription_id = asked.id AND d.state = 'waiting') AS waiting_count,
       (SELECT count(*) FROM {work}.subscription_deliveries AS d
         WHERE d.company_id = $1 AND d.subscription_id = asked.id AND d.state = 'failed') AS failed_count,
       s.last_delivered_at, s.failing_since, s.disabled_at, s.disabled_reason,
       coalesce(s.dropped_count, 0) AS dropped_count, s.dropped_since
  FROM unnest($2::bigint[]) AS asked (id)
  LEFT JOIN {work}.subscription_standings AS s ON s.subscription_id = asked.id AND s.company_id = $1

-- deliveries --
SELECT id, webhook_id, subscription_id, event, lead_id, call_id, occurred_at, created_at, state, attempts, last_status,
       last_detail, CASE WHEN state = 'waiting' THEN next_attempt_at END AS next_attempt_at, ended_at, {ordered} AS ordered_by
  FROM {work}.subscription_deliveries
 WHERE company_id = $1{where} ORDER BY {order} LIMIT {limit}

-- deliveries_count --
SELECT count(*) FROM (
    SELECT 1 FROM {work}.subscription_deliveries WHERE company_id = $1{where} ORDER BY id DESC LIMIT {limit}
) AS found

-- body --
SELECT body FROM {work}.subscription_deliveries WHERE company_id = $1 AND id = $2

-- attempts --
SELECT number, at, milliseconds, status, detail FROM {work}.subscription_attempts WHERE delivery_id = $1
 ORDER BY number DESC LIMIT $2

-- purge_deliveries --
DELETE FROM {work}.subscription_deliveries
 WHERE ctid = ANY (ARRAY (SELECT ctid FROM {work}.subscription_deliveries
                           WHERE created_at < clock_timestamp() - $1 * interval '1 second' LIMIT $2))

-- purge_attempts --
DELETE FROM {work}.subscription_attempts
 WHERE ctid = ANY (ARRAY (SELECT ctid FROM {work}.subscription_attempts
                           WHERE at < clock_timestamp() - $1 * interval '1 second' LIMIT $2))
