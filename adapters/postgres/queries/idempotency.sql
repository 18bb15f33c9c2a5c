-- Which Idempotency-Keys are in use?

-- claim_key --
-- Take an Idempotency-Key that is free, or expired; return no row where it is in use.
INSERT INTO {work}.idempotency_keys AS k (company_id, key, digest, request_id, created_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (company_id, key) DO UPDATE
SET digest = excluded.digest, request_id = excluded.request_id, created_at = excluded.created_at, answer = NULL
WHERE k.created_at <= $6
RETURNING digest, request_id, answer

-- find_key --
SELECT digest, request_id, answer FROM {work}.idempotency_keys WHERE company_id = $1 AND key = $2

-- keep_answer --
-- Keep the first answer to the request of a key, and say which one that is.
UPDATE {work}.idempotency_keys SET answer = coalesce(answer, $4) WHERE company_id = $1 AND key = $2 AND request_id = $3
RETURNING answer
