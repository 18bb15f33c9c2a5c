-- Which leads and calls converted, for a buyer or an offer? Of the facts about each conversion, the one of the highest revision.
CREATE INDEX history_conversions ON {read}.history
    (company_id, ((data ->> 'conversion_id')::bigint), ((data ->> 'revision')::integer))
    WHERE type IN ('conversion.recorded', 'conversion.changed', 'conversion.taken_back');
CREATE INDEX history_conversions_created ON {read}.history
    (company_id, (to_timestamp((data ->> 'converted_at')::float8 / 1000)), ((data ->> 'conversion_id')::bigint))
    WHERE type IN ('conversion.recorded', 'conversion.changed', 'conversion.taken_back');
CREATE INDEX history_conversions_of_buyer ON {read}.history
    (company_id, ((data ->> 'buyer_id')::bigint), ((data ->> 'conversion_id')::bigint))
    WHERE type IN ('conversion.recorded', 'conversion.changed', 'conversion.taken_back');
CREATE INDEX history_conversions_of_source ON {read}.history
    (company_id, ((data ->> 'traffic_source_id')::bigint), ((data ->> 'conversion_id')::bigint))
    WHERE type IN ('conversion.recorded', 'conversion.changed', 'conversion.taken_back');
CREATE VIEW {read}.conversions AS
SELECT company_id,
    (data ->> 'conversion_id')::bigint AS id,
    (data ->> 'uuid')::uuid AS uuid,
    data ->> 'side' AS side,
    to_timestamp((data ->> 'converted_at')::float8 / 1000) AS created_at,
    at AS updated_at,
    (data ->> 'revision')::integer AS revision,
    data ->> 'source' AS source,
    (data ->> 'amount')::float8 AS amount,
    lead_id,
    call_id,
    (data ->> 'buyer_id')::bigint AS buyer_id,
    (data ->> 'traffic_source_id')::bigint AS traffic_source_id,
    (data ->> 'offer_id')::bigint AS offer_id,
    (data ->> 'schedule_id')::bigint AS schedule_id,
    data ? 'taken_back_at' AS taken_back,
    to_timestamp((data ->> 'taken_back_at')::float8 / 1000) AS taken_back_at
FROM {read}.history AS f
WHERE type IN ('conversion.recorded', 'conversion.changed', 'conversion.taken_back')
    AND NOT EXISTS (
        SELECT 1 FROM {read}.history AS later
        WHERE later.company_id = f.company_id
            AND later.type IN ('conversion.recorded', 'conversion.changed', 'conversion.taken_back')
            AND (later.data ->> 'conversion_id')::bigint = (f.data ->> 'conversion_id')::bigint
            AND (later.data ->> 'revision')::integer > (f.data ->> 'revision')::integer
    );

CREATE OR REPLACE VIEW {read}.manual_fires AS
SELECT company_id,
    (data ->> 'fire_id')::bigint AS id,
    (data ->> 'uuid')::uuid AS uuid,
    at AS fired_at,
    coalesce(to_timestamp((data ->> 'created_at')::float8 / 1000), at) AS created_at,
    coalesce(to_timestamp((data ->> 'updated_at')::float8 / 1000), at) AS updated_at,
    (data ->> 'outgoing_webhook_id')::bigint AS outgoing_webhook_id,
    lead_id,
    call_id,
    data ->> 'command_id' AS command_id,
    (data ->> 'buyer_conversion_id')::bigint AS buyer_conversion_id,
    (data ->> 'offer_conversion_id')::bigint AS offer_conversion_id
FROM {read}.history
WHERE type = 'webhook.fired_by_hand';
