"""What is the least that exactly-once costs? A bare aiokafka relay: read committed, write as much as we would, commit.

It decides nothing: for each input it writes the bytes that our scheduler wrote for it, to the same topics and partitions,
with the same producer settings.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from adapters.kafka.connection import DEADLINE_SECONDS, KafkaConnection
from adapters.kafka.log import COMPRESSION
from adapters.kafka.producers import new_producer, send, split_into_batches
from adapters.kafka.reader import FETCH_BYTES_MAX, FETCH_WAIT_MS
from engine.partition.ports import Outgoing

POLL_MILLISECONDS = 500

Written = Sequence[Sequence[Outgoing]]
"""What is written per input of a partition, in order."""


class BareRelay:
    """One partition: a consumer without a group and a transactional producer, both connected."""

    def __init__(self, consumer: AIOKafkaConsumer, producer: AIOKafkaProducer, partition: int) -> None:
        self._consumer = consumer
        self._producer = producer
        self._partition = partition

    async def run(self, written: Written, *, inputs_max: int, batch_bytes_max: int) -> None:
        """Relay as many inputs as there is something to write for."""
        done = 0
        while done < len(written):
            found = await self._consumer.getmany(timeout_ms=POLL_MILLISECONDS, max_records=inputs_max)
            count = sum(len(records) for records in found.values())
            if count:
                outgoing = [record for one in written[done : done + count] for record in one]
                await self.transact(outgoing, batch_bytes_max=batch_bytes_max)
                done += count

    async def transact(self, outgoing: Sequence[Outgoing], *, batch_bytes_max: int) -> None:
        """Write records in one transaction."""
        by_topic: dict[str, list[Outgoing]] = {}
        for record in outgoing:
            by_topic.setdefault(record.topic, []).append(record)
        await self._producer.begin_transaction()
        under_way = [
            await send(self._producer, topic, self._partition, batch)
            for topic, records in by_topic.items()
            for batch in split_into_batches(records, batch_bytes_max)
        ]
        await asyncio.gather(*under_way)
        await self._producer.commit_transaction()

    async def poll(self) -> int:
        """Return how many inputs came."""
        found = await self._consumer.getmany(timeout_ms=POLL_MILLISECONDS)
        return sum(len(records) for records in found.values())


@asynccontextmanager
async def relays(
    bootstrap: str, topic: str, partitions: Mapping[int, int], *, app: str
) -> AsyncIterator[dict[int, BareRelay]]:
    """Connect a relay for each partition of a topic, which starts at the given offset."""
    connection = KafkaConnection(bootstrap, app)
    open_: list[AIOKafkaConsumer | AIOKafkaProducer] = []
    found: dict[int, BareRelay] = {}
    try:
        for partition, offset in partitions.items():
            consumer = AIOKafkaConsumer(
                **connection.options(),
                isolation_level="read_committed",
                enable_auto_commit=False,
                fetch_max_wait_ms=FETCH_WAIT_MS,
                max_partition_fetch_bytes=FETCH_BYTES_MAX,
            )
            producer = new_producer(
                connection,
                transactional_id=f"{app}.{topic}.{partition}",
                compression=COMPRESSION,
                deadline_seconds=DEADLINE_SECONDS,
            )
            open_ += [consumer, producer]
            await consumer.start()
            consumer.assign([TopicPartition(topic, partition)])
            consumer.seek(TopicPartition(topic, partition), offset)
            await producer.start()
            found[partition] = BareRelay(consumer, producer, partition)
        yield found
    finally:
        for client in open_:
            await client.stop()
