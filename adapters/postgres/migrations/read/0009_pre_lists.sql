-- How is a list of calls narrowed, and how is text found in leads and calls? Indexes, and the words of each row.
--
-- Newest first behind the filter that cuts deepest; what few calls are has an index of these alone, and a column that
-- nothing fills has an empty one: to find nothing, nothing is read.
CREATE INDEX calls_status ON {read}.calls (company_id, status, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX calls_ended ON {read}.calls (company_id, ended_at) WHERE deleted_at IS NULL AND ended_at IS NOT NULL;
CREATE INDEX calls_offer ON {read}.calls (company_id, offer_id, created_at, id)
    WHERE deleted_at IS NULL AND offer_id IS NOT NULL;
CREATE INDEX calls_schedule ON {read}.calls (company_id, schedule_id, created_at, id)
    WHERE deleted_at IS NULL AND schedule_id IS NOT NULL;
CREATE INDEX calls_traffic_source ON {read}.calls (company_id, traffic_source_id, created_at, id)
    WHERE deleted_at IS NULL AND traffic_source_id IS NOT NULL;
CREATE INDEX calls_buyer ON {read}.calls (company_id, buyer_id, created_at, id)
    WHERE deleted_at IS NULL AND buyer_id IS NOT NULL;
CREATE INDEX calls_buyer_group ON {read}.calls (company_id, buyer_group_id, created_at, id)
    WHERE deleted_at IS NULL AND buyer_group_id IS NOT NULL;
CREATE INDEX calls_company_number ON {read}.calls (company_id, number_id, created_at, id)
    WHERE deleted_at IS NULL AND number_id IS NOT NULL;
CREATE INDEX calls_contact ON {read}.calls (company_id, contact_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX calls_ring_pool ON {read}.calls (company_id, ring_pool_id, created_at, id)
    WHERE deleted_at IS NULL AND ring_pool_id IS NOT NULL;
CREATE INDEX calls_provider ON {read}.calls (company_id, provider_configuration_id, created_at, id)
    WHERE deleted_at IS NULL AND provider_configuration_id IS NOT NULL;
CREATE INDEX calls_converted ON {read}.calls (company_id, created_at, id) INCLUDE (buyer_converted, offer_converted)
    WHERE deleted_at IS NULL AND (buyer_converted OR offer_converted);
CREATE INDEX calls_duplicated ON {read}.calls (company_id, created_at, id)
    INCLUDE (buyer_conversion_duplicated_call, offer_conversion_duplicated_call)
    WHERE deleted_at IS NULL AND (buyer_conversion_duplicated_call OR offer_conversion_duplicated_call);
CREATE INDEX calls_repeated ON {read}.calls (company_id, created_at, id) INCLUDE (buyer_repeat_caller, offer_repeat_caller)
    WHERE deleted_at IS NULL AND (buyer_repeat_caller OR offer_repeat_caller);
CREATE INDEX calls_with_buyer ON {read}.calls (company_id, created_at, id) WHERE deleted_at IS NULL AND NOT no_buyer;
CREATE INDEX calls_held ON {read}.calls (company_id, created_at, id) WHERE deleted_at IS NULL AND placed_on_hold;
CREATE INDEX calls_recorded ON {read}.calls (company_id, created_at, id) WHERE deleted_at IS NULL AND has_recording;
CREATE INDEX calls_converting ON {read}.calls (company_id, lead_id, created_at) WHERE deleted_at IS NULL AND buyer_converted;
CREATE INDEX calls_disposed ON {read}.calls (company_id, lead_id, created_at)
    WHERE deleted_at IS NULL AND call_disposition_id IS NOT NULL;

-- The words of a text, as both sides of a search see them: folded to lower case, cut at everything that is no letter or
-- digit. What separates is blanked first, or the parser would keep an address or a number with dashes as one word.
CREATE FUNCTION {read}.words_of(told text) RETURNS tsvector IMMUTABLE PARALLEL SAFE LANGUAGE sql
RETURN strip(to_tsvector('pg_catalog.simple'::regconfig, translate(left(told, 100000), '@._-+/\:;,()<>&''"', repeat(' ', 17))));

-- A number is found by all its digits, without its country code, and by its last seven and four.
CREATE FUNCTION {read}.number_words(told text) RETURNS tsvector IMMUTABLE PARALLEL SAFE LANGUAGE sql
RETURN array_to_tsvector(CASE WHEN length(told) > 10 THEN
    ARRAY[substr(told, 2), right(told, 10), right(told, 7), right(told, 4)] ELSE '{}'::text[] END);

-- What text is found by: a row for each lead and call that is not deleted, written only when its text changes, because a
-- lead changes some forty times and is named once.
CREATE TABLE {read}.lead_words (
    company_id  bigint    NOT NULL,
    id          bigint    NOT NULL,
    words       tsvector  NOT NULL,
    PRIMARY KEY (company_id, id)
);
CREATE TABLE {read}.call_words (LIKE {read}.lead_words INCLUDING ALL);
CREATE INDEX lead_words_words ON {read}.lead_words USING gin (words);
CREATE INDEX call_words_words ON {read}.call_words USING gin (words);

-- Kept by triggers on whole statements, so that it is true whoever writes the rows; the schema is that of the table, since a
-- rebuilt projection takes the place of the old one by its name.
CREATE FUNCTION {read}.keep_lead_words() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        EXECUTE format('
            DELETE FROM %1$I.lead_words AS w USING written AS n
            WHERE w.company_id = n.company_id AND w.id = n.id AND n.deleted_at IS NOT NULL', TG_TABLE_SCHEMA);
    END IF;
    EXECUTE format('
        INSERT INTO %1$I.lead_words AS w (company_id, id, words)
        SELECT n.company_id, n.id,
            %1$I.words_of(concat_ws('' '', n.name, n.full_name, n.email, n.external_record_id,
                (SELECT string_agg(told, '' '') FROM jsonb_each_text(n.data) AS token (key, told))))
            || %1$I.number_words(n.caller_id)
        FROM written AS n ' || CASE TG_OP WHEN 'UPDATE' THEN '
        JOIN former AS f ON f.company_id = n.company_id AND f.id = n.id
            AND (f.name, f.full_name, f.email, f.external_record_id, f.data, f.caller_id, f.deleted_at IS NULL)
                IS DISTINCT FROM (n.name, n.full_name, n.email, n.external_record_id, n.data, n.caller_id, true) ' ELSE '' END
        || 'WHERE n.deleted_at IS NULL
        ON CONFLICT (company_id, id) DO UPDATE SET words = excluded.words', TG_TABLE_SCHEMA);
    RETURN NULL;
END $$;
CREATE TRIGGER leads_written AFTER INSERT ON {read}.leads
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION {read}.keep_lead_words();
CREATE TRIGGER leads_rewritten AFTER UPDATE ON {read}.leads
    REFERENCING OLD TABLE AS former NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION {read}.keep_lead_words();

-- Tokens of a call are also found exactly: `=key` and `=key:value`, cut to what a word may be; no other word begins with `=`.
CREATE FUNCTION {read}.keep_call_words() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        EXECUTE format('
            DELETE FROM %1$I.call_words AS w USING written AS n
            WHERE w.company_id = n.company_id AND w.id = n.id AND n.deleted_at IS NOT NULL', TG_TABLE_SCHEMA);
    END IF;
    EXECUTE format('
        INSERT INTO %1$I.call_words AS w (company_id, id, words)
        SELECT n.company_id, n.id,
            %1$I.words_of(concat_ws('' '', n.agent_call_disposition_notes,
                (SELECT string_agg(told, '' '') FROM jsonb_each_text(n.token_values) AS token (key, told))))
            || %1$I.number_words(n.caller_number)
            || array_to_tsvector(ARRAY(
                SELECT tag FROM jsonb_each_text(n.token_values) AS token (key, told),
                    unnest(ARRAY[''='' || left(key, 200), ''='' || left(key || '':'' || told, 200)]) AS tag
                WHERE tag IS NOT NULL))
        FROM written AS n ' || CASE TG_OP WHEN 'UPDATE' THEN '
        JOIN former AS f ON f.company_id = n.company_id AND f.id = n.id
            AND (f.agent_call_disposition_notes, f.token_values, f.caller_number, f.deleted_at IS NULL)
                IS DISTINCT FROM (n.agent_call_disposition_notes, n.token_values, n.caller_number, true) ' ELSE '' END
        || 'WHERE n.deleted_at IS NULL
        ON CONFLICT (company_id, id) DO UPDATE SET words = excluded.words', TG_TABLE_SCHEMA);
    RETURN NULL;
END $$;
CREATE TRIGGER calls_written AFTER INSERT ON {read}.calls
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION {read}.keep_call_words();
CREATE TRIGGER calls_rewritten AFTER UPDATE ON {read}.calls
    REFERENCING OLD TABLE AS former NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION {read}.keep_call_words();
