-- Who set a status of an agent? The user that the fact names.
CREATE OR REPLACE VIEW {read}.agent_status_timestamps AS
SELECT company_id,
    (data ->> 'timestamp_id')::bigint AS id,
    (data ->> 'user_id')::bigint AS user_id,
    (data ->> 'agent_id')::bigint AS collaborator_id,
    (data ->> 'agent_widget_id')::bigint AS agent_widget_id,
    (data ->> 'agent_status_id')::bigint AS agent_status_id,
    at AS created_at,
    at AS updated_at,
    data ->> 'key' AS key
FROM {read}.history
WHERE type = 'agent.status_changed';
