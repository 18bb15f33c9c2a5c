-- How far has each partition of contacts come with an unblock contact job? A partition adds its row when it adopts the job.
CREATE TABLE {read}.unblock_sweeps (
    company_id         bigint   NOT NULL,
    job_id             bigint   NOT NULL,
    contact_partition  integer  NOT NULL,
    version            bigint   NOT NULL,
    partition          integer  NOT NULL,
    sequence           bigint   NOT NULL,
    unblock_count      bigint   NOT NULL,
    failed_count       bigint   NOT NULL,
    last_contact_id    bigint,
    last_unblocked_at  timestamptz,
    ended_at           timestamptz,
    canceled_at        timestamptz,
    PRIMARY KEY (company_id, job_id, contact_partition)
) WITH (fillfactor = 70);

CREATE TYPE {read}.unblock_sweep_row AS (
    company_id         bigint,
    job_id             bigint,
    contact_partition  integer,
    version            bigint,
    partition          integer,
    sequence           bigint,
    unblock_count      bigint,
    failed_count       bigint,
    last_contact_id    bigint,
    last_unblocked_at  bigint,
    ended_at           bigint,
    canceled_at        bigint
);
