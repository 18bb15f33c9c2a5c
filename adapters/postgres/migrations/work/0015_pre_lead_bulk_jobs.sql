-- Which bulk jobs change many leads? The leads of a job are fixed when it is made; each row says what came of its request.
CREATE TABLE {work}.lead_bulk_jobs (
    id                           bigint       GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    company_id                   bigint       NOT NULL,
    request_id                   text         NOT NULL,
    created_at                   timestamptz  NOT NULL,
    description                  text,
    action                       text         NOT NULL,
    move_to_another_schedule_id  bigint,
    filter                       jsonb        NOT NULL,
    key_id                       bigint,
    user_email                   text,
    address                      text         NOT NULL,
    actor                        text,
    leads_count                  integer      NOT NULL,
    done_count                   integer      NOT NULL DEFAULT 0,
    refused_count                integer      NOT NULL DEFAULT 0,
    unknown_count                integer      NOT NULL DEFAULT 0,
    started_at                   timestamptz,
    canceled_at                  timestamptz,
    ended_at                     timestamptz,
    failure                      text,
    leased_by                    text,
    leased_until                 timestamptz,  -- of the database's clock, as `advanced_at`
    advanced_at                  timestamptz,
    UNIQUE (company_id, request_id)
);
CREATE INDEX lead_bulk_jobs_by_id ON {work}.lead_bulk_jobs (company_id, id);
CREATE INDEX lead_bulk_jobs_open ON {work}.lead_bulk_jobs (company_id, id) WHERE ended_at IS NULL;
CREATE TABLE {work}.lead_bulk_results (
    job_id       bigint       NOT NULL REFERENCES {work}.lead_bulk_jobs (id) ON DELETE CASCADE,
    lead_id      bigint       NOT NULL,
    state        text         NOT NULL DEFAULT 'waiting',
    contact_key  text,
    sent_at      timestamptz,
    code         text,
    detail       text,
    PRIMARY KEY (job_id, lead_id)
) WITH (fillfactor = 70);
CREATE INDEX lead_bulk_results_open ON {work}.lead_bulk_results (job_id, lead_id) WHERE state IN ('waiting', 'sent');
