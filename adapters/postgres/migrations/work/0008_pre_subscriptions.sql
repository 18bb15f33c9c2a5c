-- Which events are to be delivered to which subscriptions, and how far is each? Times are the database's.
--
-- `id` is what lists are read by, `webhook_id` what the receiver gets: a hash of subscription, decision and event, so that an
-- event that is read twice is stored once. `tries` counts since the last start, `attempts` all that were made.
CREATE TABLE {work}.subscription_deliveries (
    id               bigint       GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    webhook_id       text         NOT NULL UNIQUE,
    company_id       bigint       NOT NULL,
    subscription_id  bigint       NOT NULL,
    event            text         NOT NULL,
    lead_id          bigint,
    call_id          bigint,
    occurred_at      timestamptz  NOT NULL,
    created_at       timestamptz  NOT NULL DEFAULT clock_timestamp(),
    body             text         NOT NULL,
    state            text         NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'failed')),
    attempts         integer      NOT NULL DEFAULT 0,
    tries            integer      NOT NULL DEFAULT 0,
    failing_since    timestamptz,
    next_attempt_at  timestamptz  NOT NULL DEFAULT clock_timestamp(),
    last_status      integer,
    last_detail      text,
    ended_at         timestamptz,
    claimant         text,
    leased_until     timestamptz
) WITH (fillfactor = 70);  -- stored, claimed, ended: three versions of each row
CREATE INDEX subscription_deliveries_due ON {work}.subscription_deliveries (subscription_id, next_attempt_at, id)
    WHERE state = 'waiting';
CREATE INDEX subscription_deliveries_of_lead ON {work}.subscription_deliveries (subscription_id, lead_id, id)
    WHERE state = 'waiting';
CREATE INDEX subscription_deliveries_failed ON {work}.subscription_deliveries (subscription_id) WHERE state = 'failed';
CREATE INDEX subscription_deliveries_listed ON {work}.subscription_deliveries (company_id, subscription_id, id);
CREATE INDEX subscription_deliveries_created ON {work}.subscription_deliveries USING brin (created_at);

-- One row per attempt.
CREATE TABLE {work}.subscription_attempts (
    delivery_id   bigint       NOT NULL,
    number        integer      NOT NULL,
    at            timestamptz  NOT NULL DEFAULT clock_timestamp(),
    milliseconds  integer      NOT NULL,
    status        integer,
    detail        text         NOT NULL,
    PRIMARY KEY (delivery_id, number)
);
CREATE INDEX subscription_attempts_at ON {work}.subscription_attempts USING brin (at);

-- How does the receiver of a subscription do? A row from its first attempt on.
CREATE TABLE {work}.subscription_standings (
    subscription_id    bigint       NOT NULL PRIMARY KEY,
    company_id         bigint       NOT NULL,
    last_delivered_at  timestamptz,
    failing_since      timestamptz,
    disabled_at        timestamptz,
    disabled_reason    text,
    dropped_count      bigint       NOT NULL DEFAULT 0,
    dropped_since      timestamptz
);

-- Before which offset of a decisions partition is every event stored?
CREATE TABLE {work}.subscription_progress (
    topic        text     NOT NULL,
    partition    integer  NOT NULL,
    topic_id     text     NOT NULL,
    next_offset  bigint   NOT NULL,
    PRIMARY KEY (topic, partition)
);
