"""How is a record appended outside transactions without being lost, doubled or overtaken?

By an idempotent producer, one request per partition at a time. A batch is sent only after the one before it was
acknowledged: the broker accepts a later sequence number where an earlier batch of a new producer was refused.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from aiokafka import AIOKafkaProducer

from adapters.kafka.catalog import Catalog
from adapters.kafka.connection import FAILURES, Connection, refusal
from adapters.kafka.producers import discard, new_producer, packed, send
from engine.partition.ports import LogError, Outgoing


class KafkaAppender:
    """One producer for all partitions; it is replaced after any failure, before anything else is appended."""

    def __init__(
        self, connection: Connection, catalog: Catalog, *, compression: str | None, deadline_seconds: float
    ) -> None:
        self._connection = connection
        self._catalog = catalog
        self._compression = compression
        self._deadline_seconds = deadline_seconds
        self._producer: AIOKafkaProducer | None = None
        self._changing = asyncio.Lock()
        self._turns: defaultdict[tuple[str, int], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._closed = False

    async def append(self, partition: int, records: Sequence[Outgoing]) -> list[int]:
        """Append in order and return the offsets; see the port. All records are of one topic."""
        if not records:
            return []
        topic = records[0].topic
        if any(record.topic != topic for record in records):
            raise ValueError("one append is for one topic")
        batches = packed(records, await self._catalog.batch_bytes_max(topic))
        offsets: list[int] = []
        async with self._turns[topic, partition]:
            for batch in batches:
                first = await self._append_batch(topic, partition, batch)
                offsets.extend(range(first, first + len(batch)))
        return offsets

    async def close(self) -> None:
        """Let what is under way finish, then stop. Never raises."""
        self._closed = True
        producer, self._producer = self._producer, None
        if producer is not None:
            await asyncio.shield(discard(producer))

    async def _append_batch(self, topic: str, partition: int, batch: Sequence[Outgoing]) -> int:
        doing = f"appending to {topic}[{partition}]"
        producer = await self._started(doing)
        try:
            async with asyncio.timeout(self._deadline_seconds):
                sent = await send(producer, topic, partition, batch)
                metadata = await sent
        except BaseException as error:
            # Also after a cancel: what is under way may still arrive, and must not arrive after the next append.
            await asyncio.shield(self._replace(producer))
            if isinstance(error, FAILURES):
                raise refusal(error, doing) from error
            raise
        return int(metadata.offset)

    async def _started(self, doing: str) -> AIOKafkaProducer:
        async with self._changing:
            if self._closed:
                raise LogError(f"{doing}: the appender is closed", retryable=False)
            if self._producer is None:
                self._producer = await self._start(doing)
            return self._producer

    async def _start(self, doing: str) -> AIOKafkaProducer:
        producer = new_producer(
            self._connection,
            transactional_id=None,
            compression=self._compression,
            deadline_seconds=self._deadline_seconds,
        )
        try:
            async with asyncio.timeout(self._deadline_seconds):
                await producer.start()
        except BaseException as error:
            await asyncio.shield(discard(producer))
            if isinstance(error, FAILURES):
                raise refusal(error, doing) from error
            raise
        return producer

    async def _replace(self, broken: AIOKafkaProducer) -> None:
        async with self._changing:
            if self._producer is broken:
                self._producer = None
        self._catalog.forget()
        await discard(broken)
