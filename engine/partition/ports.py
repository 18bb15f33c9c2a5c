"""What does the partition runner need from the world? A log, a clock, the rules feed, an outbox and snapshots.

The Kafka adapter, the embedded log and the simulator pass one contract suite for the log (tests/adapters/log_contract.py).
Offsets are positions in one partition of one topic; gaps are normal (Kafka's control records take offsets too).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from engine.identity import ContactIds
from schemas.decisions import OutboxEntry
from schemas.errors import DependencyError
from schemas.instant import Instant
from schemas.records import Record as SchemaRecord

Headers = tuple[tuple[str, bytes], ...]


class LogRecord(Struct, frozen=True, gc=False):
    """One record as read from a log; `appended_at` is the broker's append time, never a domain time."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    appended_at: Instant


class Outgoing(Struct, frozen=True, gc=False):
    """One record to write; the writer knows the partition."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


_FRAMING_BYTES = 85
"""What Kafka's framing adds to a record that is alone in its batch."""

_HEADER_BYTES = 10
"""The most that the lengths of one header's name and value take."""


def record_bytes(record: Outgoing) -> int:
    """Return the bytes of a record in a batch of its own, as Kafka counts them before compression, rounded up."""
    content = len(record.key or b"") + len(record.value or b"")
    return _FRAMING_BYTES + content + sum(len(name) + len(value) + _HEADER_BYTES for name, value in record.headers)


class LogError(DependencyError):
    """The log refused or did not answer; `retryable` says whether trying again can help."""

    def __init__(self, message: str, *, retryable: bool = True) -> None:
        super().__init__(message)
        self.retryable = retryable


class RecordRefusedError(LogError):
    """The log refuses this record, mostly for its size. A retry never helps; its neighbours are not at fault.

    `index` is the place of the refused record among those that were given, or None where the broker refused a batch of a
    commit without saying which record it was. `appended` counts the records before it that this call did append: 0 in a
    commit. Nothing behind the refused record was written.
    """

    def __init__(self, message: str, *, index: int | None, appended: int = 0) -> None:
        super().__init__(message, retryable=False)
        self.index = index
        self.appended = appended


class FencedError(LogError):
    """A newer owner took the partition (fencing): all pending work is void, and nothing more may be written."""

    def __init__(self, topic: str, partition: int) -> None:
        super().__init__(f"another owner took {topic}[{partition}]", retryable=False)
        self.topic = topic
        self.partition = partition


class Ownership(Protocol):
    """The exclusive right to write what partition N of an input topic decides.

    Obtained by `Log.own`, which fences every earlier owner and aborts what it left open.
    """

    async def commit(self, records: Sequence[Outgoing]) -> None:
        """Write all records to partition N of their topics, or none of them.

        Returns after the commit is durable. Raises `FencedError` when a newer owner exists and `LogError`
        for everything else; after any error the ownership is dead and a new one must be taken, because it
        is not known whether the transaction was committed (the changelog tells). After `RecordRefusedError` (a record is
        over the size limit of its topic) it is known: nothing was committed.
        """
        ...

    async def close(self) -> None:
        """Release the ownership; an open transaction is aborted. Never raises."""
        ...


class Reader(Protocol):
    """Reads committed records of a fixed set of partitions of one topic, each in offset order."""

    async def poll(self, *, limit: int, timeout_seconds: float) -> list[LogRecord]:
        """Return up to `limit` records, waiting at most `timeout_seconds` for the first one; [] on timeout.

        Also [] as soon as every `end` that was asked for is reached, where only control records were left. A log
        that cannot be reached looks like silence; `end` raises.
        """
        ...

    async def end(self, partition: int) -> int:
        """Return the offset behind the last record that a committed reader can see now (last stable offset).

        A commit shows a moment after it was acknowledged, but everything of earlier owners shows once `Log.own`
        has returned. Raises `LogError`.
        """
        ...

    async def start(self, partition: int) -> int:
        """Return the offset of the earliest record still held."""
        ...

    def position(self, partition: int) -> int:
        """Return the offset of the next record to read. Reaches `end` even where the last slot is a control record."""
        ...

    async def seek(self, partition: int, offset: int) -> None:
        """Read on from `offset`; an offset before `start` reads from `start`.

        Raises `LogError` (not retryable) for an offset beyond `end`: the offset belongs to another topic.
        """
        ...

    async def close(self) -> None:
        """Stop reading. Never raises."""
        ...


def topic_of(records: Sequence[Outgoing]) -> str:
    """Return the one topic of the records. Raises `ValueError` where there are several."""
    topic = records[0].topic
    if any(record.topic != topic for record in records):
        raise ValueError("one append is for one topic")
    return topic


class Appender(Protocol):
    """Appends outside transactions, idempotently and in order; used for requests, messages and dead letters."""

    async def append(self, partition: int, records: Sequence[Outgoing]) -> list[int]:
        """Append the records of one topic partition in order and return their offsets.

        On error nothing, or a prefix, or all of the records may have been appended, never a later one without
        an earlier one; the appender stays usable. Raises `LogError`. `RecordRefusedError` names the first record that is
        over the size limit and says how many before it were appended; concurrent calls are not affected.
        """
        ...

    async def close(self) -> None:
        """Flush and stop. Never raises."""
        ...


class Log(Protocol):
    """A set of partitioned topics. Contract, also of what it returns: tests/adapters/log_contract.py."""

    async def own(self, input_topic: str, partition: int, *, writes: Sequence[str] = ()) -> Ownership:
        """Fence every earlier owner of this partition and return the new ownership.

        `writes` names the topics that its commits may write to: every commit that an earlier owner saw acknowledged on
        partition N of these can be read from now on.
        """
        ...

    async def reader(self, topic: str, partitions: Sequence[int], *, start: int | None = 0) -> Reader:
        """Return a committed reader; `start` is the offset in every partition, None means the present end."""
        ...

    async def appender(self) -> Appender:
        """Return a new idempotent appender."""
        ...

    async def partition_count(self, topic: str) -> int:
        """Return the number of partitions. Raises `LogError` where the topic does not exist."""
        ...

    async def topic_id(self, topic: str) -> str:
        """Return the id of the topic: a topic that is deleted and created again has another one."""
        ...

    async def close(self) -> None:
        """Release every connection. Never raises."""
        ...


class Clock(Protocol):
    """The source of `now`, which a cycle takes once and records. Waits, leases and lag use wall time.

    Contract: tests/adapters/clock_contract.py.
    """

    def now(self) -> Instant:
        """Return the domain time in milliseconds since 1970 UTC."""
        ...

    def monotonic(self) -> float:
        """Return wall seconds that never go back; only differences count."""
        ...

    def seconds_until(self, instant: Instant) -> float:
        """Return the wall seconds until a domain instant; negative once it has passed."""
        ...

    def wall(self) -> Instant:
        """Return the wall time of this machine, which brokers have too: of a virtual clock, what domain time runs on."""
        ...

    def elapsed(self) -> float:
        """Return wall seconds that never go back and count those in which the machine slept."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait on wall time; a virtual clock moves on instead."""
        ...


class RulesFeed(Protocol):
    """`accounts.rules` as one process has read it. All its partitions share it; each adopts at its own pace.

    No contract suite: one adapter (`adapters.partitions.feed.RulesTopic`), tested in tests/adapters/partitions/test_feed.py.
    """

    @property
    def entries(self) -> Sequence[tuple[int, SchemaRecord]]:
        """Every record version read so far with its accounts partition, oldest first; only ever appended to."""
        ...

    @property
    def contact_ids(self) -> ContactIds | None:
        """The contact ids of the deployment, a rule that never changes; None until its identity was read."""
        ...

    async def refresh(self) -> None:
        """Read to the end that the topic has now. Raises `LogError`."""
        ...


class Outbox(Protocol):
    """The transactional outbox: delivers decided messages in number order, again until acknowledged.

    No contract suite: one adapter (`adapters.partitions.outbox.OutboxSender`), tested in
    tests/adapters/partitions/test_outbox.py.
    """

    def offer(self, entries: Sequence[OutboxEntry]) -> None:
        """Take over entries whose decision is committed; offering one again is harmless."""
        ...

    def delivered(self) -> list[int]:
        """Return the numbers acknowledged since the last call."""
        ...

    async def close(self) -> None:
        """Stop delivering. Never raises."""
        ...


class Snapshots(Protocol):
    """Stores copies of a partition's state on local disk; deleting all of them is always safe.

    Contract: tests/adapters/partitions/snapshots_contract.py.
    """

    def load(self, partition: int, topic_id: str, *, begun_after: Instant) -> Iterator[Snapshot] | None:
        """Return the slices of the newest whole snapshot of this partition begun after an instant, or None."""
        ...

    async def save(self, partition: int, topic_id: str, slices: Iterator[Snapshot]) -> None:
        """Write a snapshot slice by slice, yielding between slices; a complete one replaces the former atomically."""
        ...


class Snapshot(Struct, frozen=True):
    """A slice of a snapshot: the changelog offset at which it was begun, and packed values under their keys.

    `sequence` and `chain` are those of the last decision before that offset; another changelog continues differently.
    """

    begun_at: Instant
    offset: int
    items: list[tuple[str, bytes]]
    sequence: int = 0
    chain: str = ""
