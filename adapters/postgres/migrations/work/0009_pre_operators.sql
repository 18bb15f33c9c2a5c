-- Who operates the whole deployment over HTTP, and what did they change? Times are the database's.
--
-- The keys belong to no company, so no account decides about them, and no decision depends on them: they are no part of the log.
CREATE TABLE {work}.operator_keys (
    id                  bigint       GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    public_key          text         NOT NULL UNIQUE,
    private_key_sha256  text         NOT NULL,
    name                text         NOT NULL,
    created_at          timestamptz  NOT NULL DEFAULT clock_timestamp(),
    revoked_at          timestamptz
);

-- One row per change, stored before it is made; `outcome` is null where the process ended before it was known.
CREATE TABLE {work}.operator_audits (
    id               bigint       GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at               timestamptz  NOT NULL DEFAULT clock_timestamp(),
    operator_key_id  bigint,
    actor            text         NOT NULL,
    address          text         NOT NULL,
    request_id       text,
    action           text         NOT NULL,
    subject          text         NOT NULL,
    detail           text         NOT NULL,
    outcome          text
);
