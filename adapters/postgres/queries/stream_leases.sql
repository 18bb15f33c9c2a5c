-- hold --
-- Take a lease that nobody holds any more, or renew one's own. No row: another process holds it.
INSERT INTO {work}.stream_leases AS held (provider_configuration_id, holder, held_until)
VALUES ($1, $2, clock_timestamp() + $3 * interval '1 second')
    ON CONFLICT (provider_configuration_id) DO UPDATE
   SET holder = excluded.holder, held_until = excluded.held_until
 WHERE held.holder = excluded.holder OR held.held_until < clock_timestamp()
RETURNING true;

-- release --
DELETE FROM {work}.stream_leases WHERE provider_configuration_id = $1 AND holder = $2;
