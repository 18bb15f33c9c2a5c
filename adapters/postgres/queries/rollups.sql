-- How are days, months and years rolled up? Marks are taken away first: what is committed after that is seen, or leaves a
-- mark of its own. `$1` and `$2` of the statements about several days are their companies and starts, pair by pair.

-- alone --
SELECT pg_try_advisory_xact_lock($1)

-- zones --
-- The zones that the database knows, as SQL: reading them in each statement would take longer than a day's sums.
SELECT 'ARRAY[' || string_agg(quote_literal(name), ',') || ']' FROM pg_timezone_names

-- take_marks --
-- Without days that were rolled up a moment ago: a day that keeps changing would be rolled up all the time.
WITH taken AS (
    SELECT DISTINCT s.company_id, s.source, s.day FROM {read}.stale_days AS s
    WHERE NOT EXISTS (
        SELECT FROM {read}.rolled_spans AS r
        WHERE r.source = s.source AND r.company_id = s.company_id AND r.tier = 'day' AND r.start = s.day AND r.rolled_at > $2
    )
    ORDER BY s.source, s.company_id, s.day LIMIT $1
)
DELETE FROM {read}.stale_days AS s USING taken AS t
WHERE s.company_id = t.company_id AND s.source = t.source AND s.day = t.day
RETURNING s.company_id, s.source, s.day

-- forget_days --
DELETE FROM {read}.{source}_rollup AS r USING unnest($1::bigint[], $2::timestamptz[]) AS u (company_id, day)
WHERE r.company_id = u.company_id AND r.tier = 'day' AND r.at = u.day

-- forget_hours --
-- By the places of their rows, found day by day: joined, the planner would go through the hours of all days.
DELETE FROM {read}.{source}_rollup WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM unnest($1::bigint[], $2::timestamptz[]) AS u (company_id, day)
    CROSS JOIN LATERAL (
        SELECT q.ctid FROM {read}.{source}_rollup AS q
        WHERE q.company_id = u.company_id AND q.tier IN ('quarter', 'hour')
            AND q.at >= u.day AND q.at < u.day + interval '24 hours'
        OFFSET 0
    ) AS r
))

-- each_day --
unnest($1::bigint[], $2::timestamptz[]) AS u (company_id, day)
CROSS JOIN LATERAL (
    SELECT * FROM {read}.{source} AS r
    WHERE r.company_id = u.company_id AND r.deleted_at IS NULL
        AND r.created_at >= u.day AND r.created_at < u.day + interval '24 hours'
    OFFSET 0  -- day by day from the index: the planner thinks that each day holds a large part of the table
) AS {source}

-- roll_up_values_by_hour --
INSERT INTO {read}.{source}_rollup (company_id, tier, category, at, value, {names})
SELECT {source}.company_id, 'hour', by_category.category, date_bin('1 hour', {source}.created_at, 'epoch'), by_category.value,
    {sums}
FROM {each_day}
CROSS JOIN LATERAL (VALUES {hourly}) AS by_category (category, value)
GROUP BY 1, 2, 3, 4, 5
ORDER BY 3, 5, 4  -- a report reads the hours of one value: they lie together

-- roll_up_days_of_hours --
INSERT INTO {read}.{source}_rollup (company_id, tier, category, at, value, {names})
SELECT r.company_id, 'day', r.category, u.day, r.value, {sums_again}
FROM unnest($1::bigint[], $2::timestamptz[]) AS u (company_id, day)
CROSS JOIN LATERAL (
    SELECT * FROM {read}.{source}_rollup AS q
    WHERE q.company_id = u.company_id AND q.tier = 'hour' AND q.at >= u.day AND q.at < u.day + interval '24 hours'
    OFFSET 0
) AS r
GROUP BY 1, 2, 3, 4, 5

-- roll_up_days --
INSERT INTO {read}.{source}_rollup (company_id, tier, category, at, value, {names})
SELECT {source}.company_id, 'day', by_category.category, u.day, by_category.value, {sums}
FROM {each_day}
CROSS JOIN LATERAL (VALUES {daily}) AS by_category (category, value)
GROUP BY 1, 2, 3, 4, 5

-- roll_up_quarters --
INSERT INTO {read}.{source}_rollup (company_id, tier, category, at, value, {names})
SELECT {source}.company_id, 'quarter', 'all', date_bin('15 minutes', {source}.created_at, 'epoch'), NULL, {sums}
FROM {each_day}
GROUP BY 1, 2, 3, 4, 5

-- roll_up_hours --
INSERT INTO {read}.{source}_rollup (company_id, tier, category, at, value, {names})
SELECT r.company_id, 'hour', r.category, date_bin('1 hour', r.at, 'epoch'), NULL, {sums_again}
FROM unnest($1::bigint[], $2::timestamptz[]) AS u (company_id, day)
CROSS JOIN LATERAL (
    SELECT * FROM {read}.{source}_rollup AS q
    WHERE q.company_id = u.company_id AND q.tier = 'quarter' AND q.at >= u.day AND q.at < u.day + interval '24 hours'
    OFFSET 0
) AS r
GROUP BY 1, 2, 3, 4, 5

-- remember_days --
INSERT INTO {read}.rolled_spans (company_id, source, tier, start, rolled_at, is_stale)
SELECT u.company_id, $3, 'day', u.day, $4, false FROM unnest($1::bigint[], $2::timestamptz[]) AS u (company_id, day)
ON CONFLICT (source, company_id, tier, start) DO UPDATE SET rolled_at = excluded.rolled_at

-- outdate --
-- The months and years of days that were rolled up and have no marks any more: they are due at once.
INSERT INTO {read}.rolled_spans (company_id, source, tier, start, rolled_at, is_stale)
SELECT DISTINCT u.company_id, $3, '{tier}', date_trunc('{tier}', u.start, 'UTC'), timestamptz 'epoch', true
FROM unnest($1::bigint[], $2::timestamptz[]) AS u (company_id, start)
ON CONFLICT (source, company_id, tier, start) DO UPDATE SET is_stale = true

-- due --
-- Months or years that are stale, were not rolled up a moment ago, and whose parts are all valid.
SELECT r.company_id, r.source, r.start, ends.at AS until
FROM {read}.rolled_spans AS r
CROSS JOIN LATERAL (
    SELECT (r.start AT TIME ZONE 'UTC' + interval '1 {tier}') AT TIME ZONE 'UTC' AS at
) AS ends
WHERE r.tier = '{tier}' AND r.is_stale AND r.rolled_at <= $1
    AND NOT EXISTS (
        SELECT FROM {read}.stale_days AS s
        WHERE s.source = r.source AND s.company_id = r.company_id AND s.day >= r.start AND s.day < ends.at
    )
    AND NOT EXISTS (
        SELECT FROM {read}.rolled_spans AS part
        WHERE part.source = r.source AND part.company_id = r.company_id AND part.tier = '{part}'
            AND part.is_stale AND part.start >= r.start AND part.start < ends.at
    )
ORDER BY r.source, r.company_id, r.start
LIMIT $2

-- forget_span --
DELETE FROM {read}.{source}_rollup WHERE company_id = $1 AND tier = '{tier}' AND at = $2

-- roll_up_parts --
INSERT INTO {read}.{source}_rollup (company_id, tier, category, at, value, other, {names})
SELECT company_id, '{tier}', category, $2::timestamptz, value, other, {sums_again}
FROM {read}.{source}_rollup
WHERE company_id = $1 AND tier = '{part}' AND at >= $2 AND at < $3
GROUP BY 1, 2, 3, 4, 5, 6

-- roll_up_rows --
-- Categories with nearly as many values in a day as rows, by month.
INSERT INTO {read}.{source}_rollup (company_id, tier, category, at, value, {names})
SELECT {source}.company_id, '{tier}', '{category}', $2::timestamptz, ({value})::text, {sums}
FROM {read}.{source}{joins}
WHERE {source}.company_id = $1 AND {source}.deleted_at IS NULL AND {source}.created_at >= $2 AND {source}.created_at < $3
GROUP BY 1, 2, 3, 4, 5

-- rows_of_days --
SELECT coalesce(sum({source}_count), 0)::bigint FROM {read}.{source}_rollup
WHERE company_id = $1 AND category = 'all' AND tier = 'day' AND at >= $2 AND at < $3

-- roll_up_pairs --
-- All pairs in one scan. Two of `texts` are a group's own values: those that are not left out.
INSERT INTO {read}.{source}_rollup (company_id, tier, category, at, value, other, {names})
SELECT $1::bigint, '{tier}', pair.category, $2::timestamptz, texts[pair.first], texts[pair.second], {names}
FROM (
    SELECT ARRAY[{texts}] AS texts, GROUPING({all}) AS left_out, {named_sums}
    FROM (
        SELECT {values}, {source}.* FROM {read}.{source}
        WHERE company_id = $1 AND deleted_at IS NULL AND created_at >= $3 AND created_at < $4
    ) AS {source}
    GROUP BY GROUPING SETS ({sets})
) AS g
JOIN (VALUES {pairs}) AS pair (left_out, category, first, second) USING (left_out)

-- remember_span --
UPDATE {read}.rolled_spans SET is_stale = false, rolled_at = $4
WHERE source = $3 AND company_id = $1 AND tier = '{tier}' AND start = $2
