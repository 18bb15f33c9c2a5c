-- Which bulk jobs change many leads, and what came of each?

-- lock_company --
-- Two jobs of one company are made one after the other, so that both are counted.
SELECT pg_advisory_xact_lock(hashtextextended('lead_bulk_jobs/' || $1::bigint, 0))

-- of_request --
SELECT * FROM {work}.lead_bulk_jobs WHERE company_id = $1 AND request_id = $2

-- open_count --
SELECT count(*) FROM {work}.lead_bulk_jobs WHERE company_id = $1 AND ended_at IS NULL

-- create --
INSERT INTO {work}.lead_bulk_jobs
       (company_id, request_id, created_at, description, action, move_to_another_schedule_id, filter, key_id, user_email,
        address, actor, leads_max, leads_count, selects, awaited_imports)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
RETURNING *

-- add_leads --
INSERT INTO {work}.lead_bulk_results (job_id, lead_id) SELECT $1, unnest($2::bigint[])

-- select_leads --
-- Once, by the process that has the job.
WITH mine AS (
    UPDATE {work}.lead_bulk_jobs SET leads_count = cardinality($3::bigint[]), selects = NULL
     WHERE id = $1 AND leased_by = $2 AND selects IS NOT NULL AND ended_at IS NULL
    RETURNING id
)
INSERT INTO {work}.lead_bulk_results (job_id, lead_id) SELECT mine.id, l.id FROM mine, unnest($3::bigint[]) AS l (id)

-- lead_bulk_jobs --
SELECT *, {ordered} AS ordered_by FROM {work}.lead_bulk_jobs WHERE company_id = $1{where} ORDER BY {order} LIMIT {limit}

-- lead_bulk_jobs_count --
SELECT count(*) FROM (SELECT 1 FROM {work}.lead_bulk_jobs WHERE company_id = $1{where} LIMIT {limit}) AS found

-- lead_bulk_results --
SELECT id, state, code, detail, sent_at, {ordered} AS ordered_by FROM (
    SELECT r.lead_id AS id, r.lead_id, r.job_id, r.state, r.code, r.detail, r.sent_at
      FROM {work}.lead_bulk_results AS r JOIN {work}.lead_bulk_jobs AS j ON j.id = r.job_id
     WHERE j.company_id = $1
) AS found WHERE true{where} ORDER BY {order} LIMIT {limit}

-- lead_bulk_results_count --
SELECT count(*) FROM (
    SELECT 1 FROM {work}.lead_bulk_results AS r JOIN {work}.lead_bulk_jobs AS j ON j.id = r.job_id
     WHERE j.company_id = $1{where} LIMIT {limit}
) AS found

-- changed --
-- A stop changes no lead that had ended before. Engine and API may run on machines whose clocks differ: hence the minute.
SELECT r.lead_id
  FROM {work}.lead_bulk_jobs AS j
  JOIN {work}.lead_bulk_results AS r ON r.job_id = j.id AND r.state = 'done'
  JOIN {read}.leads AS l ON l.company_id = j.company_id AND l.id = r.lead_id
 WHERE j.company_id = $1 AND j.id = $2
   AND (j.action <> 'stop' OR l.schedule_ended_at BETWEEN r.sent_at - interval '1 minute'
        AND coalesce(j.ended_at, 'infinity') + interval '1 minute')

-- cancel --
UPDATE {work}.lead_bulk_jobs SET canceled_at = coalesce(canceled_at, $3)
WHERE company_id = $1 AND id = $2 AND ended_at IS NULL

-- claim --
-- The oldest open job of each company is its next one; companies take turns.
UPDATE {work}.lead_bulk_jobs
   SET leased_by = $1, leased_until = now() + make_interval(secs => $2), advanced_at = now(),
       started_at = coalesce(started_at, $3)
 WHERE id = (
    SELECT j.id FROM {work}.lead_bulk_jobs AS j
     WHERE j.ended_at IS NULL AND (j.leased_until IS NULL OR j.leased_until < now())
       AND NOT EXISTS (SELECT 1 FROM {work}.lead_bulk_jobs AS o
                        WHERE o.company_id = j.company_id AND o.ended_at IS NULL AND o.id < j.id)
       AND (j.canceled_at IS NOT NULL OR j.selects IS NULL
            OR NOT EXISTS (SELECT 1 FROM {work}.lead_imports AS i WHERE i.id = ANY (j.awaited_imports) AND i.ended_at IS NULL))
     ORDER BY j.advanced_at NULLS FIRST, j.id
     LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING *

-- release --
UPDATE {work}.lead_bulk_jobs SET leased_by = NULL, leased_until = NULL WHERE id = $1 AND leased_by = $2

-- next_leads --
-- Those whose request may have been sent come first; a lead that does not exist any more has no contact.
SELECT r.lead_id, r.state, r.sent_at, coalesce(r.contact_key, l.contact_key) AS contact_key
  FROM {work}.lead_bulk_results AS r
  LEFT JOIN {read}.leads AS l ON l.company_id = $2 AND l.id = r.lead_id AND l.deleted_at IS NULL
 WHERE r.job_id = $1 AND r.state = $3
 ORDER BY r.lead_id LIMIT $4

-- take --
UPDATE {work}.lead_bulk_results AS r
   SET state = 'sent', sent_at = $4, contact_key = t.contact_key
  FROM unnest($2::bigint[], $3::text[]) AS t (lead_id, contact_key)
 WHERE r.job_id = $1 AND r.lead_id = t.lead_id AND r.state = 'waiting'
   AND EXISTS (SELECT 1 FROM {work}.lead_bulk_jobs AS j WHERE j.id = $1 AND j.canceled_at IS NULL AND j.ended_at IS NULL)
RETURNING r.lead_id

-- record --
WITH settled AS (
    UPDATE {work}.lead_bulk_results AS r SET state = t.state, code = t.code, detail = t.detail
      FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[]) AS t (lead_id, state, code, detail)
     WHERE r.job_id = $1 AND r.lead_id = t.lead_id AND r.state IN ('waiting', 'sent')
    RETURNING r.state
)
UPDATE {work}.lead_bulk_jobs
   SET done_count = done_count + (SELECT count(*) FROM settled WHERE state = 'done'),
       refused_count = refused_count + (SELECT count(*) FROM settled WHERE state = 'refused'),
       unknown_count = unknown_count + (SELECT count(*) FROM settled WHERE state = 'unknown')
 WHERE id = $1

-- finish --
UPDATE {work}.lead_bulk_jobs SET ended_at = $2, failure = $3
 WHERE id = $1 AND ended_at IS NULL

-- purge --
DELETE FROM {work}.lead_bulk_jobs WHERE id = ANY (ARRAY (SELECT id FROM {work}.lead_bulk_jobs WHERE ended_at < $1 LIMIT $2))
