"""What does a test do to a Kafka log from behind? Topics come and go, records expire, commits hang."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.structs import TopicPartition

from adapters.kafka.connection import Connection
from adapters.kafka.log import KafkaLog
from adapters.kafka.ownership import KafkaOwnership
from adapters.kafka.topics import TopicSpec, prepare_topics
from engine.partition.ports import LogError, Outgoing, Ownership

APPEND_TIME = {"message.timestamp.type": "LogAppendTime"}


class KafkaWorld:
    def __init__(self, bootstrap: str, prefix: str) -> None:
        self.connection = Connection(bootstrap)
        self.prefix = prefix
        self.log = KafkaLog(bootstrap, app=prefix.rstrip("."))
        self.hanging: asyncio.Task[None] | None = None

    async def create(self, *names: str, partitions: int = 2) -> list[str]:
        specs = [TopicSpec(self.prefix + name, partitions, APPEND_TIME) for name in names]
        await prepare_topics(self.connection, specs)
        return [spec.name for spec in specs]

    async def delete(self, topic: str) -> None:
        async with Admin(self.connection) as admin:
            await admin.delete_topics([topic])
        while True:
            try:
                await self.log.topic_id(topic)
            except LogError:
                return
            await asyncio.sleep(0.02)

    async def delete_records(self, topic: str, partition: int, before: int) -> None:
        async with Admin(self.connection) as admin:
            await admin.delete_records({TopicPartition(topic, partition): RecordsToDelete(before_offset=before)})

    async def limit(self, topic: str, record_bytes_max: int) -> None:
        limit = ConfigResource(ConfigResourceType.TOPIC, topic, configs={"max.message.bytes": str(record_bytes_max)})
        async with Admin(self.connection) as admin:
            await admin.alter_configs([limit])

    async def hang(self, ownership: Ownership, records: Sequence[Outgoing]) -> Callable[[], Awaitable[None]]:
        assert isinstance(ownership, KafkaOwnership)
        producer, reached, go_on = ownership._producer, asyncio.Event(), asyncio.Event()
        commit_transaction = producer.commit_transaction

        async def commit_later() -> None:
            reached.set()
            await go_on.wait()
            await commit_transaction()

        producer.commit_transaction = commit_later
        hanging = self.hanging = asyncio.create_task(ownership.commit(records))
        await reached.wait()

        async def outcome() -> None:
            go_on.set()
            await hanging

        return outcome

    async def close(self) -> None:
        if self.hanging is not None:
            self.hanging.cancel()
            await asyncio.gather(self.hanging, return_exceptions=True)
        await self.log.close()


class Admin:
    def __init__(self, connection: Connection) -> None:
        self.client = AIOKafkaAdminClient(**connection.options())

    async def __aenter__(self) -> AIOKafkaAdminClient:
        await self.client.start()
        return self.client

    async def __aexit__(self, *_error: object) -> None:
        await self.client.close()
