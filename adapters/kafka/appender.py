"""How is a record appended outside transactions without being lost, doubled or overtaken?

By an idempotent producer, one request per partition at a time. A batch is sent only after the one before it was
acknowledged: the broker accepts a later sequence number where an earlier batch of a new producer was refused.
Appends that wait meanwhile go together in the next batch: an answer of the broker costs more than a hundred records.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Sequence

from aiokafka import AIOKafkaProducer

from adapters.kafka.cluster_metadata import ClusterMetadata
from adapters.kafka.connection import CLIENT_ERRORS, KafkaConnection, to_log_error
from adapters.kafka.lifecycle import finish, starting
from adapters.kafka.producers import discard, new_producer, send, split_into_batches
from engine.partition.ports import LogError, Outgoing, RecordRefusedError, topic_of

GROUP_RECORDS_MAX = 1_000
"""Records of waiting appends that are sent together: about a megabyte."""


class _PendingAppend:
    """One append that waits for its turn."""

    __slots__ = ("answer", "records")

    def __init__(self, records: Sequence[Outgoing]) -> None:
        self.records = records
        self.answer: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()


class _SharedProducer:
    """A producer, and how many batches wait for its answer."""

    __slots__ = ("closed", "in_flight", "is_broken", "producer")

    def __init__(self, producer: AIOKafkaProducer) -> None:
        self.producer = producer
        self.in_flight = 0
        self.is_broken = False
        self.closed = asyncio.Event()


class KafkaAppender:
    """One producer for all partitions; another one takes its place after any failure.

    The failed one is closed when the batches of other partitions that it has under way are answered: one slow broker fails
    its own partitions only. Until then nothing is appended to the partition that failed.
    """

    def __init__(
        self, connection: KafkaConnection, metadata: ClusterMetadata, *, compression: str | None, deadline_seconds: float
    ) -> None:
        self._connection = connection
        self._metadata = metadata
        self._compression = compression
        self._deadline_seconds = deadline_seconds
        self._shared: _SharedProducer | None = None
        self._changing = asyncio.Lock()
        self._waiting: defaultdict[tuple[str, int], deque[_PendingAppend]] = defaultdict(deque)
        self._working: dict[tuple[str, int], asyncio.Task[None]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._closed = False

    async def append(self, partition: int, records: Sequence[Outgoing]) -> list[int]:
        """Append in order and return the offsets; see the port. All records are of one topic.

        An append that is cancelled while it waits for the answer may have been written.
        """
        if not records:
            return []
        topic = topic_of(records)
        split_into_batches(
            records, await self._metadata.batch_bytes_max(topic)
        )  # refuses what is too large before anything is sent
        call = _PendingAppend(records)
        self._waiting[topic, partition].append(call)
        if (topic, partition) not in self._working:
            self._working[topic, partition] = asyncio.create_task(self._work(topic, partition))
        return await call.answer

    async def close(self) -> None:
        """Let what is under way finish, then stop. Never raises."""
        self._closed = True
        shared, self._shared = self._shared, None
        if shared is not None:
            await finish(discard(shared.producer, is_broken=False))
        await asyncio.gather(*self._working.values(), return_exceptions=True)
        await asyncio.gather(*self._closing, return_exceptions=True)

    async def _work(self, topic: str, partition: int) -> None:
        """Send what waits for a partition, group by group, until nothing does."""
        try:
            while group := self._next_group(self._waiting[topic, partition]):
                await self._send_group(topic, partition, group)
        finally:
            del self._working[topic, partition]

    def _next_group(self, waiting: deque[_PendingAppend]) -> list[_PendingAppend]:
        group: list[_PendingAppend] = []
        count = 0
        while waiting and (not group or count + len(waiting[0].records) <= GROUP_RECORDS_MAX):
            call = waiting.popleft()
            if not call.answer.done():  # one that was cancelled before its turn has appended nothing
                group.append(call)
                count += len(call.records)
        return group

    async def _send_group(self, topic: str, partition: int, group: Sequence[_PendingAppend]) -> None:
        """Send the records of a group in order.

        A record that is too large fails its own append only. Any other error fails all: how far it came is unknown.
        """
        offsets: list[int] = []
        try:
            try:
                await self._send(topic, partition, [record for call in group for record in call.records], offsets)
            except RecordRefusedError:
                await self._send_one_by_one(topic, partition, group, deque(offsets))
                return
        except Exception as error:  # noqa: BLE001 - it is the callers' to handle
            for call in group:
                if not call.answer.done():
                    call.answer.set_exception(error)
            return
        except BaseException:  # the process ends
            for call in group:
                call.answer.cancel()
            raise
        start = 0
        for call in group:
            if not call.answer.done():
                call.answer.set_result(offsets[start : start + len(call.records)])
            start += len(call.records)

    async def _send(self, topic: str, partition: int, records: Sequence[Outgoing], offsets: list[int]) -> None:
        """Append records in batches and add their offsets as each batch is acknowledged."""
        for batch in split_into_batches(records, await self._metadata.batch_bytes_max(topic)):
            first = await self._append_batch(topic, partition, batch)
            offsets.extend(range(first, first + len(batch)))

    async def _send_one_by_one(
        self, topic: str, partition: int, group: Sequence[_PendingAppend], appended: deque[int]
    ) -> None:
        """Send what a refused batch left, in the same order: the broker wrote nothing of it, so nothing is doubled.

        `appended` are the offsets of the first records of the group, which the broker has.
        """
        for call in group:
            offsets: list[int] = []
            try:
                for record in call.records:
                    if appended:
                        offsets.append(appended.popleft())
                    else:
                        await self._send(topic, partition, [record], offsets)
            except RecordRefusedError as error:
                if not call.answer.done():
                    place = len(offsets)
                    call.answer.set_exception(RecordRefusedError(str(error), index=place, appended=place))
            else:
                if not call.answer.done():
                    call.answer.set_result(offsets)

    async def _append_batch(self, topic: str, partition: int, batch: Sequence[Outgoing]) -> int:
        doing = f"appending to {topic}[{partition}]"
        shared = await self._started(doing)
        try:
            async with asyncio.timeout(self._deadline_seconds):
                sent = await send(shared.producer, topic, partition, batch)
                metadata = await sent
        except BaseException as error:
            # Also after a cancel: what was sent may still arrive, and must not arrive after the next append.
            self._retire(shared)
            self._release(shared)
            await shared.closed.wait()
            if isinstance(error, CLIENT_ERRORS):
                raise to_log_error(error, doing) from error
            raise
        self._release(shared)
        return int(metadata.offset)

    async def _started(self, doing: str) -> _SharedProducer:
        """Return the producer of all partitions, with one more batch under way."""
        async with self._changing:
            if self._closed:
                raise LogError(f"{doing}: the appender is closed", retryable=False)
            if self._shared is None:
                self._shared = _SharedProducer(await self._start(doing))
            self._shared.in_flight += 1
            return self._shared

    def _retire(self, shared: _SharedProducer) -> None:
        """Let the next append start another producer."""
        shared.is_broken = True
        if self._shared is shared:
            self._shared = None
        self._metadata.forget()

    def _release(self, shared: _SharedProducer) -> None:
        """End a batch, within the deadline. The last one of a broken producer closes it; those that failed wait for that."""
        shared.in_flight -= 1
        if shared.is_broken and shared.in_flight == 0:
            closing = asyncio.create_task(self._close(shared))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def _close(self, shared: _SharedProducer) -> None:
        await discard(shared.producer, is_broken=True)
        shared.closed.set()

    async def _start(self, doing: str) -> AIOKafkaProducer:
        producer = new_producer(
            self._connection,
            transactional_id=None,
            compression=self._compression,
            deadline_seconds=self._deadline_seconds,
        )
        try:
            async with asyncio.timeout(self._deadline_seconds):
                with starting():
                    await producer.start()
        except BaseException as error:
            await finish(discard(producer, is_broken=True))
            if isinstance(error, CLIENT_ERRORS):
                raise to_log_error(error, doing) from error
            raise
        return producer
