-- What happened, in order? The facts of every decision, under the position of the decision and the place within it.
--
-- `company_id` is empty for facts of the partition itself (an adoption): no tenant sees them.
CREATE TABLE {read}.history (
    topic        text         NOT NULL,
    partition    integer      NOT NULL,
    sequence     bigint       NOT NULL,
    ordinal      integer      NOT NULL,
    at           timestamptz  NOT NULL,
    type         text         NOT NULL,
    company_id   bigint,
    contact_key  text,
    lead_id      bigint,
    call_id      bigint,
    data         jsonb        NOT NULL,
    PRIMARY KEY (topic, partition, sequence, ordinal)
);
CREATE INDEX history_lead ON {read}.history (company_id, lead_id, at) WHERE lead_id IS NOT NULL;
CREATE INDEX history_call ON {read}.history (company_id, call_id, at) WHERE call_id IS NOT NULL;
CREATE INDEX history_at ON {read}.history USING brin (at);  -- for retention: a block range costs nothing to keep
