-- Which gateways serve which channels?

-- renew --
INSERT INTO {work}.gateways (process, channel, provider, renewed_at, circuits, rules_read)
SELECT $1, served.channel, served.provider, clock_timestamp(), served.circuits::jsonb, $5
  FROM unnest($2::text[], $3::text[], $4::text[]) AS served (channel, provider, circuits)
    ON CONFLICT (process, channel) DO UPDATE
   SET provider = excluded.provider, renewed_at = excluded.renewed_at, circuits = excluded.circuits,
       rules_read = excluded.rules_read, stopped_at = NULL;

-- time --
SELECT clock_timestamp();

-- running --
SELECT process, array_agg(channel ORDER BY channel) AS channels, (array_agg(rules_read ORDER BY channel))[1] AS rules_read
  FROM {work}.gateways
 WHERE stopped_at IS NULL AND (renewed_at > clock_timestamp() - $1 * interval '1 second' OR process = ANY ($2::text[]))
 GROUP BY process
 ORDER BY process;

-- stop --
UPDATE {work}.gateways SET stopped_at = clock_timestamp() WHERE process = $1;

-- forget --
DELETE FROM {work}.gateways WHERE renewed_at < clock_timestamp() - $1 * interval '1 second';

-- served --
-- Which channels were served within $1 seconds, and by which providers: those of the gateways that were alive within $2
-- seconds, else the last one that there was.
WITH recent AS (
    SELECT channel, provider, renewed_at,
           stopped_at IS NULL AND renewed_at > clock_timestamp() - $2 * interval '1 second' AS is_live
      FROM {work}.gateways
     WHERE renewed_at > clock_timestamp() - $1 * interval '1 second'
)
SELECT channel,
       coalesce(
           array_agg(DISTINCT provider) FILTER (WHERE is_live),
           (array_agg(provider ORDER BY renewed_at DESC))[1:1]
       ) AS providers
  FROM recent
 GROUP BY channel;

-- held --
-- How many leads of a company (null: of all) wait for a hold, and how many have expired since an instant?
SELECT count(*) FILTER (WHERE status = 'waiting' AND status_wait = 'on_hold') AS waiting_count,
       count(*) FILTER (WHERE status = 'expired' AND schedule_ended_at >= $2) AS expired_count
  FROM {read}.leads
 WHERE ($1::bigint IS NULL OR company_id = $1)
   AND (status = 'expired' OR status_wait = 'on_hold');
