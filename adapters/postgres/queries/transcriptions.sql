-- ask --
-- Not of a recording that is being deleted: nothing would take it, nor delete it before its recording is forgotten.
INSERT INTO {work}.transcriptions AS asked (recording_id, company_id)
SELECT id, company_id FROM {work}.recordings WHERE id = $1 AND state IN ('owed', 'stored')
    ON CONFLICT (recording_id) DO UPDATE
   SET state = 'pending', attempts = 0, text = NULL, reason = NULL,
       due_at = excluded.due_at, asked_at = excluded.asked_at
 WHERE asked.state = 'failed';

-- find --
SELECT recording.*, found.state AS transcription_state, found.attempts AS transcription_attempts, found.asked_at, found.text,
       found.reason AS transcription_reason
  FROM {work}.transcriptions AS found
  JOIN {work}.recordings AS recording ON recording.id = found.recording_id
 WHERE found.recording_id = $1;

-- take --
-- Take the longest due row of the company that was served longest ago; others leave it alone for $1 seconds. Not of companies
-- in $2, which have enough under way. A recording that was given up is taken too: so it is said that there is no text.
  WITH RECURSIVE companies AS (
      SELECT min(company_id) AS company_id FROM {work}.transcriptions WHERE state = 'pending'
       UNION ALL
      SELECT (SELECT min(next.company_id) FROM {work}.transcriptions AS next
               WHERE next.state = 'pending' AND next.company_id > companies.company_id)
        FROM companies WHERE companies.company_id IS NOT NULL),
  due AS (
      SELECT one.recording_id, one.company_id, one.due_at, turns.taken_at
        FROM companies
        LEFT JOIN {work}.recording_turns AS turns
          ON turns.company_id = companies.company_id AND turns.state = 'transcription'
       CROSS JOIN LATERAL (
          SELECT found.recording_id, found.company_id, found.due_at
            FROM {work}.transcriptions AS found
            JOIN {work}.recordings AS recording ON recording.id = found.recording_id
           WHERE found.state = 'pending' AND found.company_id = companies.company_id
             AND found.due_at <= clock_timestamp() AND recording.state IN ('stored', 'failed')
           ORDER BY found.due_at, found.recording_id
           LIMIT 1
             FOR UPDATE OF found SKIP LOCKED) AS one
       WHERE companies.company_id <> ALL ($2::bigint[])),
  chosen AS (
      SELECT recording_id, company_id FROM due ORDER BY taken_at NULLS FIRST, due_at, recording_id LIMIT 1),
  noted AS (
      INSERT INTO {work}.recording_turns (company_id, state, taken_at)
      SELECT company_id, 'transcription', clock_timestamp() FROM chosen
          ON CONFLICT (company_id, state) DO UPDATE SET taken_at = excluded.taken_at)
UPDATE {work}.transcriptions AS taken
   SET due_at = clock_timestamp() + $1 * interval '1 second', attempts = taken.attempts + 1
  FROM chosen
  JOIN {work}.recordings AS recording ON recording.id = chosen.recording_id
 WHERE taken.recording_id = chosen.recording_id
RETURNING recording.*, taken.state AS transcription_state, taken.attempts AS transcription_attempts, taken.asked_at, taken.text,
          taken.reason AS transcription_reason;

-- retry --
UPDATE {work}.transcriptions SET reason = $2, due_at = clock_timestamp() + $3 * interval '1 second'
 WHERE recording_id = $1 AND state = 'pending';

-- add_text --
UPDATE {work}.transcriptions AS found SET text = $2, reason = NULL
  FROM {work}.recordings AS recording
 WHERE found.recording_id = $1 AND found.state = 'pending' AND recording.id = $1 AND recording.state = 'stored'
RETURNING found.recording_id;

-- complete --
UPDATE {work}.transcriptions SET state = 'completed' WHERE recording_id = $1 AND state = 'pending' AND text IS NOT NULL;

-- fail --
UPDATE {work}.transcriptions SET state = 'failed', reason = $2 WHERE recording_id = $1 AND state = 'pending';
