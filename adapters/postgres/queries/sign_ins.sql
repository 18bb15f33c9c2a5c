-- Who is signed in, and who has tried to?

-- open_session --
INSERT INTO {work}.sessions (id, token_sha256, company_id, user_id, credentials) VALUES ($1, $2, $3, $4, $5)
RETURNING created_at

-- drop_oldest --
-- Keep the newest sessions of a user.
DELETE FROM {work}.sessions
WHERE id IN (SELECT id FROM {work}.sessions WHERE company_id = $1 AND user_id = $2 ORDER BY created_at DESC, id OFFSET $3)

-- find_sessions --
SELECT id, token_sha256, company_id, user_id, credentials, created_at, pending_salt,
    seen_at < clock_timestamp() - make_interval(secs => $4) AS is_stale
FROM {work}.sessions
WHERE id = ANY ($1::text[]) AND seen_at > clock_timestamp() - make_interval(secs => $2)
    AND created_at > clock_timestamp() - make_interval(secs => $3)

-- touch_sessions --
UPDATE {work}.sessions SET seen_at = clock_timestamp() WHERE id = ANY ($1::text[])

-- end_session --
DELETE FROM {work}.sessions WHERE id = $1

-- begin_second_factor --
UPDATE {work}.sessions SET pending_salt = $2 WHERE id = $1

-- begin_attempt --
-- Count an attempt before its outcome is known, so that many at once are counted too. No row: it must wait. After $2 attempts
-- each has to wait twice as long as the one before, from ten seconds to $3; $4 seconds without an attempt forget them all.
INSERT INTO {work}.sign_in_attempts AS a (subject, attempts, last_at) VALUES ($1, 1, clock_timestamp())
ON CONFLICT (subject) DO UPDATE
SET attempts = CASE WHEN a.last_at < clock_timestamp() - make_interval(secs => $4) THEN 1 ELSE a.attempts + 1 END,
    last_at = clock_timestamp()
WHERE a.attempts < $2
    OR a.last_at <= clock_timestamp() - make_interval(secs => least(10 * power(2, least(a.attempts - $2, 30)), $3))
RETURNING attempts

-- wait_of --
SELECT ceil(extract(epoch FROM last_at - clock_timestamp()) + least(10 * power(2, least(attempts - $2, 30)), $3))::integer
FROM {work}.sign_in_attempts WHERE subject = $1

-- forget_attempts --
DELETE FROM {work}.sign_in_attempts WHERE subject = $1

-- take_attempt_back --
UPDATE {work}.sign_in_attempts SET attempts = greatest(attempts - 1, 0) WHERE subject = $1

-- use_code --
-- Use a code once: no row where it, or a later one, was used.
INSERT INTO {work}.used_codes AS c (company_id, user_id, step) VALUES ($1, $2, $3)
ON CONFLICT (company_id, user_id) DO UPDATE SET step = excluded.step WHERE c.step < excluded.step
RETURNING step

-- purge_sessions --
DELETE FROM {work}.sessions
WHERE ctid = ANY (ARRAY (SELECT ctid FROM {work}.sessions WHERE seen_at < clock_timestamp() - make_interval(secs => $1) LIMIT $2))

-- purge_attempts --
DELETE FROM {work}.sign_in_attempts WHERE ctid = ANY (ARRAY (
    SELECT ctid FROM {work}.sign_in_attempts WHERE last_at < clock_timestamp() - make_interval(secs => $1) LIMIT $2))

-- note_use --
INSERT INTO {work}.key_uses (company_id, key_id, last_used_at) VALUES ($1, $2, clock_timestamp())
ON CONFLICT (company_id, key_id) DO UPDATE SET last_used_at = excluded.last_used_at

-- uses --
SELECT key_id, last_used_at FROM {work}.key_uses WHERE company_id = $1 AND key_id = ANY ($2::bigint[])
