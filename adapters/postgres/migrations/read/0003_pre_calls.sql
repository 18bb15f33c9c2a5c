-- What came of each call?
CREATE TABLE {read}.calls (
    company_id          bigint            NOT NULL,
    id                  bigint            NOT NULL,
    uuid                uuid              NOT NULL,
    contact_key         text              NOT NULL,
    version             bigint            NOT NULL,
    partition           integer           NOT NULL,
    sequence            bigint            NOT NULL,
    created_at          timestamptz       NOT NULL,
    updated_at          timestamptz       NOT NULL,
    deleted_at          timestamptz,
    lead_id             bigint            NOT NULL,
    offer_id            bigint,
    schedule_id         bigint,
    schedule_action_id  text,
    command_id          text              NOT NULL,
    direction           text              NOT NULL,
    origin              text              NOT NULL,
    status              text              NOT NULL,
    outcome             text,
    answered_by         text              NOT NULL,
    number_called       text              NOT NULL,
    from_number         text,
    buyer_id            bigint,
    buyer_group_id      bigint,
    attempt_number      bigint            NOT NULL,
    provider            text,
    provider_ref        text,
    initiated_at        timestamptz,
    ringing_at          timestamptz,
    answered_at         timestamptz,
    ended_at            timestamptz,
    talk_seconds        bigint            NOT NULL,
    detail              text,
    revenue             double precision  NOT NULL,
    payout              double precision  NOT NULL,
    buyer_converted     boolean           NOT NULL,
    offer_converted     boolean           NOT NULL,
    PRIMARY KEY (company_id, id)
);
CREATE INDEX calls_uuid ON {read}.calls (uuid);
CREATE INDEX calls_created ON {read}.calls (company_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX calls_lead ON {read}.calls (company_id, lead_id);
CREATE INDEX calls_number ON {read}.calls (company_id, number_called, created_at) WHERE deleted_at IS NULL;
CREATE INDEX calls_in_progress ON {read}.calls (company_id) WHERE deleted_at IS NULL AND ended_at IS NULL;
