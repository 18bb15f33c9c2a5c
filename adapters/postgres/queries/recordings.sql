-- owe --
INSERT INTO {work}.recordings (company_id, provider_configuration_id, contact_key, call_id, recording_url)
VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (company_id, recording_url) DO NOTHING;

-- find --
SELECT * FROM {work}.recordings WHERE company_id = $1 AND recording_url = $2;

-- take --
-- Take rows of a state that are due; others leave them alone for $3 seconds. Companies take turns: of each the longest due
-- comes first, and the company that was served longest ago. Not of companies in $4, which have enough under way.
-- Sorted against deadlocks: two gateways note turns in the same order.
  WITH RECURSIVE companies AS (
      SELECT min(company_id) AS company_id FROM {work}.recordings WHERE state = $1
       UNION ALL
      SELECT (SELECT min(next.company_id) FROM {work}.recordings AS next
               WHERE next.state = $1 AND next.company_id > companies.company_id)
        FROM companies WHERE companies.company_id IS NOT NULL),
  due AS (
      SELECT one.id, one.company_id, one.due_at, turns.taken_at,
             row_number() OVER (PARTITION BY one.company_id ORDER BY one.due_at, one.id) AS place
        FROM companies
        LEFT JOIN {work}.recording_turns AS turns ON turns.company_id = companies.company_id AND turns.state = $1
       CROSS JOIN LATERAL (
          SELECT id, company_id, due_at FROM {work}.recordings AS found
           WHERE found.state = $1 AND found.company_id = companies.company_id AND found.due_at <= clock_timestamp()
           ORDER BY found.due_at, found.id
           LIMIT $2
             FOR UPDATE SKIP LOCKED) AS one
       WHERE companies.company_id <> ALL ($4::bigint[])),
  chosen AS (
      SELECT id, company_id FROM due ORDER BY place, taken_at NULLS FIRST, due_at, id LIMIT $2),
  noted AS (
      INSERT INTO {work}.recording_turns (company_id, state, taken_at)
      SELECT company_id, $1, clock_timestamp() FROM chosen GROUP BY company_id ORDER BY company_id
          ON CONFLICT (company_id, state) DO UPDATE SET taken_at = excluded.taken_at)
UPDATE {work}.recordings AS taken
   SET due_at = clock_timestamp() + $3 * interval '1 second',
       attempts = taken.attempts + CASE WHEN taken.state = 'owed' THEN 1 ELSE 0 END
  FROM chosen
 WHERE taken.id = chosen.id
RETURNING taken.*;

-- retry --
UPDATE {work}.recordings SET reason = $2, due_at = clock_timestamp() + $3 * interval '1 second'
 WHERE id = $1 AND state IN ('owed', 'deleting');

-- give_up --
UPDATE {work}.recordings SET state = 'failed', reason = $2, due_at = clock_timestamp()
 WHERE id = $1 AND state = 'owed';

-- stored --
UPDATE {work}.recordings SET state = 'stored', size = $2, media_type = $3, reason = NULL, due_at = clock_timestamp()
 WHERE id = $1 AND state = 'owed'
RETURNING id;

-- begin_delete --
-- One that is being fetched is deleted once that lease is over; what was said on it, at once.
  WITH deleting AS (
      UPDATE {work}.recordings SET state = 'deleting'
       WHERE company_id = $1 AND recording_url = $2 AND state IN ('owed', 'stored', 'failed')
      RETURNING id)
DELETE FROM {work}.transcriptions WHERE recording_id IN (SELECT id FROM deleting);

-- expire --
-- $1, $2: companies and their days; $3: the days of the others; $4: the fewest of all days, so that the index serves.
  WITH old AS (
      SELECT one.id
        FROM {work}.recordings AS one
        LEFT JOIN unnest($1::bigint[], $2::integer[]) AS own (company_id, days) USING (company_id)
       WHERE one.state IN ('owed', 'stored', 'failed')
         AND one.owed_at < clock_timestamp() - $4 * interval '1 day'
         AND one.owed_at < clock_timestamp() - COALESCE(own.days, $3) * interval '1 day'
       ORDER BY one.owed_at
       LIMIT $5
         FOR UPDATE OF one SKIP LOCKED),
  written_down AS (
      DELETE FROM {work}.transcriptions WHERE recording_id IN (SELECT id FROM old))
UPDATE {work}.recordings SET state = 'deleting' WHERE id IN (SELECT id FROM old);

-- deleted --
UPDATE {work}.recordings SET state = 'deleted', deleted_at = clock_timestamp() WHERE id = $1 AND state = 'deleting';

-- forget --
DELETE FROM {work}.recordings
 WHERE id IN (
      SELECT id FROM {work}.recordings
       WHERE state = 'deleted' AND deleted_at < clock_timestamp() - $1 * interval '1 second'
       LIMIT $2);
