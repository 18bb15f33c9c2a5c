"""What does a test do to a Kafka log from behind? Topics come and go, records expire, commits hang."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path

from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import MessageSizeTooLargeError
from aiokafka.structs import TopicPartition

from adapters.kafka.connection import KafkaConnection
from adapters.kafka.log import KafkaLog
from adapters.kafka.ownership import KafkaOwnership
from adapters.kafka.topics import TopicSpec, prepare_topics
from adapters.local.jars import find_jars, find_java
from adapters.local.kafka import ManagedKafka, broker_properties
from adapters.local.process import LOCALHOST, run_to_end
from engine.partition.ports import LogError, Outgoing, Ownership
from tests.pace import bound

BOTH_SECONDS = bound(90.0)
"""The bound of a hang."""

APPEND_TIME = {"message.timestamp.type": "LogAppendTime"}


class KafkaWorld:
    def __init__(self, bootstrap: str, prefix: str) -> None:
        self.connection = KafkaConnection(bootstrap)
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
        # A KRaft broker applies a changed limit after its answer. A topic changed in the same request shows when.
        (probe,) = await self.create("limit-probe")
        setting = {"max.message.bytes": str(record_bytes_max)}
        async with Admin(self.connection) as admin:
            await admin.alter_configs(
                [ConfigResource(ConfigResourceType.TOPIC, name, configs=setting) for name in (topic, probe)]
            )
        async with AIOKafkaProducer(bootstrap_servers=self.connection.bootstrap) as producer:
            with suppress(MessageSizeTooLargeError):
                while True:
                    await producer.send_and_wait(probe, os.urandom(record_bytes_max + 1))

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
    def __init__(self, connection: KafkaConnection) -> None:
        self.client = AIOKafkaAdminClient(**connection.options())

    async def __aenter__(self) -> AIOKafkaAdminClient:
        await self.client.start()
        return self.client

    async def __aexit__(self, *_error: object) -> None:
        await self.client.close()


class SecondKafka(ManagedKafka):
    """A broker that joins the cluster of another one, which alone is the controller."""

    def __init__(self, folder: Path, first: ManagedKafka) -> None:
        super().__init__(folder, java=find_java(), jars=find_jars())
        self._first = first

    async def start(self) -> None:
        """Start, and wait until each broker knows of both."""
        await super().start()
        async with asyncio.timeout(BOTH_SECONDS):
            for bootstrap in (self._first.bootstrap, self.bootstrap):
                while await _known_brokers(bootstrap) < 2:
                    await asyncio.sleep(0.1)

    def _write_properties(self) -> None:
        changed = {
            "process.roles": "broker",
            "node.id": "2",
            "controller.quorum.voters": f"1@{LOCALHOST}:{self._first.ports[1]}",
            "listeners": f"PLAINTEXT://{self.bootstrap}",
        }
        lines = [f"{name}={value}" for name, value in (broker_properties(self.ports) | changed).items()]
        self._properties.write_text("\n".join(lines) + "\n", "utf-8")

    async def _format(self) -> None:
        properties = (self._first._folder / "logs" / "meta.properties").read_text("ascii")
        cluster = next(line for line in properties.splitlines() if line.startswith("cluster.id=")).removeprefix(
            "cluster.id="
        )
        command = self._command("kafka.tools.StorageTool", "format", "--cluster-id", cluster)
        await run_to_end([*command, "--config", str(self._properties)], seconds=60.0, cwd=self._folder)


async def _known_brokers(bootstrap: str) -> int:
    """Return how many brokers one of them knows of: the first answer of a new client is that of the broker it is given."""
    client = AIOKafkaClient(bootstrap_servers=bootstrap)
    try:
        await client.bootstrap()
        return len(client.cluster.brokers())
    finally:
        await client.close()
