"""How old is what the database shows? As old as the first decision that the projector has not written yet.

The log says what was decided, the projection how far it is. Whether the projector runs is seen by a decision that still
waits at a later question.
"""

import asyncio
from typing import Protocol

import msgspec
from msgspec import Struct

from adapters.http.exchange.ports import Unshown
from adapters.projector.store import PartitionPosition
from engine.partition.ports import Clock, Log, LogRecord, Reader
from engine.partition.runner import TopicNames
from schemas.instant import Instant
from schemas.topics import ACCOUNTS_DECISIONS, CONTACTS_DECISIONS

DECISIONS = (CONTACTS_DECISIONS, ACCOUNTS_DECISIONS)

POLL_SECONDS = 0.2
POLLS_MAX = 10
"""So many polls find the first record of each partition; what they do not find is looked for by the next question."""

POLL_LIMIT = 100

STANDING_SECONDS = 8.0
"""A projector that runs writes a batch within a second, also under full load; a new owner begins within the session timeout
of the consumer group, six seconds at least."""

WAITING_SECONDS = 10.0
"""A decision that has waited for less, by the append time of the broker, is on its way."""

_Place = tuple[str, int, int]
"""Topic, partition and offset of a decision."""


class ProjectionPositions(Protocol):
    """How far the projection is.

    No contract suite: one adapter (`adapters.projector.postgres.PostgresStore`), which has more to do.
    """

    async def positions(self) -> list[PartitionPosition]:
        """Return the position of each partition. Raises `StoreError`."""
        ...


class _Dated(Struct):
    decided_at: Instant


class UnshownDecisions:
    """Compares the projection with the log; remembers since when it has seen a decision wait."""

    def __init__(self, log: Log, names: TopicNames, clock: Clock, store: ProjectionPositions) -> None:
        self._log = log
        self._names = names
        self._clock = clock
        self._store = store
        self._seen_since: dict[_Place, float] = {}

    async def first(self) -> Unshown | None:
        """Return the first decision that has waited for long; None where none has. Raises `LogError`, `StoreError`."""
        positions = await self._store.positions()
        found = await asyncio.gather(*(self._first_of(topic.name, positions) for topic in DECISIONS))
        waiting = [record for some in found for record in some]
        now = self._clock.monotonic()
        self._seen_since = {place: self._seen_since.get(place, now) for place in map(_place, waiting)}
        oldest = min(waiting, key=lambda record: record.appended_at, default=None)
        if oldest is None:
            return None
        seen_seconds = now - self._seen_since[_place(oldest)]
        if seen_seconds < STANDING_SECONDS and self._clock.wall() - oldest.appended_at < WAITING_SECONDS * 1_000:
            return None
        return Unshown(decided_at=_decided_at(oldest), is_standing=seen_seconds >= STANDING_SECONDS)

    async def _first_of(self, topic: str, positions: list[PartitionPosition]) -> list[LogRecord]:
        """Return the first decision of each partition that is not shown."""
        name = self._names.of(topic)
        numbers = range(await self._log.partition_count(name))
        shown = {one.partition: one.next_offset for one in positions if one.topic == topic}
        reader = await self._log.reader(name, numbers)
        try:
            ends = {number: await reader.end(number) for number in numbers}
            for number, end in ends.items():
                await reader.seek(number, min(shown.get(number, 0), end))
                await reader.end(number)  # asked behind a seek, it ends a poll as soon as it is reached
            return await _first_records(reader, ends)
        finally:
            await reader.close()


async def _first_records(reader: Reader, ends: dict[int, int]) -> list[LogRecord]:
    """Return the first record of each partition before its end; other offsets hold control records."""
    found: dict[int, LogRecord] = {}
    for _ in range(POLLS_MAX):
        if all(number in found or reader.position(number) >= end for number, end in ends.items()):
            break
        for record in await reader.poll(limit=POLL_LIMIT, timeout_seconds=POLL_SECONDS):
            if record.partition not in found and record.offset < ends[record.partition]:
                found[record.partition] = record
                await reader.seek(record.partition, ends[record.partition])
    return list(found.values())


def _place(record: LogRecord) -> _Place:
    return record.topic, record.partition, record.offset


def _decided_at(record: LogRecord) -> Instant:
    try:
        return msgspec.json.decode(record.value or b"", type=_Dated).decided_at
    except msgspec.DecodeError:  # which is why it is not shown
        return record.appended_at
