"""How is each partition projected up to a given offset, and no further?"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

from msgspec import Struct

from adapters.errors import StoreError
from adapters.projector.batch import ProjectionBatch
from adapters.projector.partition_writer import PartitionWriter
from adapters.projector.rebuild_schema import RebuildError
from adapters.projector.store import OwnershipLostError, PositionMovedError, ProjectionStore, TopicChangedError
from engine.identity import ContactIds
from engine.partition.continuity import check_read
from engine.partition.ports import Log, LogError, Reader
from engine.partition.runner import TopicNames
from schemas.topics import ACCOUNTS_DECISIONS, CONTACTS_DECISIONS, IMPRESSIONS

T = TypeVar("T")

TOPICS = (CONTACTS_DECISIONS.name, ACCOUNTS_DECISIONS.name, IMPRESSIONS.name)
"""What the projection is made from."""

TopicPartition = tuple[str, int]
"""A topic, without prefix, and a partition."""


class RebuildLimits(Struct, frozen=True, kw_only=True):
    """The bounds of a rebuild."""

    records_max: int = 2_000
    """Decisions per poll and batch, as in `ProjectorLimits`."""
    writers_max: int = 4
    """Partitions that are read and written at the same time."""
    poll_seconds: float = 1.0
    stalls_max: int = 30
    """Empty polls in a row, after which the rebuild fails."""
    near_offsets: int = 2_000
    """Offsets left over all partitions at which the freeze begins: about a tenth of a second of work."""
    rounds_max: int = 20
    """Rounds of catching up before a freeze; each is shorter than the one before."""
    freeze_seconds: float = 10.0
    """How long the projectors are blocked at most; their own statements time out after 30 s."""
    freezes_max: int = 5
    retries_max: int = 8
    retry_seconds: float = 0.5
    roll_up_seconds: float = 300.0
    """For rollups; the projectors make the rest after the swap."""
    rest_share: float = 0.0
    """Rest after each batch for so many times as long as it took, one batch at a time; not while the projectors wait."""


class BoundedProjector:
    """Projects into a store, from its positions up to a bound in each partition."""

    def __init__(
        self,
        log: Log,
        store: ProjectionStore,
        *,
        contact_ids: ContactIds,
        names: TopicNames,
        limits: RebuildLimits,
        progress: Callable[[int, int], None],
    ) -> None:
        self._log = log
        self._store = store
        self._names = names
        self._limits = limits
        self._progress = progress
        self._contact_ids = contact_ids
        self._partition_writers: dict[TopicPartition, PartitionWriter] = {}
        self._writers = asyncio.Semaphore(limits.writers_max)
        self._turn = asyncio.Lock()
        self._rests = False
        self.decisions = 0
        self.rows = 0
        self.gaps = 0
        self.faults = 0

    async def project_to(self, bounds: Mapping[TopicPartition, int], *, rests: bool = True) -> None:
        """Project every partition up to its bound, without rests where somebody waits. Raises `RebuildError`, `LogError`."""
        total = sum(bounds.values())
        self._rests = rests and self._limits.rest_share > 0
        try:
            async with asyncio.TaskGroup() as group:
                for place, bound in bounds.items():
                    group.create_task(self._project_partition(place, bound, total))
        except ExceptionGroup as error:
            raise error.exceptions[0] from error

    def count_remaining(self, bounds: Mapping[TopicPartition, int]) -> int:
        """Count the offsets that are left; every partition must have been projected once."""
        return sum(max(0, bound - self._partition_writers[place].offset) for place, bound in bounds.items())

    def forget_positions(self) -> None:
        """Take every partition again before the next decision: a write that was cancelled may have been committed."""
        self._partition_writers.clear()

    async def _project_partition(self, place: TopicPartition, bound: int, total: int) -> None:
        async with self._writers:
            writer = self._partition_writers.get(place)
            if writer is None:
                writer = self._partition_writers[place] = await retry_store(partial(self._take, place), self._limits)
            if writer.offset >= bound:
                return
            reader = await self._log.reader(self._names.of(place[0]), [place[1]])
            try:
                last = writer.offset - 1, writer.last_digest
                await check_read(reader, self._names.of(place[0]), place[1], offset=writer.offset, last=last)
                await self._read_to(reader, writer, bound, total)
            finally:
                await reader.close()

    async def _read_to(self, reader: Reader, writer: PartitionWriter, bound: int, total: int) -> None:
        stalls = 0
        while writer.offset < bound and reader.position(writer.number) < bound:
            found = await reader.poll(limit=self._limits.records_max, timeout_seconds=self._limits.poll_seconds)
            stalls = 0 if found else stalls + 1
            if stalls > self._limits.stalls_max:
                raise LogError(f"{writer.topic}[{writer.number}] cannot be read to {bound}; it is at {writer.offset}")
            records = [record for record in found if record.offset < bound]
            async with self._pace():
                await retry_store(partial(writer.write, self._store, records), self._limits)
            self._progress(sum(one.offset for one in self._partition_writers.values()), total)
        if writer.offset < bound:
            await retry_store(partial(writer.skip, self._store, bound), self._limits)

    @asynccontextmanager
    async def _pace(self) -> AsyncIterator[None]:
        """Let one batch be written at a time, with a rest after it, where this process has other work."""
        if not self._rests:
            yield
            return
        async with self._turn:
            began = time.monotonic()
            yield
            await asyncio.sleep(self._limits.rest_share * (time.monotonic() - began))

    async def _take(self, place: TopicPartition) -> PartitionWriter:
        topic, number = place
        topic_id = await self._log.topic_id(self._names.of(topic))
        owned = await self._store.take(topic, topic_id, number)
        return PartitionWriter(topic, number, owned, self._contact_ids, self._written)

    def _written(self, batch: ProjectionBatch, decisions: int) -> None:
        self.decisions += decisions
        self.rows += batch.rows_count
        self.gaps += batch.gaps
        self.faults += len(batch.faults)


async def retry_store(work: Callable[[], Awaitable[T]], limits: RebuildLimits) -> T:
    """Call; retry when the database fails. Raises `RebuildError`."""
    for left in reversed(range(limits.retries_max)):
        try:
            return await work()
        except StoreError as error:
            if not left:
                raise RebuildError(f"{error}; run it again, it goes on from there") from error
            await asyncio.sleep(limits.retry_seconds)
        except (OwnershipLostError, PositionMovedError, TopicChangedError) as error:
            raise RebuildError(f"another process works on the same rebuild: {error}") from error
    raise AssertionError("unreachable")


async def read_end_offsets(log: Log, names: TopicNames, places: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
    """Return the present end of every partition. Raises `LogError`."""
    ends: dict[TopicPartition, int] = {}
    for topic in TOPICS:
        numbers = [number for name, number in places if name == topic]
        reader = await log.reader(names.of(topic), numbers)
        try:
            ends |= {(topic, number): await reader.end(number) for number in numbers}
        finally:
            await reader.close()
    return ends


async def list_partitions(log: Log, names: TopicNames) -> list[TopicPartition]:
    """Return every partition of the topics. Raises `LogError`."""
    return [(topic, number) for topic in TOPICS for number in range(await log.partition_count(names.of(topic)))]
