-- Which numbers of a ring pool are held, and how many visitors found none? One row per pool, as its aggregate has it.
--
-- `numbers` is a list of [number_id, hash of the visitor, when it is free, in milliseconds].
CREATE TABLE {read}.ring_pools (
    company_id        bigint       NOT NULL,
    ring_pool_id      bigint       NOT NULL,
    version           bigint       NOT NULL,
    partition         integer      NOT NULL,
    sequence          bigint       NOT NULL,
    numbers           jsonb        NOT NULL,
    overflow_count    bigint       NOT NULL,
    last_overflow_at  timestamptz,
    PRIMARY KEY (company_id, ring_pool_id)
);
CREATE TYPE {read}.ring_pool_row AS (
    company_id        bigint,
    ring_pool_id      bigint,
    version           bigint,
    partition         integer,
    sequence          bigint,
    numbers           text,
    overflow_count    bigint,
    last_overflow_at  bigint
);

-- Which number did a page show to the visitor, and until when is it held?
ALTER TABLE {read}.impressions
    ADD COLUMN ring_pool_id bigint,
    ADD COLUMN number_id bigint,
    ADD COLUMN number_shown text,
    ADD COLUMN held_until timestamptz;

-- A type of its own: a projector of the release before still writes rows without them.
CREATE TYPE {read}.shown_impression_row AS (
    company_id         bigint,
    id                 bigint,
    uuid               text,
    partition          integer,
    "offset"           bigint,
    created_at         bigint,
    visitor_id         text,
    session_id         text,
    offer_id           bigint,
    traffic_source_id  bigint,
    page_url           text,
    referrer           text,
    landing_url        text,
    utm_source         text,
    utm_medium         text,
    utm_campaign       text,
    utm_term           text,
    utm_content        text,
    gclid              text,
    fbclid             text,
    sub_id             text,
    ip                 text,
    user_agent         text,
    device             text,
    country            text,
    state              text,
    city               text,
    tokens             text,
    ring_pool_id       bigint,
    number_id          bigint,
    number_shown       text,
    held_until         bigint
);
