-- How does a second projection come to be, beside the one that is read, and take its place?
--
-- `{shadow}` is the schema that is being built, `{former}` the one that was read before. The `work` schema is not spoken of.

-- alone --
-- Held by the connection that asked, until it ends: whoever has it is the only one to rebuild.
SELECT pg_try_advisory_lock($1)

-- standing --
-- What is there of it: the note on the schema says which release and which topics it was built from.
SELECT obj_description(to_regnamespace('{shadow}')::oid, 'pg_namespace')

-- begin_epoch --
-- Whoever was building it is fenced: epochs go on from the number of a transaction, which never comes again.
INSERT INTO {shadow}.positions AS p (topic, partition, topic_id, epoch)
SELECT u.topic, u.partition, u.topic_id, pg_current_xact_id()::text::bigint
FROM unnest($1::text[], $2::integer[], $3::text[]) AS u (topic, partition, topic_id)
ON CONFLICT (topic, partition) DO UPDATE SET epoch = p.epoch + excluded.epoch

-- applied --
SELECT to_regclass('{read}.migrations') IS NOT NULL

-- same_files --
-- Both must have the same tables: a migration may have come in between.
SELECT NOT EXISTS (
    (SELECT number, checksum FROM {read}.migrations EXCEPT SELECT number, checksum FROM {shadow}.migrations)
    UNION ALL
    (SELECT number, checksum FROM {shadow}.migrations EXCEPT SELECT number, checksum FROM {read}.migrations)
)

-- freeze --
-- Positions stand still, and with them all that is written; whoever reads is not held up.
LOCK TABLE {read}.positions IN SHARE ROW EXCLUSIVE MODE

-- freeze_shadow --
LOCK TABLE {shadow}.positions IN SHARE ROW EXCLUSIVE MODE

-- apart --
-- Partitions that do not stand at the same decision in both.
SELECT topic, partition
FROM {read}.positions AS r FULL JOIN {shadow}.positions AS s USING (topic, partition)
WHERE coalesce(r.next_offset, 0) <> coalesce(s.next_offset, 0)
ORDER BY topic, partition

-- hand_over --
-- The running projector stays the owner: it goes on with the epoch that it took, as if nothing had happened.
UPDATE {shadow}.positions AS s SET epoch = r.epoch FROM {read}.positions AS r
WHERE r.topic = s.topic AND r.partition = s.partition AND r.topic_id = s.topic_id

-- swap --
ALTER SCHEMA {read} RENAME TO {former};
ALTER SCHEMA {shadow} RENAME TO {read};

-- tables --
SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace('{shadow}')::oid AND relkind IN ('r', 'p') ORDER BY relname

-- checksum --
-- The sum of the digests of all rows, which needs no order: the same rows, whoever wrote them and when, give the same.
SELECT {place} AS place, count(*) AS rows, coalesce(sum(hashtextextended(t::text, 0)::numeric), 0) AS digest
FROM {schema}.{table} AS t {only}
GROUP BY 1 ORDER BY 1

-- differing --
SELECT concat_ws('/', {key}) AS key, a IS NULL AS is_extra, b IS NULL AS is_missing
FROM (SELECT * FROM {shadow}.{table} AS t {only}) AS a FULL JOIN (SELECT * FROM {read}.{table} AS t {only}) AS b USING ({key})
WHERE a::text IS DISTINCT FROM b::text
ORDER BY 1 LIMIT {examples}
