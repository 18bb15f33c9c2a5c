-- Which verifications and rebuilds of the projection did operators ask for, who carries one out, and what came of it?
--
-- `leased_by` names the process that has a job. Each change by a process checks that it still has it.

-- create --
-- No row where another job is open.
INSERT INTO {work}.projection_jobs (kind, accept, operator_key_id, asked_by) VALUES ($1, $2, $3, $4)
ON CONFLICT ((ended_at IS NULL)) WHERE ended_at IS NULL DO NOTHING
RETURNING *, false AS is_taken

-- newest --
SELECT *, leased_until > clock_timestamp() AS is_taken FROM {work}.projection_jobs ORDER BY id DESC LIMIT $1

-- find --
SELECT *, leased_until > clock_timestamp() AS is_taken FROM {work}.projection_jobs WHERE id = $1

-- forget --
DELETE FROM {work}.projection_jobs WHERE ended_at IS NOT NULL AND id <= $1::bigint - $2

-- cancel --
-- One that no process has begun ends at once. One that has swapped cannot be canceled any more.
UPDATE {work}.projection_jobs
   SET canceled_at = coalesce(canceled_at, clock_timestamp()),
       ended_at = CASE WHEN started_at IS NULL THEN clock_timestamp() END
 WHERE id = $1 AND ended_at IS NULL AND swapped_at IS NULL

-- claim --
UPDATE {work}.projection_jobs
   SET leased_by = $1, leased_until = clock_timestamp() + make_interval(secs => $2), attempts = attempts + 1,
       started_at = coalesce(started_at, clock_timestamp())
 WHERE id = (
    SELECT id FROM {work}.projection_jobs
     WHERE ended_at IS NULL AND (due_at <= clock_timestamp() OR canceled_at IS NOT NULL)
       AND (leased_until IS NULL OR leased_until < clock_timestamp())
     LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING *, extract(epoch FROM clock_timestamp() - started_at)::float8 AS seconds

-- renew --
UPDATE {work}.projection_jobs
   SET leased_until = clock_timestamp() + make_interval(secs => $3), stage = $4, stage_done = $5, stage_total = $6
 WHERE id = $1 AND leased_by = $2 AND ended_at IS NULL
RETURNING canceled_at IS NOT NULL AS is_canceled

-- begin --
UPDATE {work}.projection_jobs SET begun_at = coalesce(begun_at, clock_timestamp()), problem = NULL
 WHERE id = $1 AND leased_by = $2 AND ended_at IS NULL
RETURNING id

-- swap --
-- In the transaction that swaps: no row where the job was canceled, or where another process has it.
UPDATE {work}.projection_jobs SET swapped_at = clock_timestamp(), result = $3
 WHERE id = $1 AND leased_by = $2 AND ended_at IS NULL AND canceled_at IS NULL
RETURNING id

-- release --
-- $5 is 1 where the attempt does not count.
UPDATE {work}.projection_jobs
   SET leased_by = NULL, leased_until = NULL, problem = coalesce($3, problem), attempts = attempts - $5::integer,
       due_at = clock_timestamp() + make_interval(secs => $4)
 WHERE id = $1 AND leased_by = $2 AND ended_at IS NULL

-- finish --
-- What was swapped is no failure any more.
UPDATE {work}.projection_jobs
   SET ended_at = clock_timestamp(), leased_by = NULL, leased_until = NULL, problem = NULL, result = coalesce($3, result),
       failure = CASE WHEN swapped_at IS NULL THEN $4 END
 WHERE id = $1 AND leased_by = $2 AND ended_at IS NULL
