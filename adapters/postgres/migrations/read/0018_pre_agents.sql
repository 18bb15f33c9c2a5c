-- Which statuses did agents have, and who has read a message? The facts of the history that say so; each index holds them alone.
CREATE INDEX history_agent_statuses ON {read}.history (company_id, ((data ->> 'timestamp_id')::bigint))
    WHERE type = 'agent.status_changed';
CREATE INDEX history_statuses_of_agent
    ON {read}.history (company_id, ((data ->> 'agent_id')::bigint), ((data ->> 'timestamp_id')::bigint))
    WHERE type = 'agent.status_changed';
CREATE INDEX history_acknowledged_messages
    ON {read}.history (company_id, ((data ->> 'agent_message_id')::bigint), ((data ->> 'agent_id')::bigint))
    WHERE type = 'agent_message.acknowledged';
CREATE VIEW {read}.agent_status_timestamps AS
SELECT company_id,
    (data ->> 'timestamp_id')::bigint AS id,
    NULL::bigint AS user_id,
    (data ->> 'agent_id')::bigint AS collaborator_id,
    (data ->> 'agent_widget_id')::bigint AS agent_widget_id,
    (data ->> 'agent_status_id')::bigint AS agent_status_id,
    at AS created_at,
    at AS updated_at,
    data ->> 'key' AS key
FROM {read}.history
WHERE type = 'agent.status_changed';
