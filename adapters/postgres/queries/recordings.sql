-- owe --
INSERT INTO {work}.recordings (company_id, provider_configuration_id, contact_key, call_id, recording_url)
VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (company_id, recording_url) DO NOTHING;

-- find --
SELECT * FROM {work}.recordings WHERE company_id = $1 AND recording_url = $2;

-- take --
-- Take rows of a state that are due, the longest due first; others leave them alone for $3 seconds.
  WITH due AS (
      SELECT id FROM {work}.recordings
       WHERE state = $1 AND due_at <= clock_timestamp()
       ORDER BY due_at, id
       LIMIT $2
         FOR UPDATE SKIP LOCKED)
UPDATE {work}.recordings AS taken
   SET due_at = clock_timestamp() + $3 * interval '1 second',
       attempts = taken.attempts + CASE WHEN taken.state = 'owed' THEN 1 ELSE 0 END
  FROM due
 WHERE taken.id = due.id
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
-- One that is being fetched is deleted once that lease is over.
UPDATE {work}.recordings SET state = 'deleting'
 WHERE company_id = $1 AND recording_url = $2 AND state IN ('owed', 'stored', 'failed');

-- expire --
-- $1, $2: companies and their days; $3: the days of the others; $4: the fewest of all days, so that the index serves.
UPDATE {work}.recordings AS expired SET state = 'deleting'
 WHERE id IN (
      SELECT one.id
        FROM {work}.recordings AS one
        LEFT JOIN unnest($1::bigint[], $2::integer[]) AS own (company_id, days) USING (company_id)
       WHERE one.state IN ('owed', 'stored', 'failed')
         AND one.owed_at < clock_timestamp() - $4 * interval '1 day'
         AND one.owed_at < clock_timestamp() - COALESCE(own.days, $3) * interval '1 day'
       ORDER BY one.owed_at
       LIMIT $5
         FOR UPDATE OF one SKIP LOCKED);

-- deleted --
UPDATE {work}.recordings SET state = 'deleted', deleted_at = clock_timestamp() WHERE id = $1 AND state = 'deleting';

-- forget --
DELETE FROM {work}.recordings
 WHERE id IN (
      SELECT id FROM {work}.recordings
       WHERE state = 'deleted' AND deleted_at < clock_timestamp() - $1 * interval '1 second'
       LIMIT $2);
