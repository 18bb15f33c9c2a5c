-- What is true of a number or address itself? `attempts_count` is the length of its legal ledger, which stands in `rest`.
CREATE TABLE {read}.contacts (
    contact_key      text         NOT NULL PRIMARY KEY,
    company_id       bigint       NOT NULL,
    contact_id       bigint       NOT NULL,
    version          bigint       NOT NULL,
    partition        integer      NOT NULL,
    sequence         bigint       NOT NULL,
    lead_ids         jsonb        NOT NULL,
    opted_out_at     timestamptz,
    blocked_at       timestamptz,
    attempts_count   bigint       NOT NULL,
    last_attempt_at  timestamptz,
    last_call_at     timestamptz,
    disabled_until   jsonb        NOT NULL,
    moved            jsonb        NOT NULL,
    rest             jsonb        NOT NULL
);
CREATE INDEX contacts_id ON {read}.contacts (company_id, contact_id);
CREATE INDEX contacts_opted_out ON {read}.contacts (company_id, opted_out_at) WHERE opted_out_at IS NOT NULL;
CREATE INDEX contacts_blocked ON {read}.contacts (company_id, blocked_at) WHERE blocked_at IS NOT NULL;
