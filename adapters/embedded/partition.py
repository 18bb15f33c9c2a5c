"""What is one partition in memory? Visible records by offset, and the offsets that open writes have taken.

A write takes its offsets first and becomes visible later, as on a broker. Committed readers read up to the last stable
offset, the first offset of the oldest open write; commit and abort of a transaction take one offset each (control record).
"""

import asyncio
from bisect import bisect_left, insort
from collections.abc import Sequence
from operator import attrgetter

from engine.partition.ports import LogRecord, Outgoing
from schemas.instant import Instant

DIRTY_SHARE_MIN = 0.1
"""Share of a partition that must be new since its last compaction (as `min.cleanable.dirty.ratio` on Kafka)."""

COMPACTION_BATCH = 5_000
"""Records that are checked before other tasks may run: about a millisecond."""

_BY_OFFSET = attrgetter("offset")
_BY_TIME = attrgetter("appended_at")
"""Nearly the order of the offsets: the records of a long transaction have the offsets at which it began."""


class Partition:
    """Offsets from `start` to `end`; gaps are control records, aborted records and deleted ones."""

    __slots__ = ("_open", "clean", "end", "number", "records", "start", "topic")

    def __init__(self, topic: str, number: int) -> None:
        self.topic = topic
        self.number = number
        self.records: list[LogRecord] = []
        self.clean = 0
        self.start = 0
        self.end = 0
        self._open: dict[Write, int] = {}

    @property
    def stable_end(self) -> int:
        """The last stable offset: what a committed reader may reach now."""
        return min(self._open.values(), default=self.end)

    def read(self, position: int, limit: int) -> tuple[list[LogRecord], int]:
        """Return visible records from `position` on and where to read next."""
        stable_end = self.stable_end
        first = bisect_left(self.records, position, key=_BY_OFFSET)
        behind = bisect_left(self.records, stable_end, lo=first, key=_BY_OFFSET)
        found = self.records[first : min(behind, first + limit)]
        if len(found) < behind - first:
            return found, found[-1].offset + 1 if found else position
        return found, max(position, stable_end)

    def take(self, write: "Write", count: int) -> int:
        """Give `count` offsets to a write that is now open; return the first."""
        first = self.end
        self._open.setdefault(write, first)
        self.end += count
        return first

    def show(self, records: Sequence[LogRecord]) -> None:
        """Make records visible; their offsets may be lower than those of writes that finished earlier."""
        if not self.records or not records or records[0].offset > self.records[-1].offset:
            self.records.extend(records)
            return
        for record in records:
            insort(self.records, record, key=_BY_OFFSET)

    def settle(self, write: "Write") -> None:
        """Forget an open write: it is finished, one way or the other."""
        self._open.pop(write, None)

    def first_since(self, instant: Instant) -> int:
        """Return the offset of the first record appended at an instant or later; the last stable one where there is none."""
        place = bisect_left(self.records, instant, key=_BY_TIME)
        return self.records[place].offset if place < len(self.records) else self.stable_end

    def holds(self, offset: int) -> bool:
        """Return whether there is a record at an offset, or was one before what was deleted."""
        if not self.records or offset > self.records[-1].offset:
            return offset < self.start
        return offset < self.start or self.records[bisect_left(self.records, offset, key=_BY_OFFSET)].offset == offset

    def delete_before(self, offset: int) -> None:
        """Drop everything before `offset`."""
        self.start = max(self.start, min(offset, self.end))
        del self.records[: bisect_left(self.records, self.start, key=_BY_OFFSET)]


class Write:
    """Records that become visible together, or never."""

    def __init__(self, appended_at: Instant) -> None:
        self.appended_at = appended_at
        self.drafts: dict[Partition, list[LogRecord]] = {}

    def add(self, partition: Partition, records: Sequence[Outgoing]) -> list[int]:
        """Take offsets for records of one topic and return them."""
        first = partition.take(self, len(records))
        offsets = list(range(first, first + len(records)))
        self.drafts.setdefault(partition, []).extend(
            LogRecord(
                topic=partition.topic,
                partition=partition.number,
                offset=offset,
                key=record.key,
                value=record.value,
                headers=record.headers,
                appended_at=self.appended_at,
            )
            for offset, record in zip(offsets, records, strict=True)
        )
        return offsets

    def mark_end(self) -> None:
        """Take the offset of the control record in every partition, as commit and abort do."""
        for partition in self.drafts:
            partition.take(self, 1)

    def settle(self, *, visible: bool) -> None:
        """End the write: show its records or forget them."""
        for partition, records in self.drafts.items():
            if visible:
                partition.show(records)
            partition.settle(self)


async def compact(partition: Partition, tombstones_before: Instant) -> int:
    """Drop records that a later one of the same key replaces, and old tombstones; return the bytes that this frees.

    Below the last stable offset no record is added any more, so writers go on meanwhile; other tasks run every
    `COMPACTION_BATCH` records.
    """
    stable_end = partition.stable_end
    known = partition.records[: bisect_left(partition.records, stable_end, key=_BY_OFFSET)]
    if len(known) - partition.clean < len(known) * DIRTY_SHARE_MIN:
        return 0
    last: dict[bytes, int] = {}
    kept: list[LogRecord] = []
    freed_bytes = 0
    for first in range(0, len(known), COMPACTION_BATCH):
        last.update(
            (record.key, record.offset) for record in known[first : first + COMPACTION_BATCH] if record.key is not None
        )
        await asyncio.sleep(0)
    for first in range(0, len(known), COMPACTION_BATCH):
        for record in known[first : first + COMPACTION_BATCH]:
            is_old_tombstone = record.value is None and record.appended_at < tombstones_before
            if record.key is None or (last[record.key] == record.offset and not is_old_tombstone):
                kept.append(record)
            else:
                freed_bytes += len(record.key) + len(record.value or b"")
        await asyncio.sleep(0)
    if len(kept) < len(known):
        behind = bisect_left(partition.records, stable_end, key=_BY_OFFSET)
        partition.records[:behind] = kept[bisect_left(kept, partition.start, key=_BY_OFFSET) :]
    partition.clean = len(kept)
    return freed_bytes
