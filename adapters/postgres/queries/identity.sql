-- Which deployment does the database belong to, and which of its processes use it?

-- migrated --
SELECT to_regclass('{work}.deployment') IS NOT NULL

-- read --
SELECT identity FROM {work}.deployment

-- record --
-- The first identity stays; a second process reads it.
INSERT INTO {work}.deployment (id, identity) VALUES ($1, $2) ON CONFLICT DO NOTHING

-- renew --
-- The same deployment, with the topics that a release added to it, and the site that was accepted.
UPDATE {work}.deployment SET identity = $2 WHERE id = $1

-- has_projection --
SELECT to_regclass('{read}.positions') IS NOT NULL

-- is_projected --
-- Whether something was ever projected here.
SELECT EXISTS (SELECT FROM {read}.positions)

-- is_worked --
-- Whether something was ever sent or claimed here.
SELECT EXISTS (SELECT FROM {work}.deliveries) OR EXISTS (SELECT FROM {work}.idempotency_keys)

-- present --
SELECT pg_advisory_lock_shared($1)

-- alone --
SELECT pg_try_advisory_lock($1)

-- together --
SELECT pg_advisory_unlock($1)

-- others --
-- The names of the connections that hold the shared lock; a name that this user may not see is empty.
SELECT coalesce(s.application_name, '') AS name
FROM pg_locks AS l
JOIN pg_stat_activity AS s USING (pid)
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND l.pid <> pg_backend_pid()
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND l.classid::bigint = $1::bigint >> 32 AND l.objid::bigint = $1::bigint & 4294967295
ORDER BY name

-- share_fingerprint --
-- Two-part advisory locks have keys of their own, so this one meets no other of ours.
SELECT pg_advisory_lock_shared($1::integer, $2::integer)

-- fingerprints --
-- The processes that hold the lock of `present`, each with the fingerprint that its connection shows, if any.
SELECT coalesce(s.application_name, '') AS name,
       (SELECT k.objid::bigint FROM pg_locks AS k
         WHERE k.pid = l.pid AND k.locktype = 'advisory' AND k.granted AND k.objsubid = 2
           AND k.classid::bigint = $2::bigint LIMIT 1) AS fingerprint
FROM pg_locks AS l
JOIN pg_stat_activity AS s USING (pid)
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND l.classid::bigint = $1::bigint >> 32 AND l.objid::bigint = $1::bigint & 4294967295
ORDER BY name

-- server --
SELECT current_setting('server_version') AS version,
       (SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl) AS tls_version

-- clock --
SELECT clock_timestamp()
