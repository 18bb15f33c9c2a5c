-- Which circuits are open or half-open, of the gateways that were alive within $1 seconds? $2 rows at most.
--
-- Each row says how many circuits there are in all: those that gateways left out of their reports, and those of the reports.
-- Where there is no circuit, one row says so.

-- of_all --
WITH live AS (
    SELECT process, channel, renewed_at, circuits
      FROM {work}.gateways
     WHERE circuits IS NOT NULL AND stopped_at IS NULL AND renewed_at > clock_timestamp() - $1 * interval '1 second'
), found AS (
    SELECT live.process, live.channel, one.company_id, one.endpoint, one.failures, one.waiting,
           live.renewed_at - one.open_seconds * interval '1 second' AS opened_at,
           live.renewed_at + one.probe_in_seconds * interval '1 second' AS half_open_at,
           live.renewed_at AS reported_at
      FROM live CROSS JOIN LATERAL jsonb_to_recordset(live.circuits -> 'circuits') AS one (
              company_id bigint, endpoint text, failures integer, open_seconds float8, probe_in_seconds float8, waiting integer
          )
)
SELECT (SELECT coalesce(sum((circuits ->> 'left_out')::bigint), 0) FROM live)::bigint AS unreported_count,
       count(found.endpoint) OVER () AS reported_count,
       found.channel, found.company_id, found.endpoint,
       CASE WHEN found.half_open_at > clock_timestamp() THEN 'open' ELSE 'half_open' END AS state,
       found.failures AS failure_count, found.waiting AS waiting_count,
       found.opened_at, found.half_open_at, found.process, found.reported_at
  FROM (SELECT) AS always LEFT JOIN found ON true
 ORDER BY failure_count DESC, company_id, channel, endpoint, process
 LIMIT $2;

-- of_company --
-- Of company $3 alone. Gateways that spare the same endpoint are one row, with the last of their probes.
WITH live AS (
    SELECT process, channel, renewed_at, circuits
      FROM {work}.gateways
     WHERE circuits IS NOT NULL AND stopped_at IS NULL AND renewed_at > clock_timestamp() - $1 * interval '1 second'
), found AS (
    SELECT live.channel, one.endpoint,
           count(*) AS gateway_count, max(one.failures) AS failure_count, sum(one.waiting) AS waiting_count,
           min(live.renewed_at - one.open_seconds * interval '1 second') AS opened_at,
           max(live.renewed_at + one.probe_in_seconds * interval '1 second') AS half_open_at
      FROM live CROSS JOIN LATERAL jsonb_to_recordset(live.circuits -> 'circuits') AS one (
              company_id bigint, endpoint text, failures integer, open_seconds float8, probe_in_seconds float8, waiting integer
          )
     WHERE one.company_id = $3
     GROUP BY live.channel, one.endpoint
)
SELECT (SELECT coalesce(sum((circuits ->> 'left_out')::bigint), 0) FROM live)::bigint AS unreported_count,
       count(found.endpoint) OVER () AS reported_count,
       found.channel, found.endpoint,
       CASE WHEN found.half_open_at > clock_timestamp() THEN 'open' ELSE 'half_open' END AS state,
       found.failure_count, found.waiting_count, found.gateway_count, found.opened_at, found.half_open_at
  FROM (SELECT) AS always LEFT JOIN found ON true
 ORDER BY failure_count DESC, channel, endpoint
 LIMIT $2;
