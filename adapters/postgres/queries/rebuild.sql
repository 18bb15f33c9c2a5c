-- How is a second projection built beside the read schema, and how does it replace it?
--
-- `{rebuild}` is the schema that is being built, `{former}` the one that was read before. The `work` schema is not touched.

-- take_lock --
-- Held until the connection ends: one process rebuilds at a time.
SELECT pg_try_advisory_lock($1)

-- note --
-- The note on the schema names the release and the topics that it was built from.
SELECT obj_description(to_regnamespace('{rebuild}')::oid, 'pg_namespace')

-- raise_epochs --
-- Fence former rebuilds: add the number of a transaction to the epoch; it is never used twice.
INSERT INTO {rebuild}.positions AS p (topic, partition, topic_id, epoch)
SELECT u.topic, u.partition, u.topic_id, pg_current_xact_id()::text::bigint
FROM unnest($1::text[], $2::integer[], $3::text[]) AS u (topic, partition, topic_id)
ON CONFLICT (topic, partition) DO UPDATE SET epoch = p.epoch + excluded.epoch

-- is_migrated --
SELECT to_regclass('{read}.migrations') IS NOT NULL

-- same_migrations --
-- Both must have the same tables: a migration may have run meanwhile.
SELECT NOT EXISTS (
    (SELECT number, checksum FROM {read}.migrations EXCEPT SELECT number, checksum FROM {rebuild}.migrations)
    UNION ALL
    (SELECT number, checksum FROM {rebuild}.migrations EXCEPT SELECT number, checksum FROM {read}.migrations)
)

-- may_swap --
-- Who renames a schema must own it, and may make schemas in the database.
SELECT pg_has_role(nspowner, 'USAGE') AND has_database_privilege(current_database(), 'CREATE')
FROM pg_namespace WHERE oid = to_regnamespace('{read}')

-- freeze --
-- Block writers of positions, and so of all rows; readers are not blocked.
LOCK TABLE {read}.positions IN SHARE ROW EXCLUSIVE MODE

-- freeze_rebuild --
LOCK TABLE {rebuild}.positions IN SHARE ROW EXCLUSIVE MODE

-- unequal_positions --
-- Partitions whose position differs between both schemas.
SELECT topic, partition
FROM {read}.positions AS r FULL JOIN {rebuild}.positions AS s USING (topic, partition)
WHERE coalesce(r.next_offset, 0) <> coalesce(s.next_offset, 0)
ORDER BY topic, partition

-- copy_epochs --
-- The running projector stays the owner, with the epoch that it took.
UPDATE {rebuild}.positions AS s SET epoch = r.epoch FROM {read}.positions AS r
WHERE r.topic = s.topic AND r.partition = s.partition AND r.topic_id = s.topic_id

-- swap --
ALTER SCHEMA {read} RENAME TO {former};
ALTER SCHEMA {rebuild} RENAME TO {read};

-- tables --
SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace('{rebuild}')::oid AND relkind IN ('r', 'p') ORDER BY relname

-- checksum --
-- The sum of the digests of all rows: equal rows give equal sums in any order.
SELECT {place} AS place, count(*) AS rows, coalesce(sum(hashtextextended(t::text, 0)::numeric), 0) AS digest
FROM (SELECT * FROM {schema}.{table} AS t {only}) AS t
GROUP BY 1 ORDER BY 1

-- differing --
SELECT concat_ws('/', {key}) AS key, a IS NULL AS is_extra, b IS NULL AS is_missing
FROM (SELECT * FROM {rebuild}.{table} AS t {only}) AS a
FULL JOIN (SELECT * FROM {read}.{table} AS t {only}) AS b USING ({key})
WHERE a::text IS DISTINCT FROM b::text
ORDER BY 1 LIMIT {examples}
