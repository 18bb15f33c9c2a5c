-- Which views of the list of leads has a user saved?

-- lock_user --
-- Two views of one user are saved one after the other, so that both are counted.
SELECT pg_advisory_xact_lock(hashtextextended('lead_views/' || $1::bigint || '/' || $2::bigint, 0))

-- count_others --
SELECT count(*) FROM {work}.lead_views WHERE company_id = $1 AND user_id = $2 AND name <> $3

-- save --
INSERT INTO {work}.lead_views (company_id, user_id, name, query, saved_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (company_id, user_id, name) DO UPDATE SET query = excluded.query, saved_at = excluded.saved_at
RETURNING id, name, query, saved_at, xmax = 0 AS is_new

-- of_user --
SELECT id, name, query, saved_at FROM {work}.lead_views WHERE company_id = $1 AND user_id = $2 ORDER BY lower(name), id

-- delete --
DELETE FROM {work}.lead_views WHERE company_id = $1 AND user_id = $2 AND id = $3
RETURNING id, name, query, saved_at
