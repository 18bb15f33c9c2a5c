"""How far is the projection, is it of this release, and what does it hold? Read-only."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from adapters.postgres import migrate
from adapters.postgres.pool import Pool
from adapters.postgres.sql import Schemas
from adapters.projector.catch_up import TOPICS, TopicPartition, list_partitions
from adapters.projector.checksums import TableChecksum, combine_checksums, read_checksums
from adapters.projector.postgres import PostgresStore
from adapters.projector.store import PartitionPosition
from engine.partition.ports import Clock, Log, Reader
from engine.partition.runner import TopicNames
from schemas.instant import Instant

LAG_READ_MAX = 10_000
"""Decisions that are read to count the lag exactly: about a second."""

POLL_SECONDS = 0.5
STALLS_MAX = 4

_POSITIONS = "SELECT topic, partition, next_offset FROM {read}.positions"
_SHADOW = "SELECT to_regnamespace('{read}_rebuild') IS NOT NULL"


class PartitionStatus(Struct, frozen=True, kw_only=True):
    """How far a partition is: at `next_offset` of `end`, `lag` decisions behind; `epoch` counts its owners.

    `checksum` is of all its rows at `next_offset`; null if checksums were not requested. `is_current` is false if the topic
    was created again since: rebuild the projection.
    """

    topic: str
    partition: int
    next_offset: int
    end: int
    lag: int
    sequence: int
    decided_at: Instant | None
    epoch: int
    is_current: bool
    checksum: str | None = None


class ProjectionStatus(Struct, frozen=True, kw_only=True):
    """The projection: its migration, missing migrations, and whether a rebuild is unfinished."""

    version: str | None
    missing: list[str]
    rebuild_begun: bool
    lag: int
    partitions: list[PartitionStatus]
    tables: list[TableChecksum]
    checksum: str | None


async def status_of(
    log: Log,
    pool: Pool,
    clock: Clock,
    dsn: str,
    *,
    names: TopicNames = TopicNames(),  # noqa: B008 - frozen
    schemas: Schemas = Schemas(),  # noqa: B008 - frozen
    with_checksums: bool = True,
    progress: Callable[[str], None] = lambda _: None,
) -> ProjectionStatus:
    """Read the whole status. Raises `LogError`, `StoreError`, `MigrationError`."""
    files = [file for file in await migrate.status(dsn, schemas=schemas) if file.schema == "read"]
    applied = [file.name for file in files if file.applied]
    missing = [file.name for file in files if not file.applied]
    if not applied:
        return ProjectionStatus(
            version=None, missing=missing, rebuild_begun=False, lag=0, partitions=[], tables=[], checksum=None
        )
    found, at = await _summed(pool, schemas, clock.now(), progress) if with_checksums else (None, {})
    partitions = await _partitions(log, PostgresStore(pool, schemas=schemas), names, at, found)
    async with pool.acquire() as connection:
        begun = await connection.fetchval(_SHADOW.replace("{read}", schemas.read))
    return ProjectionStatus(
        version=applied[-1],
        missing=missing,
        rebuild_begun=begun,
        lag=sum(partition.lag for partition in partitions),
        partitions=partitions,
        tables=found or [],
        checksum=None if found is None else combine_checksums(found),
    )


async def _partitions(
    log: Log,
    store: PostgresStore,
    names: TopicNames,
    at: Mapping[TopicPartition, int],
    found: Sequence[TableChecksum] | None,
) -> list[PartitionStatus]:
    """Return the status of each partition; with checksums, at the positions that they belong to (`at`)."""
    places = await list_partitions(log, names)
    ids = {topic: await log.topic_id(names.of(topic)) for topic, _ in places}
    positions = {(one.topic, one.partition): one for one in await store.positions()}
    offsets = {
        place: at.get(place, positions[place].next_offset) for place in places if _is_current(positions.get(place), ids)
    }
    lags = await _lags(log, names, places, offsets)
    return [
        _partition(
            place,
            positions.get(place),
            lags[place],
            is_current=place not in positions or _is_current(positions[place], ids),
            checksum=None if found is None else _checksum(found, place),
        )
        for place in places
    ]


async def _summed(
    pool: Pool, schemas: Schemas, now: Instant, progress: Callable[[str], None]
) -> tuple[list[TableChecksum], dict[TopicPartition, int]]:
    """Return the checksums and the positions that they belong to."""
    async with pool.acquire() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
        rows = await connection.fetch(_POSITIONS.replace("{read}", schemas.read))
        found = await read_checksums(connection, schemas.read, now=now, progress=progress)
    return found, {(row["topic"], row["partition"]): row["next_offset"] for row in rows}


def _is_current(position: PartitionPosition | None, ids: Mapping[str, str]) -> bool:
    return position is not None and position.topic_id == ids[position.topic]


async def _lags(
    log: Log, names: TopicNames, places: Sequence[TopicPartition], offsets: Mapping[TopicPartition, int]
) -> dict[TopicPartition, "_Lag"]:
    """Return the lag in decisions: exact up to `LAG_READ_MAX`; beyond that offsets are counted."""
    found: dict[TopicPartition, _Lag] = {}
    for topic in TOPICS:
        numbers = [number for name, number in places if name == topic]
        reader = await log.reader(names.of(topic), numbers)
        try:
            ends = {number: await reader.end(number) for number in numbers}
            for number in numbers:
                await reader.seek(number, min(offsets.get((topic, number), 0), ends[number]))
            counts = await _count(reader, ends)
            for number, end in ends.items():
                lag = counts[number] + max(0, end - reader.position(number))
                found[topic, number] = _Lag(offsets.get((topic, number), 0), end, lag)
        finally:
            await reader.close()
    return found


async def _count(reader: Reader, ends: Mapping[int, int]) -> Counter[int]:
    """Count decisions up to the ends; other offsets hold control records, which do not count as lag."""
    counts: Counter[int] = Counter()
    stalls = 0
    while any(reader.position(number) < end for number, end in ends.items()):
        records = await reader.poll(limit=LAG_READ_MAX, timeout_seconds=POLL_SECONDS)
        counts.update(record.partition for record in records if record.offset < ends[record.partition])
        stalls = 0 if records else stalls + 1
        if counts.total() >= LAG_READ_MAX or stalls > STALLS_MAX:
            break
    return counts


class _Lag(Struct, frozen=True):
    offset: int
    end: int
    lag: int


def _partition(
    place: TopicPartition, position: PartitionPosition | None, lag: _Lag, *, is_current: bool, checksum: str | None
) -> PartitionStatus:
    return PartitionStatus(
        topic=place[0],
        partition=place[1],
        next_offset=lag.offset,
        end=lag.end,
        lag=lag.lag,
        sequence=0 if position is None else position.sequence,
        decided_at=None if position is None else position.decided_at,
        epoch=0 if position is None else position.epoch,
        is_current=is_current,
        checksum=checksum,
    )


def _checksum(found: Sequence[TableChecksum], place: TopicPartition) -> str:
    return combine_checksums([one for one in found if one.place == f"{place[0]}[{place[1]}]"])
