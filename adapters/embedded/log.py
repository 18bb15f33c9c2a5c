"""How can everything run without a broker? The `Log` port in this process, on one file or in memory only.

It behaves like Kafka where callers notice: offsets with gaps, last stable offset, owners that fence each other, and append
time. It is for one process (`leadclock up` without Java) and for the simulator, which drives it on virtual time.
`adapters.embedded.compaction` applies each topic's retention and compaction, to memory and files.
"""

import asyncio
import contextlib
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

from adapters.embedded.faults import FaultPoint, Faults, NoFaults
from adapters.embedded.journal import (
    Frame,
    ImageSlice,
    Journal,
    RecordsDeleted,
    RecordsWritten,
    Slice,
    TopicCreated,
    TopicDeleted,
)
from adapters.embedded.partition import Partition, Write, compact
from engine.partition.ports import (
    Appender,
    FencedError,
    LogError,
    LogRecord,
    Outgoing,
    Ownership,
    Reader,
    RecordRefusedError,
    record_bytes,
    topic_of,
)
from schemas.instant import Instant

RECORD_BYTES_MAX = 1_048_588
"""Kafka's default `max.message.bytes`, so that what fits here fits there."""

IMAGE_SLICE_RECORDS = 200
"""Records per frame of an image; a frame is encoded at once."""


class EmbeddedLog:
    """The `Log` port. `folder` None keeps everything in memory; `now` gives the append time; `faults` may fail writers.

    `new_topic_id` is for simulations, which need the same ids in every run; `pause` lets others run while a transaction is
    open, as between two requests to a broker. Create it inside the running event loop.
    """

    def __init__(
        self,
        folder: Path | None,
        *,
        now: Callable[[], Instant],
        fsync: bool = True,
        faults: Faults | None = None,
        new_topic_id: Callable[[], str] = lambda: str(uuid.uuid4()),
        pause: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(0),
    ) -> None:
        self._now = now
        self._new_topic_id = new_topic_id
        self.pause = pause
        self._topics: dict[str, TopicCreated] = {}
        self._partitions: dict[tuple[str, int], Partition] = {}
        self._owners: dict[tuple[str, int], EmbeddedOwnership] = {}
        self._watchers: dict[tuple[str, int], dict[asyncio.Event, None]] = {}  # in order: runs must repeat
        self._finishing: set[asyncio.Task[None]] = set()
        self.faults: Faults = faults or NoFaults()
        self._journal = Journal(folder, fsync=fsync) if folder is not None else None
        if self._journal is not None:
            self._load(self._journal)

    async def create_topic(self, name: str, partitions: int, *, record_bytes_max: int = RECORD_BYTES_MAX) -> None:
        """Create a topic unless it exists. Raises `LogError` where it has another number of partitions."""
        present = self._topics.get(name)
        if present is None:
            frame = TopicCreated(name, self._new_topic_id(), partitions, record_bytes_max)
            self._create(frame)
            await self._write_frame(frame)
        elif present.partitions != partitions:
            raise LogError(f"{name} has {present.partitions} partitions, not {partitions}", retryable=False)

    async def delete_topic(self, name: str) -> None:
        """Delete a topic with its records. Raises `LogError` where it does not exist."""
        self._facts(name)
        self._delete(name)
        await self._write_frame(TopicDeleted(name))

    async def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Delete the records before an offset, as retention does."""
        self.partition(topic, partition).delete_before(before)
        await self._write_frame(RecordsDeleted(topic, partition, before))

    async def expire(self, topic: str, retention_ms: int) -> None:
        """Delete what was appended longer ago than a topic keeps its records."""
        for number in range(self._facts(topic).partitions):
            partition = self.partition(topic, number)
            kept_from = partition.first_since(self._now() - retention_ms)
            if kept_from > partition.start:
                await self.delete_records(topic, number, kept_from)

    async def compact(self, topic: str, tombstones_ms: int) -> int:
        """Keep the last record of each key of a topic, a tombstone for a while; return the bytes that this freed."""
        return sum(
            [
                await compact(self.partition(topic, number), self._now() - tombstones_ms)
                for number in range(self._facts(topic).partitions)
            ]
        )

    def check(self) -> None:
        """Raise `LogError` where a write to the files failed: they take nothing more until they are opened again."""
        if self._journal is not None:
            self._journal.check()

    @property
    def size_bytes(self) -> int:
        """The size of the files; 0 where there are none."""
        return 0 if self._journal is None else self._journal.size_bytes

    async def rewrite(self) -> None:
        """Rewrite the files with the present records, while writers go on. Raises `OSError`: then nothing changed."""
        journal = self._journal
        if journal is None or not journal.is_whole:
            return
        number = await journal.rotate()
        if self._finishing:  # what was written to the former segment must be visible before it is copied
            await asyncio.wait(set(self._finishing))
        await journal.write_image(number, self._image())

    async def own(self, input_topic: str, partition: int, *, writes: Sequence[str] = ()) -> Ownership:  # noqa: ARG002 - the port's
        """Fence every earlier owner, wait for a commit that it has begun, abort what it left open."""
        self.partition(input_topic, partition)
        earlier = self._owners.get((input_topic, partition))
        ownership = EmbeddedOwnership(self, input_topic, partition)
        self._owners[input_topic, partition] = ownership
        if earlier is not None:
            await earlier.release()
        return ownership

    async def reader(self, topic: str, partitions: Sequence[int], *, start: int | None = 0) -> Reader:
        """Return a committed reader; `start` is the offset in every partition, None the end. Raises `LogError`."""
        places = [self.partition(topic, number) for number in partitions]
        if not places:
            raise LogError(f"a reader of {topic} needs partitions", retryable=False)
        return EmbeddedReader(self, places, start)

    async def appender(self) -> Appender:
        """Return an appender."""
        return EmbeddedAppender(self)

    async def partition_count(self, topic: str) -> int:
        """Return the number of partitions. Raises `LogError` where the topic does not exist."""
        return self._facts(topic).partitions

    async def topic_id(self, topic: str) -> str:
        """Return the id that the topic got when it was created."""
        return self._facts(topic).topic_id

    async def close(self) -> None:
        """Finish what is being written and close the file. Never raises."""
        if self._finishing:
            await asyncio.wait(self._finishing)
        if self._journal is not None:
            self._journal.close()

    def partition(self, topic: str, number: int) -> Partition:
        """Return one partition. Raises `LogError` where there is none."""
        found = self._partitions.get((topic, number))
        if found is None:
            raise LogError(f"there is no {topic}[{number}]", retryable=False)
        return found

    def owner(self, topic: str, partition: int) -> "EmbeddedOwnership | None":
        """Return the newest owner of a partition."""
        return self._owners.get((topic, partition))

    def new_write(self) -> Write:
        """Return an empty write with the append time of now."""
        return Write(self._now())

    def check_sizes(self, records: Sequence[Outgoing]) -> None:
        """Raise `RecordRefusedError` if one of the records is larger than its topic takes."""
        for index, record in enumerate(records):
            limit_bytes = self._facts(record.topic).record_bytes_max
            size_bytes = record_bytes(record)
            if size_bytes > limit_bytes:
                raise RecordRefusedError(
                    f"a record of {size_bytes} bytes is over the {limit_bytes} of {record.topic}", index=index
                )

    async def finish(self, write: Write, *, visible: bool) -> None:
        """Make a write durable and then visible, or aborted. Once begun it is carried out, also when cancelled."""
        frame = _frame(write, visible=visible)
        if self._journal is None:
            self._settle(write, visible=visible)
            return
        task = asyncio.ensure_future(self._finish(frame, write, visible=visible))
        self._finishing.add(task)
        task.add_done_callback(self._finishing.discard)
        await asyncio.shield(task)

    def watch(self, partitions: Sequence[Partition], changed: asyncio.Event) -> None:
        """Set `changed` whenever something becomes visible in one of the partitions."""
        for partition in partitions:
            self._watchers.setdefault((partition.topic, partition.number), {})[changed] = None

    def unwatch(self, partitions: Sequence[Partition], changed: asyncio.Event) -> None:
        """Undo `watch`."""
        for partition in partitions:
            self._watchers.get((partition.topic, partition.number), {}).pop(changed, None)

    async def _finish(self, frame: RecordsWritten, write: Write, *, visible: bool) -> None:
        try:
            await self._write_frame(frame)
        except LogError:
            self._settle(write, visible=False)
            raise
        self._settle(write, visible=visible)

    def _settle(self, write: Write, *, visible: bool) -> None:
        write.settle(visible=visible)
        for partition in write.drafts:
            for changed in self._watchers.get((partition.topic, partition.number), ()):
                changed.set()

    def _image(self) -> Iterator[Frame]:
        """Return the frames of all present records; they are made one by one while the log changes."""
        topics = list(self._topics.values())
        held = [(partition, partition.start, partition.end, partition.records[:]) for partition in self._partitions.values()]
        return _frames_of(topics, held)

    async def _write_frame(self, frame: Frame) -> None:
        if self._journal is not None:
            await self._journal.add(frame)

    def _load(self, journal: Journal) -> None:
        for frame in journal.load():
            match frame:
                # An image may hold already what the first frames behind it say.
                case TopicCreated():
                    if self._topics.get(frame.name) != frame:
                        self._create(frame)
                case TopicDeleted():
                    if frame.name in self._topics:
                        self._delete(frame.name)
                case RecordsDeleted():
                    if (frame.topic, frame.partition) in self._partitions:
                        self._partitions[frame.topic, frame.partition].delete_before(frame.start)
                case RecordsWritten():
                    self._restore(frame)
                case ImageSlice():
                    self._restore_image_slice(frame)

    def _restore(self, frame: RecordsWritten) -> None:
        for piece in frame.slices:
            partition = self._partitions.get((piece.topic, piece.partition))
            if partition is None:
                continue  # the topic was deleted while this was being written
            partition.show([record for record in _stored(piece, frame.at) if not partition.holds(record.offset)])
            partition.end = max(partition.end, piece.end)

    def _restore_image_slice(self, frame: ImageSlice) -> None:
        partition = self._partitions[frame.topic, frame.partition]
        partition.start, partition.end = frame.start, frame.end
        partition.show([LogRecord(frame.topic, frame.partition, *record) for record in frame.records])

    def _create(self, frame: TopicCreated) -> None:
        self._topics[frame.name] = frame
        for number in range(frame.partitions):
            self._partitions[frame.name, number] = Partition(frame.name, number)

    def _delete(self, name: str) -> None:
        facts = self._topics.pop(name)
        for number in range(facts.partitions):
            del self._partitions[name, number]

    def _facts(self, topic: str) -> TopicCreated:
        found = self._topics.get(topic)
        if found is None:
            raise LogError(f"topic {topic} does not exist", retryable=False)
        return found


class EmbeddedOwnership:
    """The newest owner of a partition may commit; it is void after its first error."""

    def __init__(self, log: EmbeddedLog, topic: str, partition: int) -> None:
        self._log = log
        self._topic = topic
        self._partition = partition
        self._error: LogError | None = None
        self._write: Write | None = None
        self._finishing: asyncio.Future[None] | None = None

    async def commit(self, records: Sequence[Outgoing]) -> None:
        """Write all records in one transaction; see the port."""
        self._check()
        if not records:
            return
        self._error = LogError("an earlier commit was interrupted or is still under way")
        try:
            await self._transact(records)
        except LogError as error:
            self._error = error
            await self.release()
            raise
        self._error = None

    async def close(self) -> None:
        """Abort what is open. Never raises."""
        if self._error is None:
            self._error = LogError(f"the ownership of {self._topic}[{self._partition}] was given back")
        await self.release()

    async def release(self) -> None:
        """Wait for a commit that was begun, or abort the open transaction. Never raises."""
        if self._finishing is not None:
            await asyncio.wait([self._finishing])
        write, self._write = self._write, None
        if write is not None:
            write.mark_end()
            with contextlib.suppress(LogError):
                await self._log.finish(write, visible=False)

    async def _transact(self, records: Sequence[Outgoing]) -> None:
        self._log.check_sizes(records)
        self._reach(FaultPoint.BEFORE_APPEND)
        self._write = self._drafted(records)
        await self._log.pause()
        self._check_fence()
        self._reach(FaultPoint.BEFORE_COMMIT)
        write, self._write = self._write, None
        if write is None:  # it was given back while the records were on their way: what was open is aborted
            raise LogError(f"the ownership of {self._topic}[{self._partition}] was given back")
        write.mark_end()
        self._finishing = asyncio.ensure_future(self._log.finish(write, visible=True))
        try:
            await asyncio.shield(self._finishing)
        finally:
            if self._finishing.done():
                self._finishing = None
        self._reach(FaultPoint.AFTER_COMMIT)

    def _drafted(self, records: Sequence[Outgoing]) -> Write:
        write = self._log.new_write()
        by_topic: dict[str, list[Outgoing]] = {}
        for record in records:
            by_topic.setdefault(record.topic, []).append(record)
        for partition, group in [(self._log.partition(t, self._partition), g) for t, g in by_topic.items()]:
            write.add(partition, group)
        return write

    def _check(self) -> None:
        self._check_fence()
        if self._error is not None:
            raise self._error

    def _check_fence(self) -> None:
        if self._log.owner(self._topic, self._partition) is not self:
            raise FencedError(self._topic, self._partition)

    def _reach(self, point: FaultPoint) -> None:
        self._log.faults.reach(point, self._topic, self._partition)


class EmbeddedReader:
    """Reads up to the last stable offset of its partitions, taking them in turns."""

    def __init__(self, log: EmbeddedLog, partitions: Sequence[Partition], start: int | None) -> None:
        self._log = log
        self._partitions = {partition.number: partition for partition in partitions}
        self._positions = {
            partition.number: partition.stable_end if start is None else max(start, partition.start)
            for partition in partitions
        }
        self._ends_asked: dict[int, int] = {}
        self._next = 0
        self._changed = asyncio.Event()
        log.watch(partitions, self._changed)

    async def poll(self, *, limit: int, timeout_seconds: float) -> list[LogRecord]:
        """Return up to `limit` records; see the port."""
        await asyncio.sleep(0)  # a reader that always finds something must let other tasks run
        found, reached = self._take(limit)
        if found or reached or timeout_seconds <= 0:
            return found
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                while not found and not reached:
                    await self._changed.wait()
                    found, reached = self._take(limit)
        return found

    async def end(self, partition: int) -> int:
        """Return the last stable offset."""
        found = self._partition(partition).stable_end
        if self._positions[partition] < found:
            self._ends_asked[partition] = found
        return found

    async def start(self, partition: int) -> int:
        """Return the earliest offset held."""
        return self._partition(partition).start

    def position(self, partition: int) -> int:
        """Return the offset of the next record to read."""
        self._partition(partition)
        return self._positions[partition]

    async def seek(self, partition: int, offset: int) -> None:
        """Read on from `offset`, or from the start if that is later; behind the end is `LogError` (not retryable)."""
        place = self._partition(partition)
        if offset > place.stable_end:
            raise LogError(f"{place.topic}[{partition}] ends at {place.stable_end}, before {offset}", retryable=False)
        self._positions[partition] = max(offset, place.start)
        self._ends_asked.pop(partition, None)

    async def close(self) -> None:
        """Stop reading. Never raises."""
        self._log.unwatch(list(self._partitions.values()), self._changed)

    def _take(self, limit: int) -> tuple[list[LogRecord], bool]:
        """Return records, and whether the last of the ends that were asked for is reached now."""
        self._changed.clear()
        was_reading_to_the_end = bool(self._ends_asked)
        found: list[LogRecord] = []
        for number in self._in_turn():
            partition = self._partitions[number]
            position = max(self._positions[number], partition.start)
            records, position = partition.read(position, limit - len(found))
            found.extend(records)
            self._positions[number] = position
            if position >= self._ends_asked.get(number, position + 1):
                del self._ends_asked[number]
        return found, was_reading_to_the_end and not self._ends_asked

    def _in_turn(self) -> list[int]:
        numbers = list(self._partitions)
        self._next = (self._next + 1) % len(numbers)
        return numbers[self._next :] + numbers[: self._next]

    def _partition(self, number: int) -> Partition:
        if number not in self._partitions:
            raise ValueError(f"this reader does not read partition {number}")
        return self._partitions[number]


class EmbeddedAppender:
    """Appends outside transactions, in the order of the calls."""

    def __init__(self, log: EmbeddedLog) -> None:
        self._log = log
        self._is_closed = False

    async def append(self, partition: int, records: Sequence[Outgoing]) -> list[int]:
        """Append in order and return the offsets; see the port. All records are of one topic."""
        if self._is_closed:
            raise LogError("the appender is closed", retryable=False)
        if not records:
            return []
        topic = topic_of(records)
        self._log.check_sizes(records)
        self._log.faults.reach(FaultPoint.BEFORE_APPEND, topic, partition)
        write = self._log.new_write()
        offsets = write.add(self._log.partition(topic, partition), records)
        await self._log.finish(write, visible=True)
        self._log.faults.reach(FaultPoint.AFTER_APPEND, topic, partition)
        return offsets

    async def close(self) -> None:
        """Refuse what comes later; nothing waits here. Never raises."""
        self._is_closed = True


def _frame(write: Write, *, visible: bool) -> RecordsWritten:
    slices = [
        Slice(
            partition.topic,
            partition.number,
            [(record.offset, record.key, record.value, record.headers) for record in records] if visible else [],
            partition.end,
        )
        for partition, records in write.drafts.items()
    ]
    return RecordsWritten(write.appended_at, slices)


def _stored(piece: Slice, appended_at: Instant) -> Iterator[LogRecord]:
    for offset, key, value, headers in piece.records:
        yield LogRecord(
            topic=piece.topic,
            partition=piece.partition,
            offset=offset,
            key=key,
            value=value,
            headers=headers,
            appended_at=appended_at,
        )


def _frames_of(
    topics: Sequence[TopicCreated], held: Sequence[tuple[Partition, int, int, Sequence[LogRecord]]]
) -> Iterator[Frame]:
    yield from topics
    for partition, start, end, records in held:
        for first in range(0, max(1, len(records)), IMAGE_SLICE_RECORDS):
            kept = [
                (record.offset, record.key, record.value, record.headers, record.appended_at)
                for record in records[first : first + IMAGE_SLICE_RECORDS]
            ]
            yield ImageSlice(partition.topic, partition.number, start, end, kept)
