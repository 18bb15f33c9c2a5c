-- How are decisions written as rows? All rows of a batch at once: one statement per table, partition and batch.
-- The upserts of the tables are generated from their columns (`adapters/postgres/upserts.py`).
--
-- Decisions of one partition are in order, so its later ones win; between partitions the higher version wins, because it
-- rises through every move. So the rows of a moved lead may come from two partitions in any order, and repeatedly.
-- Rows arrive as arrays of the row types of migrations/read: instants as milliseconds, jsonb as text, lists with commas.

-- take_position --
-- Raise the epoch: former owners move nothing from now on (fencing).
INSERT INTO {read}.positions AS p (topic, partition, topic_id) VALUES ($1, $2, $3)
ON CONFLICT (topic, partition) DO UPDATE SET epoch = p.epoch + 1
RETURNING topic_id, epoch, next_offset, sequence, last_digest

-- move_position --
-- 0 rows: there is another owner, or this batch was committed before. The commit need not wait for the disk:
-- the position is in the same transaction as the rows, so what a crash loses is projected again.
UPDATE {read}.positions
SET next_offset = $5, sequence = $6, decided_at = coalesce(to_timestamp($7::float8 / 1000), decided_at), last_digest = $8
WHERE topic = $1 AND partition = $2 AND epoch = $3 AND next_offset = $4
RETURNING set_config('synchronous_commit', 'off', true)

-- position --
SELECT topic_id, epoch, next_offset, sequence, decided_at FROM {read}.positions WHERE topic = $1 AND partition = $2

-- positions --
SELECT topic, partition, topic_id, epoch, next_offset, sequence, decided_at FROM {read}.positions ORDER BY topic, partition

-- remove_leads --
-- Mark, so that an answer can say that it was deleted; only this partition's row, so that a lead that moved stays.
-- It waits in no queue any more.
UPDATE {read}.leads AS t
SET deleted_at = to_timestamp(u.at::float8 / 1000), sequence = u.sequence, slot_queue = NULL,
    status_wait = CASE WHEN t.slot_queue IS NULL THEN t.status_wait END,
    next_action_at = CASE WHEN t.slot_queue IS NULL THEN t.next_action_at END,
    reasons = CASE WHEN t.slot_queue IS NULL THEN t.reasons ELSE '{}' END
FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS u (company_id, id, sequence, at)
WHERE t.company_id = u.company_id AND t.id = u.id AND t.partition = $1 AND t.sequence < u.sequence

-- remove_calls --
UPDATE {read}.calls AS t
SET deleted_at = to_timestamp(u.at::float8 / 1000), sequence = u.sequence
FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS u (company_id, id, sequence, at)
WHERE t.company_id = u.company_id AND t.id = u.id AND t.partition = $1 AND t.sequence < u.sequence

-- remove_contacts --
DELETE FROM {read}.contacts AS t
USING unnest($2::text[], $3::bigint[], $4::bigint[]) AS u (contact_key, sequence, at)
WHERE t.contact_key = u.contact_key AND t.partition = $1 AND t.sequence < u.sequence

-- remove_suppressions --
DELETE FROM {read}.suppressions AS t
USING unnest($2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[])
    AS u (company_id, list_id, contact_key, sequence, at)
WHERE t.company_id = u.company_id AND t.list_id = u.list_id AND t.contact_key = u.contact_key
    AND t.partition = $1 AND t.sequence < u.sequence

-- remove_kept_submissions --
DELETE FROM {read}.kept_submissions AS t
USING unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS u (company_id, id, sequence, at)
WHERE t.company_id = u.company_id AND t.id = u.id AND t.partition = $1 AND t.sequence < u.sequence

-- remove_records --
DELETE FROM {read}.records AS t
USING unnest($2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])
    AS u (company_id, type, id, sequence, at)
WHERE t.company_id = u.company_id AND t.type = u.type AND t.id = u.id AND t.partition = $1 AND t.sequence < u.sequence

-- remove_slots --
DELETE FROM {read}.slots AS t
USING unnest($2::bigint[], $3::text[], $4::bigint[], $5::bigint[]) AS u (company_id, resource, sequence, at)
WHERE t.company_id = u.company_id AND t.resource = u.resource AND t.partition = $1 AND t.sequence < u.sequence

-- remove_slot_queues --
DELETE FROM {read}.slot_queues AS t
USING unnest($2::bigint[], $3::text[], $4::bigint[], $5::bigint[]) AS u (company_id, queue, sequence, at)
WHERE t.company_id = u.company_id AND t.queue = u.queue AND t.contact_partition = $1 AND t.sequence < u.sequence

-- queues_as_shown --
-- What these queues wait for, before and after a batch, to find those that changed.
SELECT u.company_id, u.queue, q.closed_reason, q.resets_at
FROM unnest($2::bigint[], $3::text[]) AS u (company_id, queue)
LEFT JOIN {read}.slot_queues AS q ON q.company_id = u.company_id AND q.queue = u.queue AND q.contact_partition = $1

-- show_queues --
-- Show with each lead that waits in one of these queues what the queue waits for.
UPDATE {read}.leads AS t
SET status_wait = w.reason, next_action_at = w.next_at, reasons = ARRAY[w.reason]
FROM unnest($2::bigint[], $3::text[]) AS u (company_id, queue)
JOIN {read}.waiting_leads AS w ON w.company_id = u.company_id AND w.slot_queue = u.queue AND w.partition = $1
WHERE t.company_id = w.company_id AND t.id = w.id
    AND (t.status_wait, t.next_action_at, t.reasons) IS DISTINCT FROM (w.reason, w.next_at, ARRAY[w.reason])

-- show_waiting_leads --
-- The same for leads that this batch wrote.
UPDATE {read}.leads AS t
SET status_wait = w.reason, next_action_at = w.next_at, reasons = ARRAY[w.reason]
FROM unnest($2::bigint[], $3::bigint[]) AS u (company_id, id)
JOIN {read}.waiting_leads AS w ON w.company_id = u.company_id AND w.id = u.id AND w.partition = $1
WHERE t.company_id = w.company_id AND t.id = w.id
    AND (t.status_wait, t.next_action_at, t.reasons) IS DISTINCT FROM (w.reason, w.next_at, ARRAY[w.reason])

-- upsert_token_parts --
INSERT INTO {read}.token_parts AS t (owner, number, version, partition, sequence, tokens)
SELECT u.owner, u.number, u.version, u.partition, u.sequence, u.tokens::jsonb
FROM unnest($1::text[], $2::integer[], $3::bigint[], $4::integer[], $5::bigint[], $6::text[])
    AS u (owner, number, version, partition, sequence, tokens)
ON CONFLICT (owner, number) DO UPDATE SET
    version = excluded.version, partition = excluded.partition, sequence = excluded.sequence, tokens = excluded.tokens
WHERE CASE WHEN excluded.partition = t.partition THEN excluded.sequence > t.sequence ELSE excluded.version > t.version END

-- remove_token_parts --
DELETE FROM {read}.token_parts AS t
USING unnest($2::text[], $3::bigint[]) AS u (owner, sequence)
WHERE t.owner = u.owner AND t.partition = $1 AND t.sequence < u.sequence

-- join_leads --
-- Join the tokens of leads that this batch wrote and whose tokens are in parts.
UPDATE {read}.leads AS t
SET data = coalesce(
    (
        SELECT jsonb_object_agg(token.key, token.value)
        FROM {read}.token_parts AS p, jsonb_each(p.tokens) AS token
        WHERE p.owner = 'lead/' || t.id AND p.number < u.count
    ),
    '{}'
)
FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS u (company_id, id, sequence, count)
WHERE t.company_id = u.company_id AND t.id = u.id AND t.partition = $1 AND t.sequence = u.sequence

-- join_calls --
-- Join the tokens of calls that this batch wrote and whose tokens are in parts.
UPDATE {read}.calls AS t
SET token_values = coalesce(
    (
        SELECT jsonb_object_agg(token.key, token.value)
        FROM {read}.token_parts AS p, jsonb_each(p.tokens) AS token
        WHERE p.owner = 'call/' || t.id AND p.number < u.count
    ),
    '{}'
)
FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS u (company_id, id, sequence, count)
WHERE t.company_id = u.company_id AND t.id = u.id AND t.partition = $1 AND t.sequence = u.sequence

-- insert_history --
INSERT INTO {read}.history (
    topic, partition, sequence, ordinal, at, type, company_id, contact_key, lead_id, call_id, data, digest
)
SELECT
    u.topic, u.partition, u.sequence, u.ordinal, to_timestamp(u.at::float8 / 1000), u.type, u.company_id,
    u.contact_key, u.lead_id, u.call_id, u.data::jsonb, u.digest
FROM unnest($1::{read}.history_row[]) AS u
ON CONFLICT (topic, partition, sequence, ordinal) DO NOTHING

-- insert_results --
INSERT INTO {read}.request_results (
    request_id, company_id, verdict, answer, decided_at
)
SELECT
    u.request_id, u.company_id, u.verdict, u.answer::jsonb, to_timestamp(u.decided_at::float8 / 1000)
FROM unnest($1::{read}.result_row[]) AS u
ON CONFLICT (request_id) DO NOTHING

-- insert_impressions --
-- A record that is read again, or repeats a uuid, changes nothing.
INSERT INTO {read}.impressions (
    company_id, id, uuid, partition, "offset", created_at, visitor_id, session_id, offer_id, traffic_source_id, page_url,
    referrer, landing_url, utm_source, utm_medium, utm_campaign, utm_term, utm_content, gclid, fbclid, sub_id, ip,
    user_agent, device, country, state, city, tokens, ring_pool_id, number_id, number_shown, held_until
)
SELECT
    u.company_id, u.id, u.uuid::uuid, u.partition, u."offset", to_timestamp(u.created_at::float8 / 1000), u.visitor_id,
    u.session_id, u.offer_id, u.traffic_source_id, u.page_url, u.referrer, u.landing_url, u.utm_source, u.utm_medium,
    u.utm_campaign, u.utm_term, u.utm_content, u.gclid, u.fbclid, u.sub_id, u.ip, u.user_agent, u.device, u.country,
    u.state, u.city, u.tokens::jsonb, u.ring_pool_id, u.number_id, u.number_shown,
    to_timestamp(u.held_until::float8 / 1000)
FROM unnest($1::{read}.impression_row[]) AS u
ON CONFLICT DO NOTHING

-- insert_faults --
INSERT INTO {read}.faults (
    topic, partition, "offset", sequence, error
)
SELECT
    u.topic, u.partition, u."offset", u.sequence, u.error
FROM unnest($1::{read}.fault_row[]) AS u
ON CONFLICT (topic, partition, "offset") DO NOTHING

