-- Which verification or rebuild of the projection did an operator ask for, and what came of it? A projector carries it out.
-- Times are of the database's clock. The newest jobs stay; see adapters/postgres/projection_jobs.py.
CREATE TABLE {work}.projection_jobs (
    id               bigint       GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind             text         NOT NULL,
    accept           boolean      NOT NULL,
    operator_key_id  bigint       NOT NULL,
    asked_by         text         NOT NULL,
    asked_at         timestamptz  NOT NULL DEFAULT clock_timestamp(),
    started_at       timestamptz,
    begun_at         timestamptz,  -- since then the second schema is this job's: the next attempt resumes it
    swapped_at       timestamptz,  -- set in the transaction that swaps the schemas
    canceled_at      timestamptz,
    ended_at         timestamptz,
    attempts         integer      NOT NULL DEFAULT 0,
    due_at           timestamptz  NOT NULL DEFAULT clock_timestamp(),
    leased_by        text,
    leased_until     timestamptz,
    stage            text,
    stage_done       bigint       NOT NULL DEFAULT 0,
    stage_total      bigint       NOT NULL DEFAULT 0,
    problem          text,         -- why the last attempt ended
    failure          text,
    result           jsonb
);
-- One job at a time.
CREATE UNIQUE INDEX projection_jobs_open ON {work}.projection_jobs ((ended_at IS NULL)) WHERE ended_at IS NULL;
