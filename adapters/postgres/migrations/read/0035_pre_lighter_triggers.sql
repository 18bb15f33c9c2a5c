-- What need a trigger not do? A statement with ON CONFLICT calls the triggers of both INSERT and UPDATE, mostly one of them
-- without a row; and most updates of a lead or call change no text. To plan the statements took longer than to write a lead.
CREATE OR REPLACE FUNCTION {read}.keep_lead_words() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed text := '';
    is_changed boolean;
BEGIN
    IF NOT EXISTS (SELECT FROM written) THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF EXISTS (SELECT FROM written WHERE deleted_at IS NOT NULL) THEN
            EXECUTE format('
                DELETE FROM %1$I.lead_words AS w USING written AS n
                WHERE w.company_id = n.company_id AND w.id = n.id AND n.deleted_at IS NOT NULL', TG_TABLE_SCHEMA);
        END IF;
        changed := ' JOIN former AS f ON f.company_id = n.company_id AND f.id = n.id
            AND (f.name, f.full_name, f.email, f.external_record_id, f.data, f.caller_id, f.deleted_at IS NULL)
                IS DISTINCT FROM (n.name, n.full_name, n.email, n.external_record_id, n.data, n.caller_id, true)';
        -- Not a statement of the function itself: its plan would be kept, and one for a row takes the square of 500.
        EXECUTE 'SELECT EXISTS (SELECT FROM written AS n' || changed || ')' INTO is_changed;
        IF NOT is_changed THEN
            RETURN NULL;
        END IF;
    END IF;
    EXECUTE format('
        INSERT INTO %1$I.lead_words AS w (company_id, id, words)
        SELECT n.company_id, n.id,
            %1$I.words_of(concat_ws('' '', n.name, n.full_name, n.email, n.external_record_id,
                (SELECT string_agg(shown, '' '') FROM jsonb_each_text(n.data) AS token (key, shown))))
            || %1$I.number_words(n.caller_id)
        FROM written AS n' || changed || '
        WHERE n.deleted_at IS NULL
        ON CONFLICT (company_id, id) DO UPDATE SET words = excluded.words', TG_TABLE_SCHEMA);
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION {read}.keep_call_words() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed text := '';
    is_changed boolean;
BEGIN
    IF NOT EXISTS (SELECT FROM written) THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF EXISTS (SELECT FROM written WHERE deleted_at IS NOT NULL) THEN
            EXECUTE format('
                DELETE FROM %1$I.call_words AS w USING written AS n
                WHERE w.company_id = n.company_id AND w.id = n.id AND n.deleted_at IS NOT NULL', TG_TABLE_SCHEMA);
        END IF;
        changed := ' JOIN former AS f ON f.company_id = n.company_id AND f.id = n.id
            AND (f.agent_call_disposition_notes, f.token_values, f.caller_number, f.deleted_at IS NULL)
                IS DISTINCT FROM (n.agent_call_disposition_notes, n.token_values, n.caller_number, true)';
        EXECUTE 'SELECT EXISTS (SELECT FROM written AS n' || changed || ')' INTO is_changed;
        IF NOT is_changed THEN
            RETURN NULL;
        END IF;
    END IF;
    EXECUTE format('
        INSERT INTO %1$I.call_words AS w (company_id, id, words)
        SELECT n.company_id, n.id,
            %1$I.words_of(concat_ws('' '', n.agent_call_disposition_notes,
                (SELECT string_agg(shown, '' '') FROM jsonb_each_text(n.token_values) AS token (key, shown))))
            || %1$I.number_words(n.caller_number)
            || array_to_tsvector(ARRAY(
                SELECT tag FROM jsonb_each_text(n.token_values) AS token (key, shown),
                    unnest(ARRAY[''='' || left(key, 200), ''='' || left(key || '':'' || shown, 200)]) AS tag
                WHERE tag IS NOT NULL))
        FROM written AS n' || changed || '
        WHERE n.deleted_at IS NULL
        ON CONFLICT (company_id, id) DO UPDATE SET words = excluded.words', TG_TABLE_SCHEMA);
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION {read}.mark_days() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM written) THEN
        RETURN NULL;
    END IF;
    EXECUTE format('
        INSERT INTO %1$I.stale_days (company_id, source, day)
        SELECT DISTINCT company_id, %2$L, date_bin(''1 day'', created_at, ''epoch'') FROM written'
        || CASE TG_OP WHEN 'UPDATE' THEN '
        UNION SELECT company_id, %2$L, date_bin(''1 day'', created_at, ''epoch'') FROM former' ELSE '' END,
        TG_TABLE_SCHEMA, TG_TABLE_NAME);
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION {read}.mark_days_of_leads() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM written) THEN
        RETURN NULL;
    END IF;
    EXECUTE format('
        INSERT INTO %1$I.stale_days (company_id, source, day)
        SELECT DISTINCT l.company_id, ''leads'', date_bin(''1 day'', l.created_at, ''epoch'')
        FROM (
            SELECT company_id, lead_id FROM written
            WHERE call_disposition_id IS NOT NULL OR buyer_converted OR agent_id IS NOT NULL'
        || CASE TG_OP WHEN 'UPDATE' THEN '
            UNION SELECT company_id, lead_id FROM former
            WHERE call_disposition_id IS NOT NULL OR buyer_converted OR agent_id IS NOT NULL' ELSE '' END
        || ') AS c
        JOIN %1$I.leads AS l ON l.company_id = c.company_id AND l.id = c.lead_id', TG_TABLE_SCHEMA);
    RETURN NULL;
END $$;
