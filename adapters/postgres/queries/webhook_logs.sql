-- Which attempts to post outgoing webhooks were made?

-- add --
INSERT INTO {work}.webhook_logs
       (company_id, created_at, outgoing_webhook_id, webhook_manual_fire_id, lead_id, call_id, step_id, command_id, attempt,
        method, host, status, milliseconds, accepted, detail)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)

-- webhook_logs --
SELECT *, {ordered} AS ordered_by FROM {work}.webhook_logs WHERE company_id = $1{where} ORDER BY {order} LIMIT {limit}

-- webhook_logs_count --
SELECT count(*) FROM (
    SELECT 1 FROM {work}.webhook_logs WHERE company_id = $1{where} ORDER BY created_at DESC LIMIT {limit}
) AS found

-- ids_of_fires --
-- The newest $3 of each.
SELECT asked.fire_id, array_agg(found.id ORDER BY found.id) AS ids
  FROM unnest($2::bigint[]) AS asked (fire_id)
 CROSS JOIN LATERAL (
    SELECT id FROM {work}.webhook_logs WHERE company_id = $1 AND webhook_manual_fire_id = asked.fire_id
     ORDER BY id DESC LIMIT $3
 ) AS found
 GROUP BY asked.fire_id

-- purge --
DELETE FROM {work}.webhook_logs
 WHERE ctid = ANY (ARRAY (SELECT ctid FROM {work}.webhook_logs WHERE created_at < $1 LIMIT $2))
