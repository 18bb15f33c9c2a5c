-- Which gateways serve which channels?

-- renew --
INSERT INTO {work}.gateways (process, channel, provider, renewed_at, circuits)
SELECT $1, served.channel, served.provider, clock_timestamp(), served.circuits::jsonb
  FROM unnest($2::text[], $3::text[], $4::text[]) AS served (channel, provider, circuits)
    ON CONFLICT (process, channel) DO UPDATE
   SET provider = excluded.provider, renewed_at = excluded.renewed_at, circuits = excluded.circuits, stopped_at = NULL;

-- time --
SELECT clock_timestamp();

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
