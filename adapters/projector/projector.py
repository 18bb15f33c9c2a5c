"""How does the projection follow the log? Take the partitions, read on from their positions, write batch by batch.

The database owns the truth about how far it is: a reader is set to the position that `take` returned, never to a group
offset. Where the database is away the same batch is tried again, for as long as it takes; nothing is read on meanwhile.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import attrgetter

from msgspec import Struct

from adapters.projector.batch import Batch, Mark, batch_of, fault
from adapters.projector.store import (
    OwnershipLostError,
    PositionMovedError,
    ProjectionStore,
    RowsRefusedError,
    StoreError,
    TopicChangedError,
)
from engine.partition.ports import Clock, Log, LogError, Reader, Record
from engine.partition.runner import Names
from schemas.topics import ACCOUNTS_DECISIONS, CONTACTS_DECISIONS


class Limits(Struct, frozen=True, kw_only=True):
    """The bounds of a projector."""

    records_max: int = 2_000
    """Decisions per poll: about 100 ms of work, so that a request under load still sees its result soon."""
    poll_seconds: float = 0.5
    retry_seconds_min: float = 0.1
    retry_seconds_max: float = 5.0
    writers_max: int = 4
    """Partitions written at the same time."""
    lag_gap_seconds: float = 2.0
    """Between two looks at the end of a partition."""


class Health(Struct, frozen=True):
    """Whether rows are being written; `reason` says what it waits for where they are not."""

    ready: bool
    reason: str | None = None


class _Partition(Struct):
    """A partition as its owner knows it: `offset` is the next one to write."""

    number: int
    epoch: int
    offset: int
    sequence: int
    end: int = 0
    gaps: int = 0


class _Feed:
    """One decisions topic: its reader, and the partitions of it that are owned."""

    def __init__(self, name: str, deployed: str) -> None:
        self.name = name
        self.deployed = deployed
        self.reader: Reader | None = None
        self.partitions: dict[int, _Partition] = {}
        self.wanted: tuple[int, ...] = ()
        self.stale = False
        self.held: list[Record] = []
        self.looked_at = float("-inf")
        self.trouble: str | None = "not started"


class Projector:
    """Projects `contacts.decisions` and `accounts.decisions`. `assign` partitions, then `run`, or `run_once` step by step.

    `lost` names partitions that another owner took while they were assigned here; they are left alone until `assign`.
    """

    def __init__(
        self,
        log: Log,
        store: ProjectionStore,
        clock: Clock,
        *,
        names: Names = Names(),  # noqa: B008 - frozen
        limits: Limits = Limits(),  # noqa: B008 - frozen
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._log = log
        self._store = store
        self._clock = clock
        self._limits = limits
        self._jitter = jitter
        topics = (CONTACTS_DECISIONS.name, ACCOUNTS_DECISIONS.name)
        self._feeds = tuple(_Feed(name, names.of(name)) for name in topics)
        self._writers = asyncio.Semaphore(limits.writers_max)
        self.rows_written = 0
        self.faults = 0
        self.lost: set[tuple[str, int]] = set()

    @property
    def health(self) -> Health:
        """Tell whether both topics are being projected."""
        reasons = [f"{feed.name}: {feed.trouble}" for feed in self._feeds if feed.trouble is not None]
        return Health(not reasons, "; ".join(reasons) or None)

    @property
    def lag(self) -> dict[tuple[str, int], int]:
        """Return how many offsets each owned partition is behind the end that was last looked at."""
        return {
            (feed.name, item.number): max(0, item.end - item.offset)
            for feed in self._feeds
            for item in feed.partitions.values()
        }

    @property
    def positions(self) -> dict[tuple[str, int], int]:
        """Return the next offset of each owned partition."""
        return {(feed.name, item.number): item.offset for feed in self._feeds for item in feed.partitions.values()}

    @property
    def gaps(self) -> int:
        """Return how many times a decision did not follow the one before it: its topic no longer holds what lies between."""
        return sum(item.gaps for feed in self._feeds for item in feed.partitions.values())

    def assign(self, partitions: Sequence[int]) -> None:
        """Say which partitions of both topics to project from now on; the next step takes them, and lets the others go."""
        for feed in self._feeds:
            feed.wanted = tuple(sorted(partitions))
            feed.stale = True
        self.lost.clear()

    async def run_once(self, timeout_seconds: float = 0.0) -> int:
        """Read what is there and write it; return the number of decisions written.

        Raises `StoreError`, `LogError`, `TopicChangedError`; what was read and not written is written by the next call.
        """
        return sum([await self._step(feed, timeout_seconds) for feed in self._feeds])

    async def run(self, stop: asyncio.Event) -> None:
        """Project until `stop` is set, through every failure of the log and the database."""
        tasks = [asyncio.create_task(self._follow(feed, stop), name=f"project {feed.name}") for feed in self._feeds]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def close(self) -> None:
        """Let everything go; `run` must have ended. Never raises."""
        for feed in self._feeds:
            await self._release(feed)
        await self._store.close()

    # -- owning --------------------------------------------------------------------------------------------------------

    async def _take(self, feed: _Feed) -> None:
        """Take the wanted partitions; whatever was read and not written is read again."""
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
            await feed.reader.seek(number, owned.next_offset)
            feed.partitions[number] = _Partition(number, owned.epoch, owned.next_offset, owned.sequence)

    async def _release(self, feed: _Feed) -> None:
        reader, feed.reader = feed.reader, None
        feed.partitions.clear()
        feed.held = []
        feed.looked_at = float("-inf")
        if reader is not None:
            await reader.close()

    def _lose(self, feed: _Feed, partition: _Partition) -> None:
        """Stop writing a partition that somebody else took; whoever assigns partitions sees it in `lost`."""
        feed.partitions.pop(partition.number, None)
        self.lost.add((feed.name, partition.number))

    def _lost_text(self, feed: _Feed) -> str | None:
        numbers = sorted(number for name, number in self.lost if name == feed.name)
        return f"another owner took {numbers}" if numbers else None

    # -- following -----------------------------------------------------------------------------------------------------

    async def _follow(self, feed: _Feed, stop: asyncio.Event) -> None:
        delay = self._limits.retry_seconds_min
        while not stop.is_set():
            try:
                await self._step(feed, self._limits.poll_seconds)
            except (StoreError, LogError, TopicChangedError) as error:
                feed.trouble = str(error)
                feed.stale = feed.stale or isinstance(error, LogError)  # a reader that failed is not trusted any more
                await self._pause(delay * (0.5 + self._jitter() / 2), stop)
                delay = min(2 * delay, self._limits.retry_seconds_max)
            else:
                delay = self._limits.retry_seconds_min

    async def _pause(self, seconds: float, stop: asyncio.Event) -> None:
        waiting = [asyncio.ensure_future(self._clock.sleep(seconds)), asyncio.ensure_future(stop.wait())]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    async def _step(self, feed: _Feed, timeout_seconds: float) -> int:
        if feed.stale:
            await self._take(feed)
        if feed.reader is None:
            await self._clock.sleep(timeout_seconds)
            return 0
        if not feed.held:
            feed.held = await feed.reader.poll(limit=self._limits.records_max, timeout_seconds=timeout_seconds)
        written = await self._write(feed, feed.held)
        feed.held = []
        feed.trouble = self._lost_text(feed)
        if written:
            await self._store.announce()
        await self._look(feed, feed.reader)
        return written

    async def _write(self, feed: _Feed, records: Sequence[Record]) -> int:
        """Write what was read, each partition in a transaction of its own; raises after all of them had their turn."""
        ordered = sorted(records, key=attrgetter("partition"))  # stable: offsets stay in order
        runs = [(feed.partitions.get(number), list(run)) for number, run in groupby(ordered, key=attrgetter("partition"))]
        owned = [(partition, run) for partition, run in runs if partition is not None]
        done = await asyncio.gather(
            *(self._write_partition(feed, partition, run) for partition, run in owned), return_exceptions=True
        )
        for outcome in done:
            if isinstance(outcome, BaseException):
                raise outcome
        return sum(outcome for outcome in done if isinstance(outcome, int))

    async def _write_partition(self, feed: _Feed, partition: _Partition, records: Sequence[Record]) -> int:
        fresh = [record for record in records if record.offset >= partition.offset]  # held ones may be written already
        if not fresh:
            return 0
        async with self._writers:
            try:
                await self._write_run(feed, partition, fresh)
            except OwnershipLostError:
                self._lose(feed, partition)
                return 0
            except PositionMovedError:
                feed.stale = True
                return 0
        return len(fresh)

    async def _write_run(self, feed: _Feed, partition: _Partition, records: Sequence[Record]) -> None:
        batch = self._batch(feed, partition, records)
        try:
            await self._store.write(batch)
        except RowsRefusedError as error:
            await self._write_singly(feed, partition, records, error)
        else:
            self._written(partition, batch)

    async def _write_singly(
        self, feed: _Feed, partition: _Partition, records: Sequence[Record], error: RowsRefusedError
    ) -> None:
        """Find the decision that does not fit: halve the run until it stands alone, and keep a fault in its place."""
        if len(records) > 1:
            middle = len(records) // 2
            await self._write_run(feed, partition, records[:middle])
            await self._write_run(feed, partition, records[middle:])
            return
        batch = Batch(mark=self._mark(feed, partition, records), sequence=partition.sequence)
        batch.faults.append(fault(records[0], None, error, feed.name))
        await self._store.write(batch)
        self._written(partition, batch)

    def _batch(self, feed: _Feed, partition: _Partition, records: Sequence[Record]) -> Batch:
        return batch_of(records, self._mark(feed, partition, records), partition.sequence, topic=feed.name)

    def _mark(self, feed: _Feed, partition: _Partition, records: Sequence[Record]) -> Mark:
        return Mark(feed.name, partition.number, partition.epoch, partition.offset, records[-1].offset + 1)

    def _written(self, partition: _Partition, batch: Batch) -> None:
        partition.offset = batch.mark.offset_after
        partition.sequence = batch.sequence
        partition.gaps += batch.gaps
        self.rows_written += batch.rows_count
        self.faults += len(batch.faults)

    async def _look(self, feed: _Feed, reader: Reader) -> None:
        """Look how far the log has got, now and then: for the lag that is shown."""
        if self._clock.monotonic() - feed.looked_at < self._limits.lag_gap_seconds:
            return
        feed.looked_at = self._clock.monotonic()
        for partition in feed.partitions.values():
            partition.end = await reader.end(partition.number)
            if reader.position(partition.number) >= partition.end:
                partition.end = partition.offset  # what lies between are control records
