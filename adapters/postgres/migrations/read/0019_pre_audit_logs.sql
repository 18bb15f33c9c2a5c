-- Who changed which account record? The facts of the history that say so. A company's records are in one partition, so the
-- place of a decision there rises with time; a decision on a record has few facts.
CREATE INDEX history_audit_logs ON {read}.history (company_id, ((sequence * 1000 + ordinal)))
    WHERE type IN ('record.created', 'record.updated', 'record.deleted');
CREATE VIEW {read}.audit_logs AS
SELECT company_id,
    sequence * 1000 + ordinal AS id,
    at AS created_at,
    substr(type, 8) AS action,
    data ->> 'record_type' AS record_type,
    (data ->> 'record_id')::bigint AS record_id,
    (data ->> 'version')::bigint AS version,
    data -> 'fields' AS fields,
    nullif(split_part(split_part(data ->> 'by', ';', 1), '/', 1), '') AS actor,
    nullif(split_part(split_part(data ->> 'by', ';', 1), '/', 2), '')::bigint AS key_id,
    nullif(split_part(data ->> 'by', ';', 2), '') AS user_email,
    nullif(split_part(data ->> 'by', ';', 3), '') AS address
FROM {read}.history
WHERE type IN ('record.created', 'record.updated', 'record.deleted');
