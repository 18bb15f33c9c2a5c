-- How far is the projection? One row per partition of each decisions topic, moved on in the transaction of its rows.
--
-- `epoch` counts the owners: who moves a position names the epoch that it took, so an earlier owner moves nothing any more.
-- `topic_id` is the id that the broker gave the topic: offsets of a topic that was created again mean nothing here.
CREATE TABLE {read}.positions (
    topic        text        NOT NULL,
    partition    integer     NOT NULL,
    topic_id     text        NOT NULL,
    epoch        bigint      NOT NULL DEFAULT 1,
    next_offset  bigint      NOT NULL DEFAULT 0,
    sequence     bigint      NOT NULL DEFAULT 0,
    decided_at   timestamptz,
    PRIMARY KEY (topic, partition)
) WITH (fillfactor = 50);  -- updated with every batch: room for the new version on the same page

-- Decisions that could not be shown, and why: the partition went on without them.
CREATE TABLE {read}.faults (
    topic      text        NOT NULL,
    partition  integer     NOT NULL,
    "offset"   bigint      NOT NULL,
    sequence   bigint,
    error      text        NOT NULL,
    PRIMARY KEY (topic, partition, "offset")
);
