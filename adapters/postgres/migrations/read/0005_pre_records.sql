-- What does a company manage? The newest version of each account record; deleted ones keep their last body.
CREATE TABLE {read}.records (
    company_id       bigint       NOT NULL,
    type             text         NOT NULL,
    id               bigint       NOT NULL,
    uuid             uuid         NOT NULL,
    version          bigint       NOT NULL,
    partition        integer      NOT NULL,
    sequence         bigint       NOT NULL,
    created_at       timestamptz  NOT NULL,
    updated_at       timestamptz  NOT NULL,
    user_updated_at  timestamptz,
    deleted_at       timestamptz,
    name             text,
    body             jsonb        NOT NULL,
    PRIMARY KEY (company_id, type, id)
);
CREATE INDEX records_uuid ON {read}.records (uuid);
CREATE INDEX records_created ON {read}.records (company_id, type, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX records_paused ON {read}.records (company_id, type, (coalesce((body->>'paused')::boolean, false)), created_at, id)
    WHERE deleted_at IS NULL;
CREATE INDEX records_external ON {read}.records (company_id, type, (body->>'external_record_id'))
    WHERE deleted_at IS NULL AND body ? 'external_record_id';

-- How many slots of a limited resource (`buyer_group/7`) are held, and how many contacts wait for one?
CREATE TABLE {read}.slots (
    company_id     bigint   NOT NULL,
    resource       text     NOT NULL,
    version        bigint   NOT NULL,
    partition      integer  NOT NULL,
    sequence       bigint   NOT NULL,
    in_use         bigint   NOT NULL,
    waiting_count  bigint   NOT NULL,
    PRIMARY KEY (company_id, resource)
) WITH (fillfactor = 70);
