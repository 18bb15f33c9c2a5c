-- Which files of leads were uploaded, and how far is each import?

-- lock_company --
-- Two uploads of one company are stored one after the other, so that both are counted.
SELECT pg_advisory_xact_lock(hashtextextended('lead_imports/' || $1::bigint, 0))

-- newest_of --
SELECT {shown} FROM {work}.lead_imports WHERE company_id = $1 AND digest = $2 AND NOT dry_run ORDER BY number DESC LIMIT 1

-- open_count --
SELECT count(*) FROM {work}.lead_imports WHERE company_id = $1 AND ended_at IS NULL

-- open_ids --
SELECT id FROM {work}.lead_imports WHERE company_id = $1 AND lead_import_id = $2 AND ended_at IS NULL ORDER BY id

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
WHERE company_id = $1 AND id = $2 AND sent_at IS NULL

-- claim --
-- One import of a company at a time, the oldest first; companies take turns.
UPDATE {work}.lead_imports
   SET leased_by = $1, leased_until = now() + make_interval(secs => $2), advanced_at = now(),
       started_at = coalesce(started_at, $3)
 WHERE id = (
    SELECT j.id FROM {work}.lead_imports AS j
     WHERE j.ended_at IS NULL AND (j.leased_until IS NULL OR j.leased_until < now())
       AND NOT EXISTS (SELECT 1 FROM {work}.lead_imports AS o
                        WHERE o.company_id = j.company_id AND o.ended_at IS NULL AND o.id < j.id)
     ORDER BY j.advanced_at NULLS FIRST, j.id LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING id, company_id, digest, number, dry_run, lead_token, format, encoding, mapping, consent, key_id, user_email, address,
          line, last_line, good_count, refused_count, warned_count, inbox_offset, dead_offset, canceled_at, sent_at

-- file --
SELECT file FROM {work}.lead_imports WHERE id = $1 AND leased_by = $2

-- save --
-- Only by the process that has the lease, which this renews.
UPDATE {work}.lead_imports
   SET line = $3, last_line = $4, good_count = $5, refused_count = $6, warned_count = $7, inbox_offset = $8,
       dead_offset = $9, leased_until = now() + make_interval(secs => $10)
 WHERE id = $1 AND leased_by = $2 AND ended_at IS NULL
RETURNING canceled_at IS NOT NULL AS is_canceled

-- add_errors --
INSERT INTO {work}.lead_import_errors (job_id, line, severity, field, problem)
SELECT $1, t.line, t.severity, t.field, t.problem
  FROM unnest($2::integer[], $3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS t (line, severity, field, problem, place)
 ORDER BY t.place

-- add_lines --
INSERT INTO {work}.lead_import_lines (job_id, line, sent_at) SELECT $1, unnest($2::integer[]), $3

-- undecided --
SELECT line, sent_at FROM {work}.lead_import_lines WHERE job_id = $1 ORDER BY line LIMIT $2

-- settle --
-- Only by the process that has the lease, which this renews.
WITH settled AS (
    DELETE FROM {work}.lead_import_lines AS l
     USING unnest($3::integer[], $4::text[]) AS t (line, state)
     WHERE l.job_id = $1 AND l.line = t.line
       AND EXISTS (SELECT 1 FROM {work}.lead_imports AS j WHERE j.id = $1 AND j.leased_by = $2)
    RETURNING t.state
)
UPDATE {work}.lead_imports
   SET decided_count = decided_count + (SELECT count(*) FROM settled WHERE state = 'decided'),
       rejected_count = rejected_count + (SELECT count(*) FROM settled WHERE state = 'rejected'),
       unknown_count = unknown_count + (SELECT count(*) FROM settled WHERE state = 'unknown'),
       dead_offset = $5, leased_until = now() + make_interval(secs => $6)
 WHERE id = $1 AND leased_by = $2
RETURNING id

-- end_sending --
UPDATE {work}.lead_imports SET sent_at = $3, failure = $4, file = NULL WHERE id = $1 AND leased_by = $2 AND sent_at IS NULL

-- finish --
UPDATE {work}.lead_imports SET ended_at = $3, leased_by = NULL, leased_until = NULL
 WHERE id = $1 AND leased_by = $2 AND ended_at IS NULL

-- release --
UPDATE {work}.lead_imports SET leased_by = NULL, leased_until = NULL WHERE id = $1 AND leased_by = $2

-- purge --
DELETE FROM {work}.lead_imports WHERE id = ANY (ARRAY (SELECT id FROM {work}.lead_imports WHERE ended_at < $1 LIMIT $2))
