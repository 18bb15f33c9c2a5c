-- Which webhooks were fired by hand? The facts of the history that say so, as rows; an index that holds no other fact.
CREATE INDEX history_manual_fires ON {read}.history (company_id, ((data ->> 'fire_id')::bigint))
    WHERE type = 'webhook.fired_by_hand';
CREATE VIEW {read}.manual_fires AS
SELECT company_id,
    (data ->> 'fire_id')::bigint AS id,
    (data ->> 'uuid')::uuid AS uuid,
    at AS fired_at,
    coalesce(to_timestamp((data ->> 'created_at')::float8 / 1000), at) AS created_at,
    coalesce(to_timestamp((data ->> 'updated_at')::float8 / 1000), at) AS updated_at,
    (data ->> 'outgoing_webhook_id')::bigint AS outgoing_webhook_id,
    lead_id,
    call_id,
    data ->> 'command_id' AS command_id
FROM {read}.history
WHERE type = 'webhook.fired_by_hand';
