-- Who is on which suppression list, from where, and until when?
CREATE TABLE {read}.suppressions (
    company_id   bigint       NOT NULL,
    list_id      bigint       NOT NULL,
    contact_key  text         NOT NULL,
    contact_id   bigint       NOT NULL,
    version      bigint       NOT NULL,
    partition    integer      NOT NULL,
    sequence     bigint       NOT NULL,
    created_at   timestamptz  NOT NULL,
    updated_at   timestamptz  NOT NULL,
    source       text,
    expires_at   timestamptz,
    PRIMARY KEY (company_id, list_id, contact_key)
);
CREATE INDEX suppressions_id ON {read}.suppressions (company_id, list_id, contact_id);

CREATE TYPE {read}.suppression_row AS (
    company_id   bigint,
    list_id      bigint,
    contact_key  text,
    contact_id   bigint,
    version      bigint,
    partition    integer,
    sequence     bigint,
    created_at   bigint,
    updated_at   bigint,
    source       text,
    expires_at   bigint
);
