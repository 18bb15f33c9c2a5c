-- What did leads and calls come to, hour by hour? Sums that reports over long spans add up instead of every row.
--
-- Whoever writes a row marks the hour of its creation in the same transaction; an hour without a mark may be added up from
-- its sums, one with a mark, or not rolled up yet, is added up from its rows. Marks are only ever appended: two writers never
-- wait for each other, and whoever rolls up takes away the marks that it sees, not those that are still to be committed.
CREATE TABLE {read}.stale_hours (
    company_id  bigint       NOT NULL,
    source      text         NOT NULL,
    hour        timestamptz  NOT NULL
);
CREATE INDEX stale_hours_hour ON {read}.stale_hours (source, company_id, hour);
CREATE TABLE {read}.rolled_hours (
    company_id  bigint       NOT NULL,
    source      text         NOT NULL,
    hour        timestamptz  NOT NULL,
    PRIMARY KEY (source, company_id, hour)
);

CREATE TABLE {read}.leads_rollup (
    company_id              bigint            NOT NULL,
    category                text              NOT NULL,
    hour                    timestamptz       NOT NULL,
    value                   text,
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
    first_attempts_seconds  double precision  NOT NULL
);
CREATE INDEX leads_rollup_category ON {read}.leads_rollup (company_id, category, hour);
CREATE TABLE {read}.calls_rollup (
    company_id               bigint            NOT NULL,
    category                 text              NOT NULL,
    hour                     timestamptz       NOT NULL,
    value                    text,
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
    connected_talk_duration  bigint            NOT NULL
);
CREATE INDEX calls_rollup_category ON {read}.calls_rollup (company_id, category, hour);

CREATE FUNCTION {read}.mark_hours() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('
        INSERT INTO %1$I.stale_hours (company_id, source, hour)
        SELECT DISTINCT company_id, %2$L, date_bin(''1 hour'', created_at, ''epoch'') FROM written'
        || CASE TG_OP WHEN 'UPDATE' THEN '
        UNION SELECT company_id, %2$L, date_bin(''1 hour'', created_at, ''epoch'') FROM former' ELSE '' END,
        TG_TABLE_SCHEMA, TG_TABLE_NAME);
    RETURN NULL;
END $$;
CREATE TRIGGER leads_marked AFTER INSERT ON {read}.leads
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION {read}.mark_hours();
CREATE TRIGGER leads_remarked AFTER UPDATE ON {read}.leads
    REFERENCING OLD TABLE AS former NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION {read}.mark_hours();
CREATE TRIGGER calls_marked AFTER INSERT ON {read}.calls
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION {read}.mark_hours();
CREATE TRIGGER calls_remarked AFTER UPDATE ON {read}.calls
    REFERENCING OLD TABLE AS former NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION {read}.mark_hours();
