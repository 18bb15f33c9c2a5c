-- What did leads and calls come to, day by day? Sums that reports over long spans add up instead of every row.
--
-- Whoever writes a row marks the day (UTC) of its creation in the same transaction; a day without a mark may be added up from
-- its sums, one with a mark, or not rolled up yet, is added up from its rows. Marks are only ever appended: two writers never
-- wait for each other, and whoever rolls up takes away the marks that it sees, not those that are still to be committed.
--
-- Five tiers: `quarter` of an hour and `hour` (all rows as one group, hours by value of a few categories as well: every clock
-- of the world changes its date at a quarter, most at an hour), `day`, `month` and `year` (by category and value, months and
-- years by pairs of categories as well, named with a space between, with their values in `value` and `other`). A month or
-- year holds only while none of its days is marked or was rolled up since: `is_stale`.
CREATE TABLE {read}.stale_days (
    company_id  bigint       NOT NULL,
    source      text         NOT NULL,
    day         timestamptz  NOT NULL
) WITH (autovacuum_vacuum_threshold = 1000);  -- emptied all the time, and looked at by every report
CREATE INDEX stale_days_day ON {read}.stale_days (source, company_id, day);
CREATE TABLE {read}.rolled_spans (
    company_id  bigint       NOT NULL,
    source      text         NOT NULL,
    tier        text         NOT NULL CHECK (tier IN ('day', 'month', 'year')),
    start       timestamptz  NOT NULL,
    rolled_at   timestamptz  NOT NULL,
    is_stale    boolean      NOT NULL,
    PRIMARY KEY (source, company_id, tier, start)
);
CREATE INDEX rolled_spans_stale ON {read}.rolled_spans (tier, rolled_at) WHERE is_stale;

CREATE TABLE {read}.leads_rollup (
    company_id              bigint            NOT NULL,
    at                      timestamptz       NOT NULL,
    leads_count             bigint            NOT NULL,
    live_count              bigint            NOT NULL,
    attempted_count         bigint            NOT NULL,
    connected_count         bigint            NOT NULL,
    converted_count         bigint            NOT NULL,
    opt_out_count           bigint            NOT NULL,
    outbound_calls_count    bigint            NOT NULL,
    sms_count               bigint            NOT NULL,
    emails_count            bigint            NOT NULL,
    revenue                 double precision  NOT NULL,
    payout                  double precision  NOT NULL,
    connected_calls_count   bigint            NOT NULL,
    first_attempts_count    bigint            NOT NULL,
    first_attempts_seconds  double precision  NOT NULL,
    tier                    text              NOT NULL,
    category                text              NOT NULL,
    value                   text,
    other                   text
);
CREATE INDEX leads_rollup_category ON {read}.leads_rollup (company_id, category, tier, at);
CREATE INDEX leads_rollup_at ON {read}.leads_rollup (company_id, tier, at);
CREATE TABLE {read}.calls_rollup (
    company_id               bigint            NOT NULL,
    at                       timestamptz       NOT NULL,
    calls_count              bigint            NOT NULL,
    inbound_count            bigint            NOT NULL,
    connected_count          bigint            NOT NULL,
    converted_count          bigint            NOT NULL,
    buyer_converted_count    bigint            NOT NULL,
    offer_converted_count    bigint            NOT NULL,
    no_buyer_count           bigint            NOT NULL,
    talk_duration            bigint            NOT NULL,
    total_duration           bigint            NOT NULL,
    revenue                  double precision  NOT NULL,
    payout                   double precision  NOT NULL,
    cost                     double precision  NOT NULL,
    connected_talk_duration  bigint            NOT NULL,
    tier                     text              NOT NULL,
    category                 text              NOT NULL,
    value                    text,
    other                    text
);
CREATE INDEX calls_rollup_category ON {read}.calls_rollup (company_id, category, tier, at);
CREATE INDEX calls_rollup_at ON {read}.calls_rollup (company_id, tier, at);

CREATE FUNCTION {read}.mark_days() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('
        INSERT INTO %1$I.stale_days (company_id, source, day)
        SELECT DISTINCT company_id, %2$L, date_bin(''1 day'', created_at, ''epoch'') FROM written'
        || CASE TG_OP WHEN 'UPDATE' THEN '
        UNION SELECT company_id, %2$L, date_bin(''1 day'', created_at, ''epoch'') FROM former' ELSE '' END,
        TG_TABLE_SCHEMA, TG_TABLE_NAME);
    RETURN NULL;
END $$;
CREATE TRIGGER leads_marked AFTER INSERT ON {read}.leads
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION {read}.mark_days();
CREATE TRIGGER leads_remarked AFTER UPDATE ON {read}.leads
    REFERENCING OLD TABLE AS former NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION {read}.mark_days();
CREATE TRIGGER calls_marked AFTER INSERT ON {read}.calls
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION {read}.mark_days();
CREATE TRIGGER calls_remarked AFTER UPDATE ON {read}.calls
    REFERENCING OLD TABLE AS former NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION {read}.mark_days();

-- What a lead is grouped by may stand in its calls: the disposition of one, or that it converted. The lead's own row comes
-- before its calls in every batch, so it is there to be marked.
CREATE FUNCTION {read}.mark_days_of_leads() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('
        INSERT INTO %1$I.stale_days (company_id, source, day)
        SELECT DISTINCT l.company_id, ''leads'', date_bin(''1 day'', l.created_at, ''epoch'')
        FROM (
            SELECT company_id, lead_id FROM written WHERE call_disposition_id IS NOT NULL OR buyer_converted'
        || CASE TG_OP WHEN 'UPDATE' THEN '
            UNION SELECT company_id, lead_id FROM former WHERE call_disposition_id IS NOT NULL OR buyer_converted' ELSE '' END
        || ') AS c
        JOIN %1$I.leads AS l ON l.company_id = c.company_id AND l.id = c.lead_id', TG_TABLE_SCHEMA);
    RETURN NULL;
END $$;
CREATE TRIGGER leads_marked_by_calls AFTER INSERT ON {read}.calls
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION {read}.mark_days_of_leads();
CREATE TRIGGER leads_remarked_by_calls AFTER UPDATE ON {read}.calls
    REFERENCING OLD TABLE AS former NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION {read}.mark_days_of_leads();
