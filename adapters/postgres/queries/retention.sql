-- Which rows are expired?

-- purge_results --
DELETE FROM {read}.request_results
WHERE ctid = ANY (ARRAY (SELECT ctid FROM {read}.request_results WHERE decided_at < $1 LIMIT $2))

-- purge_keys --
DELETE FROM {work}.idempotency_keys
WHERE ctid = ANY (ARRAY (SELECT ctid FROM {work}.idempotency_keys WHERE created_at < $1 LIMIT $2))

-- purge_send_log --
DELETE FROM {work}.send_log WHERE ctid = ANY (ARRAY (SELECT ctid FROM {work}.send_log WHERE at < $1 LIMIT $2))

-- purge_impressions --
DELETE FROM {read}.impressions
WHERE ctid = ANY (ARRAY (SELECT ctid FROM {read}.impressions WHERE created_at < $1 ORDER BY created_at LIMIT $2))
