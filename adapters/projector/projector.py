"""How does the projection follow the log? Take the partitions, read on from their positions, write batch by batch.

The database knows how far it is: a reader is set to the position that `take` returned, never to a group
offset. While one batch of a partition is being written, what is read meanwhile becomes the next one, so batches grow with
the load. While the database is away the same records are retried, with backoff, without a limit.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct

from adapters.errors import StoreError
from adapters.projector.batch import ProjectionBatch
from adapters.projector.partition_writer import PartitionWriter
from adapters.projector.store import (
    OwnedPartition,
    OwnershipLostError,
    PositionMovedError,
    ProjectionStore,
    TopicChangedError,
)
from engine.identity import ContactIds
from engine.partition.continuity import check_read
from engine.partition.ports import Clock, Log, LogError, LogRecord, Reader
from engine.partition.runner import TopicNames
from schemas.topics import ACCOUNTS_DECISIONS, CONTACTS_DECISIONS, IMPRESSIONS

ReportFault = Callable[[str, int, int, str], None]
"""Called for each decision, or value in one, that cannot be projected: topic, partition, offset, reason."""


class ProjectorLimits(Struct, frozen=True, kw_only=True):
    """The bounds of a projector."""

    records_max: int = 2_000
    """Decisions per poll and per batch: about 100 ms of work, so that a request under load still sees its result soon."""
    buffered_max: int = 10_000
    """Decisions of a topic that are read and not written; at this many, reading pauses (backpressure). About 20 MB."""
    poll_seconds: float = 0.5
    retry_seconds_min: float = 0.1
    retry_seconds_max: float = 5.0
    writers_max: int = 4
    """Partitions written at the same time."""
    lag_gap_seconds: float = 2.0
    """Between two reads of a partition's end offset."""
    retake_after_seconds: float = 5.0
    """Take a lost partition again if it is still assigned here after this long: the other owner may have been a former
    one that had not heard of the new assignment."""


class Health(Struct, frozen=True):
    """Whether rows are being written; if not, `reason` says what the projector waits for."""

    ready: bool
    reason: str | None = None


class _AssignedPartition(PartitionWriter):
    """An assigned partition: `pending` holds records that are read and not written, `end` the end offset read last."""

    def __init__(
        self,
        topic: str,
        number: int,
        owned: OwnedPartition,
        contact_ids: ContactIds,
        written: Callable[[ProjectionBatch, int], None],
    ) -> None:
        super().__init__(topic, number, owned, contact_ids, written)
        self.end = self.offset
        self.pending: deque[LogRecord] = deque()
        self.writing: asyncio.Task[None] | None = None


class _Feed:
    """One topic: its reader and the partitions that are owned."""

    def __init__(self, name: str, deployed: str) -> None:
        self.name = name
        self.deployed = deployed
        self.reader: Reader | None = None
        self.partitions: dict[int, _AssignedPartition] = {}
        self.wanted: tuple[int, ...] = ()
        self.stale = False
        self.end_read_at = float("-inf")
        self.lost_since: float | None = None
        self.problem: str | None = "not started"
        self.capacity_freed = asyncio.Event()

    @property
    def buffered(self) -> int:
        """Count the decisions that are read and not written."""
        return sum(len(partition.pending) for partition in self.partitions.values())


DECISION_TOPICS = (CONTACTS_DECISIONS.name, ACCOUNTS_DECISIONS.name)

IMPRESSION_LIMITS = ProjectorLimits(records_max=500, buffered_max=5_000, writers_max=1)
"""Impressions take one connection at a time, for some 20 ms: what is decided never waits long behind a flood of them."""


class Projector:
    """Projects the decisions of contacts and accounts, or other `topics`.

    `assign` partitions, then `run`, or `run_once` step by step.
    `lost` names partitions that another owner took while they were assigned here; `run` takes them again after a while.
    """

    def __init__(
        self,
        log: Log,
        store: ProjectionStore,
        clock: Clock,
        *,
        contact_ids: ContactIds,
        topics: Sequence[str] = DECISION_TOPICS,
        names: TopicNames = TopicNames(),  # noqa: B008 - frozen
        limits: ProjectorLimits = ProjectorLimits(),  # noqa: B008 - frozen
        jitter: Callable[[], float] = random.random,
        skip: ReportFault = lambda _topic, _partition, _offset, _reason: None,
        describe: Callable[[Exception], str] = str,
    ) -> None:
        """`describe` turns an error of the log or the database into a sentence that says what to do."""
        self._log = log
        self._store = store
        self._clock = clock
        self._contact_ids = contact_ids
        self._limits = limits
        self._jitter = jitter
        self._skip = skip
        self._describe = describe
        self._feeds = tuple(_Feed(name, names.of(name)) for name in topics)
        self._writers = asyncio.Semaphore(limits.writers_max)
        self.rows_written = 0
        self.decisions_written = 0
        self.faults = 0
        self.gaps = 0
        self.lost: set[tuple[str, int]] = set()

    @property
    def health(self) -> Health:
        """Return whether all topics are being projected."""
        reasons = [f"{topic}: {problem}" for topic, problem in self.problems().items()]
        return Health(not reasons, "; ".join(reasons) or None)

    def problems(self) -> dict[str, str]:
        """Return why partitions are not being projected: topic, or topic[partition] -> sentence."""
        found = {}
        for feed in self._feeds:
            waiting = [number for number in feed.wanted if feed.stale or number not in feed.partitions]
            if feed.problem is not None:
                found[feed.name] = feed.problem
            else:
                found |= {f"{feed.name}[{number}]": "its position is being looked up" for number in waiting}
        return found

    @property
    def lag(self) -> dict[tuple[str, int], int]:
        """Return how many offsets each owned partition is behind the end that was read last."""
        return {
            (feed.name, partition.number): max(0, partition.end - partition.offset) for feed, partition in self._assigned()
        }

    @property
    def positions(self) -> dict[tuple[str, int], int]:
        """Return the next offset of each owned partition."""
        return {(feed.name, partition.number): partition.offset for feed, partition in self._assigned()}

    def assign(self, partitions: Sequence[int]) -> None:
        """Set the partitions of all topics to project from now on; the next step takes them and releases the others."""
        for feed in self._feeds:
            feed.wanted = tuple(sorted(partitions))
            feed.stale = True
            feed.lost_since = None
        self.lost.clear()

    async def run_once(self, timeout_seconds: float = 0.0) -> int:
        """Read once and write what was read; return the number of decisions written.

        Raises `StoreError`, `LogError`, `TopicChangedError`; what was read and not written is written by the next call.
        """
        before = self.decisions_written
        for feed in self._feeds:
            await self._read(feed, timeout_seconds)
            outcomes = await asyncio.gather(
                *(self._write_all(feed, partition) for partition in list(feed.partitions.values())), return_exceptions=True
            )
            for outcome in outcomes:
                if outcome is not None:
                    raise outcome
        return self.decisions_written - before

    async def run(self, stop: asyncio.Event) -> None:
        """Project until `stop` is set. Retry when the log or the database fails."""
        tasks = [asyncio.create_task(self._follow(feed, stop), name=f"project {feed.name}") for feed in self._feeds]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def close(self) -> None:
        """Release readers and the store; `run` must have ended. Never raises."""
        for feed in self._feeds:
            await self._release(feed)
        await self._store.close()

    # -- owning --------------------------------------------------------------------------------------------------------

    def _assigned(self) -> list[tuple[_Feed, _AssignedPartition]]:
        return [(feed, partition) for feed in self._feeds for partition in feed.partitions.values()]

    async def _take(self, feed: _Feed) -> None:
        """Take the wanted partitions; records that were read and not written are read again."""
        feed.stale = False
        try:
            await self._release(feed)
            await self._own(feed, feed.wanted)
        except BaseException:
            feed.stale = True
            raise

    async def _own(self, feed: _Feed, partitions: Sequence[int]) -> None:
        if not partitions:
            return
        topic_id = await self._log.topic_id(feed.deployed)
        feed.reader = await self._log.reader(feed.deployed, partitions)
        for number in partitions:
            owned = await self._store.take(feed.name, topic_id, number)
            last = owned.next_offset - 1, owned.last_digest
            await check_read(feed.reader, feed.deployed, number, offset=owned.next_offset, last=last)
            feed.partitions[number] = _AssignedPartition(feed.name, number, owned, self._contact_ids, self._written)
        for number, partition in feed.partitions.items():  # to compare one has moved the others on
            await feed.reader.seek(number, partition.offset)

    async def _release(self, feed: _Feed) -> None:
        writing = [partition.writing for partition in feed.partitions.values() if partition.writing is not None]
        for task in writing:
            task.cancel()
        await asyncio.gather(*writing, return_exceptions=True)
        reader, feed.reader = feed.reader, None
        feed.partitions.clear()
        feed.end_read_at = float("-inf")
        if reader is not None:
            await reader.close()

    def _lose(self, feed: _Feed, partition: _AssignedPartition) -> None:
        """Stop writing a partition that another process took; `lost` names it."""
        partition.pending.clear()
        feed.partitions.pop(partition.number, None)
        self.lost.add((feed.name, partition.number))
        feed.lost_since = self._clock.monotonic()

    def _retake_lost(self, feed: _Feed) -> None:
        """After `retake_after_seconds`, let the next step take lost partitions again: perhaps no other process has them."""
        if feed.lost_since is None or self._clock.monotonic() - feed.lost_since < self._limits.retake_after_seconds:
            return
        feed.lost_since = None
        self.lost = {(name, number) for name, number in self.lost if name != feed.name}
        feed.stale = True

    # -- reading -------------------------------------------------------------------------------------------------------

    async def _follow(self, feed: _Feed, stop: asyncio.Event) -> None:
        delay = self._limits.retry_seconds_min
        while not stop.is_set():
            try:
                await self._read(feed, self._limits.poll_seconds)
            except (StoreError, LogError, TopicChangedError) as error:
                feed.problem = self._describe(error)
                feed.stale = True  # do not trust a reader that failed
                await self._pause(delay, stop)
                delay = min(2 * delay, self._limits.retry_seconds_max)
                continue
            delay = self._limits.retry_seconds_min
            self._retake_lost(feed)
            self._start_writing(feed, stop)
            await self._wait_for_capacity(feed, stop)
        await self._finish(feed)

    async def _read(self, feed: _Feed, timeout_seconds: float) -> None:
        """Poll once and hand the records to their partitions."""
        if feed.stale:
            await self._take(feed)
        if feed.reader is None:
            feed.problem = self._describe_lost(feed)
            await self._clock.sleep(timeout_seconds)
            return
        for record in await feed.reader.poll(limit=self._limits.records_max, timeout_seconds=timeout_seconds):
            partition = feed.partitions.get(record.partition)
            if partition is not None:
                partition.pending.append(record)
        if not any(partition.pending for partition in feed.partitions.values()):
            feed.problem = self._describe_lost(feed)
        await self._read_ends(feed, feed.reader)

    def _start_writing(self, feed: _Feed, stop: asyncio.Event) -> None:
        """Start a writer for each partition with pending records; a bug in one of them ends the projector."""
        for partition in list(feed.partitions.values()):
            if partition.writing is not None and partition.writing.done():
                partition.writing.result()
                partition.writing = None
            if partition.pending and partition.writing is None:
                partition.writing = asyncio.create_task(self._drain(feed, partition, stop), name=f"write {feed.name}")

    async def _wait_for_capacity(self, feed: _Feed, stop: asyncio.Event) -> None:
        """Wait while the buffer is full; writers set `capacity_freed` after each batch."""
        while feed.buffered >= self._limits.buffered_max and not stop.is_set() and not feed.stale:
            feed.capacity_freed.clear()
            await _first_of([asyncio.ensure_future(feed.capacity_freed.wait()), asyncio.ensure_future(stop.wait())])
            self._start_writing(feed, stop)

    async def _finish(self, feed: _Feed) -> None:
        """Wait for the batches that are being written."""
        writing = [partition.writing for partition in feed.partitions.values() if partition.writing is not None]
        await asyncio.gather(*writing)

    async def _pause(self, seconds: float, stop: asyncio.Event) -> None:
        spread = seconds * (0.5 + self._jitter() / 2)  # many processes must not retry at the same moment
        await _first_of([asyncio.ensure_future(self._clock.sleep(spread)), asyncio.ensure_future(stop.wait())])

    def _describe_lost(self, feed: _Feed) -> str | None:
        numbers = sorted(number for name, number in self.lost if name == feed.name)
        return f"another owner took {numbers}" if numbers else None

    async def _read_ends(self, feed: _Feed, reader: Reader) -> None:
        """Read the end offsets every `lag_gap_seconds`, for the lag that is reported."""
        if self._clock.monotonic() - feed.end_read_at < self._limits.lag_gap_seconds:
            return
        feed.end_read_at = self._clock.monotonic()
        for partition in list(feed.partitions.values()):
            end = await reader.end(partition.number)
            read_all = not partition.pending and reader.position(partition.number) >= end
            partition.end = partition.offset if read_all else end  # what lies between are control records

    # -- writing -------------------------------------------------------------------------------------------------------

    async def _drain(self, feed: _Feed, partition: _AssignedPartition, stop: asyncio.Event) -> None:
        """Write a partition until nothing is pending. Retry when the database fails; after `stop`, finish the batch only."""
        try:
            await self._drain_partition(feed, partition, stop)
        finally:
            feed.capacity_freed.set()

    async def _drain_partition(self, feed: _Feed, partition: _AssignedPartition, stop: asyncio.Event) -> None:
        delay = self._limits.retry_seconds_min
        while partition.pending and not stop.is_set():
            try:
                await self._write_next(feed, partition)
            except StoreError as error:
                feed.problem = self._describe(error)
                await self._pause(delay, stop)
                delay = min(2 * delay, self._limits.retry_seconds_max)
            else:
                delay = self._limits.retry_seconds_min
                feed.problem = self._describe_lost(feed)
                feed.capacity_freed.set()

    async def _write_all(self, feed: _Feed, partition: _AssignedPartition) -> None:
        while partition.pending:
            await self._write_next(feed, partition)
        feed.problem = self._describe_lost(feed)

    async def _write_next(self, feed: _Feed, partition: _AssignedPartition) -> None:
        """Write the next batch of a partition; its records stay pending until it is written."""
        async with self._writers:
            records = list(islice(partition.pending, self._limits.records_max))
            try:
                await partition.write(self._store, records)
            except OwnershipLostError:
                self._lose(feed, partition)
                return
            except PositionMovedError:
                partition.pending.clear()
                feed.stale = True
                return
            for _ in records:
                partition.pending.popleft()
        if feed.name != IMPRESSIONS.name:  # no request waits for an impression
            await self._store.announce()

    def _written(self, batch: ProjectionBatch, decisions: int) -> None:
        self.gaps += batch.gaps
        self.faults += len(batch.faults)
        for topic, partition, offset, _sequence, reason in batch.faults:
            self._skip(topic, partition, offset, reason)
        self.rows_written += batch.rows_count
        self.decisions_written += decisions


async def _first_of(waiting: Sequence["asyncio.Future[Any]"]) -> None:
    """Wait for the first to finish and cancel the others."""
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for future in waiting:
            future.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
