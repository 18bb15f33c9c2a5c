-- Which files of leads were uploaded, and how far is each import?

-- lock_company --
-- Two uploads of one company are stored one after the other, so that both are counted.
SELECT pg_advisory_xact_lock(hashtextextended('lead_imports/' || $1::bigint, 0))

-- newest_of --
SELECT {shown} FROM {work}.lead_imports WHERE company_id = $1 AND digest = $2 AND NOT dry_run ORDER BY number DESC LIMIT 1

-- open_count --
SELECT count(*) FROM {work}.lead_imports WHERE company_id = $1 AND ended_at IS NULL

-- create --
INSERT INTO {work}.lead_imports
       (company_id, digest, number, dry_run, created_at, lead_token, offer_id, schedule_id, format, encoding, mapping,
        columns, lead_import_id, file_bytes, file, key_id, user_email, address, consent)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
RETURNING {shown}

-- lead_imports --
SELECT {shown}, {ordered} AS ordered_by FROM {work}.lead_imports
WHERE company_id = $1{where} ORDER BY {order} LIMIT {limit}

-- lead_imports_count --
SELECT count(*) FROM (SELECT 1 FROM {work}.lead_imports WHERE company_id = $1{where} LIMIT {limit}) AS found

-- lead_import_errors --
SELECT id, line, severity, field, problem, {ordered} AS ordered_by FROM (
    SELECT e.* FROM {work}.lead_import_errors AS e JOIN {work}.lead_imports AS j ON j.id = e.job_id WHERE j.company_id = $1
) AS found WHERE true{where} ORDER BY {order} LIMIT {limit}

-- lead_import_errors_count --
SELECT count(*) FROM (
    SELECT 1 FROM {work}.lead_import_errors AS e JOIN {work}.lead_imports AS j ON j.id = e.job_id
     WHERE j.company_id = $1{where} LIMIT {limit}
) AS found

-- cancel --
UPDATE {work}.lead_imports SET canceled_at = coalesce(canceled_at, $3)
WHERE company_id = $1 AND id = $2 AND ended_at IS NULL

-- claim --
-- One import of a company at a time, the oldest first.
UPDATE {work}.lead_imports
   SET leased_by = $1, leased_until = now() + make_interval(secs => $2), started_at = coalesce(started_at, $3)
 WHERE id = (
    SELECT j.id FROM {work}.lead_imports AS j
     WHERE j.ended_at IS NULL AND (j.leased_until IS NULL OR j.leased_until < now())
       AND NOT EXISTS (SELECT 1 FROM {work}.lead_imports AS o
                        WHERE o.company_id = j.company_id AND o.ended_at IS NULL AND o.id < j.id)
     ORDER BY j.id LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING *

-- save --
-- Only by the process that has the lease, which this renews.
UPDATE {work}.lead_imports
   SET line = $3, last_line = $4, good_count = $5, refused_count = $6, warned_count = $7, inbox_offset = $8,
       leased_until = now() + make_interval(secs => $9)
 WHERE id = $1 AND leased_by = $2 AND ended_at IS NULL
RETURNING canceled_at IS NOT NULL AS is_canceled

-- add_errors --
INSERT INTO {work}.lead_import_errors (job_id, line, severity, field, problem)
SELECT $1, t.line, t.severity, t.field, t.problem
  FROM unnest($2::integer[], $3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS t (line, severity, field, problem, place)
 ORDER BY t.place

-- finish --
UPDATE {work}.lead_imports SET ended_at = $3, failure = $4, file = NULL, leased_by = NULL, leased_until = NULL
 WHERE id = $1 AND leased_by = $2 AND ended_at IS NULL

-- release --
UPDATE {work}.lead_imports SET leased_by = NULL, leased_until = NULL WHERE id = $1 AND leased_by = $2

-- purge --
DELETE FROM {work}.lead_imports WHERE id = ANY (ARRAY (SELECT id FROM {work}.lead_imports WHERE ended_at < $1 LIMIT $2))
