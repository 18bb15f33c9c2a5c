-- Who is carrying out a command now, and what is left to do for it? A claim runs out unless its claimant renews it.
--
-- `claim_id` names one attempt to claim, so that a claim whose answer was lost can be asked again. `outcome` is the request
-- for `contacts.requests` as it was recorded; empty where the provider took the order and the outcome comes another way.
ALTER TABLE {work}.deliveries
    ADD COLUMN claimant      text         NOT NULL,
    ADD COLUMN claim_id      text         NOT NULL,
    ADD COLUMN taken_over    boolean      NOT NULL DEFAULT false,
    ADD COLUMN leased_until  timestamptz  NOT NULL,
    ADD COLUMN outcome       bytea,
    ADD COLUMN posted_at     timestamptz;
CREATE INDEX deliveries_leased ON {work}.deliveries (claimant) WHERE posted_at IS NULL;

-- Before which offset of a commands partition is everything done?
CREATE TABLE {work}.delivery_progress (
    topic        text     NOT NULL,
    partition    integer  NOT NULL,
    topic_id     text     NOT NULL,
    next_offset  bigint   NOT NULL,
    PRIMARY KEY (topic, partition)
);

-- The schema begins with its tables, before any process of this deployment works: on the first day nothing is older.
INSERT INTO {work}.incarnation (id, born_at) VALUES (gen_random_uuid(), now()) ON CONFLICT DO NOTHING;
