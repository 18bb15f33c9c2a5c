"""How are committed records read, and how does a reader know that it has reached the end?

`position` is the library's own, so that it moves over aborted records and control records too: the end of a partition
is reached even where its last slots hold nothing to return.
"""

import asyncio
from collections.abc import Sequence

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition, errors

from adapters.kafka.connection import CLIENT_ERRORS, KafkaConnection, to_log_error
from adapters.kafka.lenient_headers import install
from adapters.kafka.lifecycle import finish, starting, stop
from adapters.kafka.offset_lookup import OffsetLookup
from engine.partition.ports import Headers, LogError, LogRecord, Reader

FETCH_WAIT_MS = 500
"""How long the broker holds an empty fetch: it answers at once when a record comes, and each empty answer costs both sides
half a millisecond."""

SHARED_FETCH_WAIT_MS = 100
"""That of a reader of several partitions. One fetch per broker is under way at a time, so this is also how long a partition
may wait for the fetch of another one."""

FETCH_BYTES_MAX = 4 * 1024 * 1024
"""Per partition and fetch; bounds the memory of a reader together with its number of partitions."""

NEAR_END_SECONDS = 0.005
"""While an end that was asked for is not reached, a poll looks this often whether only control records were left."""

install()


class KafkaReader:
    """An assigned consumer without a group, read_committed."""

    def __init__(
        self,
        consumer: AIOKafkaConsumer,
        offsets: OffsetLookup,
        topic: str,
        partitions: Sequence[int],
        deadline_seconds: float,
    ) -> None:
        self._consumer = consumer
        self._offsets = offsets
        self._topic = topic
        self._partitions = tuple(partitions)
        self._deadline_seconds = deadline_seconds
        self._positions: dict[int, int] = {}
        self._ends_asked: dict[int, int] = {}

    async def poll(self, *, limit: int, timeout_seconds: float) -> list[LogRecord]:
        """Return up to `limit` records; see the port. An unreachable broker looks like silence: `end` raises."""
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + timeout_seconds
        while True:
            left_seconds = max(0.0, give_up_at - loop.time())
            wait_seconds = min(left_seconds, NEAR_END_SECONDS) if self._ends_asked else left_seconds
            records = await self._fetched(limit, wait_seconds)
            was_reading_to_the_end = bool(self._ends_asked)
            await self._note_positions()
            reached = was_reading_to_the_end and not self._ends_asked
            if records or reached or loop.time() >= give_up_at:
                return records

    async def end(self, partition: int) -> int:
        """Return the last stable offset, asked from the broker now."""
        self._check(partition)
        found = await self._offsets.ask("end_offsets", self._topic, partition)
        if self._positions[partition] < found:
            self._ends_asked[partition] = found
        return found

    async def start(self, partition: int) -> int:
        """Return the earliest offset held, asked from the broker now."""
        self._check(partition)
        return await self._offsets.ask("beginning_offsets", self._topic, partition)

    def position(self, partition: int) -> int:
        """Return the offset of the next record to read."""
        self._check(partition)
        return self._positions[partition]

    async def seek(self, partition: int, offset: int) -> None:
        """Read on from `offset`, or from the start if that is later; behind the end is `LogError` (not retryable)."""
        self._check(partition)
        start, end = await asyncio.gather(self.start(partition), self._offsets.ask("end_offsets", self._topic, partition))
        if offset > end:
            raise LogError(f"{self._topic}[{partition}] ends at {end}, before {offset}", retryable=False)
        self._consumer.seek(TopicPartition(self._topic, partition), max(offset, start))
        self._positions[partition] = max(offset, start)
        self._ends_asked.pop(partition, None)

    async def close(self) -> None:
        """Stop reading. Never raises."""
        await stop(self._consumer, seconds=self._deadline_seconds)

    async def open(self, start: int | None) -> None:
        """Set every partition to `start`, or to its end for None."""
        places = [TopicPartition(self._topic, partition) for partition in self._partitions]
        asking = self._consumer.end_offsets if start is None else self._consumer.beginning_offsets
        self._consumer.assign(places)
        for place in places:
            # Before anything is awaited: a consumer without a position would ask the broker for one.
            self._consumer.seek(place, start or 0)
        self._consumer.pause(*places)
        known = await asking(places)
        for place in places:
            self._positions[place.partition] = max(start or 0, known[place])
            self._consumer.seek(place, self._positions[place.partition])
        self._consumer.resume(*places)

    async def _fetched(self, limit: int, timeout_seconds: float) -> list[LogRecord]:
        try:
            fetched = await self._consumer.getmany(timeout_ms=timeout_seconds * 1000, max_records=limit)
        except errors.OffsetOutOfRangeError as error:
            await self._catch_up_with_retention(error)
            return []
        except CLIENT_ERRORS as error:
            raise to_log_error(error, f"reading {self._topic}") from error
        return [_record(found) for group in fetched.values() for found in group]

    async def _catch_up_with_retention(self, error: errors.OffsetOutOfRangeError) -> None:
        """Go on at the start where records were deleted before they were read; `seek` refuses the other case."""
        for place, offset in error.args[0].items():
            await self.seek(place.partition, offset)

    async def _note_positions(self) -> None:
        for partition in self._partitions:
            position = await self._consumer.position(TopicPartition(self._topic, partition))
            self._positions[partition] = position
            if position >= self._ends_asked.get(partition, position + 1):
                del self._ends_asked[partition]

    def _check(self, partition: int) -> None:
        if partition not in self._positions:
            raise ValueError(f"this reader does not read {self._topic}[{partition}]")


async def open_reader(
    connection: KafkaConnection,
    offsets: OffsetLookup,
    topic: str,
    partitions: Sequence[int],
    *,
    start: int | None,
    deadline_seconds: float,
) -> Reader:
    """Return a reader that stands at `start` in every partition, or at the end for None. Raises `LogError`."""
    consumer = AIOKafkaConsumer(
        **connection.options(request_timeout_seconds=deadline_seconds),
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="none",
        isolation_level="read_committed",
        fetch_max_wait_ms=FETCH_WAIT_MS if len(partitions) == 1 else SHARED_FETCH_WAIT_MS,
        max_partition_fetch_bytes=FETCH_BYTES_MAX,
    )
    reader = KafkaReader(consumer, offsets, topic, partitions, deadline_seconds)
    try:
        async with asyncio.timeout(deadline_seconds):
            with starting():
                await consumer.start()
            await reader.open(start)
    except BaseException as error:
        await finish(reader.close())
        if isinstance(error, CLIENT_ERRORS):
            raise to_log_error(error, f"opening {topic}") from error
        raise
    return reader


def _record(found: ConsumerRecord[bytes, bytes]) -> LogRecord:
    return LogRecord(
        topic=found.topic,
        partition=found.partition,
        offset=found.offset,
        key=found.key,
        value=found.value,
        headers=_headers(found.headers),
        appended_at=found.timestamp,
    )


def _headers(found: Headers) -> Headers:
    """Return headers that all have a value: Kafka allows null, which says no more than nothing at all."""
    for _, value in found:  # of each record: a generator costs a microsecond
        if value is None:
            return tuple((name, value or b"") for name, value in found)
    return found
