-- hold --
-- Renew one's own leases, and take those that nobody holds any more, up to a number of both. In the order of their ids, so
-- that two that ask at once do not wait for each other. A lease without a row is another process's, or one too many.
INSERT INTO {work}.stream_leases AS held (provider_configuration_id, holder, held_until)
SELECT free.id, $2, clock_timestamp() + $3 * interval '1 second'
  FROM (SELECT asked.id
          FROM unnest($1::bigint[]) AS asked (id)
          LEFT JOIN {work}.stream_leases AS known ON known.provider_configuration_id = asked.id
         WHERE known.holder IS NULL OR known.holder = $2 OR known.held_until < clock_timestamp()
         ORDER BY known.holder IS NOT DISTINCT FROM $2 DESC, asked.id
         LIMIT $4) AS free
 ORDER BY free.id
    ON CONFLICT (provider_configuration_id) DO UPDATE
   SET holder = excluded.holder, held_until = excluded.held_until
 WHERE held.holder = excluded.holder OR held.held_until < clock_timestamp()
RETURNING provider_configuration_id;

-- release --
DELETE FROM {work}.stream_leases WHERE provider_configuration_id = $1 AND holder = $2;
