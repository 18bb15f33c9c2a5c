-- Which files of leads were uploaded, and how far is each import? A file is kept until its import has ended.
CREATE TABLE {work}.lead_imports (
    id              bigint       GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    company_id      bigint       NOT NULL,
    digest          text         NOT NULL,  -- of the file, how it is read, the mapping and the lead token
    number          integer      NOT NULL,  -- 1, and one more each time that the same is imported again on purpose
    dry_run         boolean      NOT NULL,
    created_at      timestamptz  NOT NULL,
    lead_token      text         NOT NULL,
    offer_id        bigint,
    schedule_id     bigint,
    format          text         NOT NULL,
    encoding        text         NOT NULL,
    mapping         jsonb        NOT NULL,
    columns         jsonb        NOT NULL,
    lead_import_id  bigint,
    file_bytes      integer      NOT NULL,
    file            bytea,
    key_id          bigint,
    user_email      text,
    address         text         NOT NULL,
    line            integer      NOT NULL DEFAULT 0,
    last_line       integer,
    good_count      integer      NOT NULL DEFAULT 0,
    refused_count   integer      NOT NULL DEFAULT 0,
    inbox_offset    bigint,
    started_at      timestamptz,
    canceled_at     timestamptz,
    ended_at        timestamptz,
    failure         text,
    leased_by       text,
    leased_until    timestamptz  -- of the database's clock
);
CREATE UNIQUE INDEX lead_imports_once ON {work}.lead_imports (company_id, digest, number) WHERE NOT dry_run;
CREATE INDEX lead_imports_by_id ON {work}.lead_imports (company_id, id);
CREATE INDEX lead_imports_open ON {work}.lead_imports (id) WHERE ended_at IS NULL;
CREATE TABLE {work}.lead_import_errors (
    id       bigint   GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id   bigint   NOT NULL REFERENCES {work}.lead_imports (id) ON DELETE CASCADE,
    line     integer  NOT NULL,
    field    text     NOT NULL,
    problem  text     NOT NULL
);
CREATE INDEX lead_import_errors_listed ON {work}.lead_import_errors (job_id, id);
