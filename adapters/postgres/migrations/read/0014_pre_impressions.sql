-- What did visitors see? One row per impression, of the first record with its uuid; deleted when its time is over.
--
-- All impressions of a visitor come from one partition, in the order of their offsets, so a repeat is known by uuid and
-- partition, and by id where a record is read again.
CREATE TABLE {read}.impressions (
    company_id         bigint       NOT NULL,
    id                 bigint       NOT NULL,
    uuid               uuid         NOT NULL,
    partition          integer      NOT NULL,
    "offset"           bigint       NOT NULL,
    created_at         timestamptz  NOT NULL,
    visitor_id         text         NOT NULL,
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
    tokens             jsonb        NOT NULL,
    PRIMARY KEY (company_id, id)
);
CREATE UNIQUE INDEX impressions_uuid ON {read}.impressions (company_id, uuid, partition);
CREATE INDEX impressions_created ON {read}.impressions (company_id, created_at, id);
CREATE INDEX impressions_expiring ON {read}.impressions (created_at);  -- for the purge, of all companies together

CREATE TYPE {read}.impression_row AS (
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
    tokens             text
);
