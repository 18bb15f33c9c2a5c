-- How are hours rolled up? Marks are taken away first: what is committed after that is seen, or leaves a mark of its own.

-- alone --
SELECT pg_try_advisory_xact_lock($1)

-- take_marks --
WITH taken AS (
    SELECT DISTINCT company_id, source, hour FROM {read}.stale_hours ORDER BY source, company_id, hour LIMIT $1
)
DELETE FROM {read}.stale_hours AS s USING taken AS t
WHERE s.company_id = t.company_id AND s.source = t.source AND s.hour = t.hour
RETURNING s.company_id, s.source, s.hour

-- forget --
DELETE FROM {read}.{source}_rollup AS r USING unnest($1::bigint[], $2::timestamptz[]) AS u (company_id, hour)
WHERE r.company_id = u.company_id AND r.hour = u.hour

-- roll_up --
INSERT INTO {read}.{source}_rollup (company_id, category, hour, value, {names})
SELECT {source}.company_id, by_category.category, u.hour, by_category.value, {sums}
FROM unnest($1::bigint[], $2::timestamptz[]) AS u (company_id, hour)
CROSS JOIN LATERAL (
    SELECT * FROM {read}.{source} AS r
    WHERE r.company_id = u.company_id AND r.deleted_at IS NULL
        AND r.created_at >= u.hour AND r.created_at < u.hour + interval '1 hour'
    OFFSET 0  -- hour by hour from the index: the planner thinks that each hour holds a large part of the table
) AS {source}
CROSS JOIN LATERAL (VALUES {categories}) AS by_category (category, value)
GROUP BY 1, 2, 3, 4

-- remember --
INSERT INTO {read}.rolled_hours (company_id, source, hour)
SELECT u.company_id, $3, u.hour FROM unnest($1::bigint[], $2::timestamptz[]) AS u (company_id, hour)
ON CONFLICT DO NOTHING
