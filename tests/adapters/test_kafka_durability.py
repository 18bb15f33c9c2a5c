"""Does a cluster keep what it acknowledges, and is it set as leadclock needs it? Shown on one and on two real brokers."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from adapters.kafka.cluster_metadata import ClusterMetadata
from adapters.kafka.connection import KafkaConnection
from adapters.kafka.log import KafkaLog
from adapters.kafka.topics import Drift, TopicSpec, compare_topics, find_too_small, prepare_topics
from adapters.local.jars import find_jars, find_java
from adapters.local.kafka import ManagedKafka, managed_kafka
from engine.partition.ports import LogError
from tests.adapters.kafka_world import Admin, SecondKafka
from tests.pace import bound

LEAST = frozenset({"retention.ms", "max.message.bytes"})
WAIT_SECONDS = bound(90.0)
"""The bound of a hang: each broker learns a moment later of what was created or set."""


async def differing(
    connection: KafkaConnection, specs: Sequence[TopicSpec], settings: Sequence[str], *, replicas: int | None = None
) -> list[Drift]:
    """Wait until exactly these settings differ, and return how."""
    drifts: list[Drift] = []
    async with asyncio.timeout(WAIT_SECONDS):
        while [drift.setting for drift in drifts] != list(settings):
            await asyncio.sleep(0.05)
            drifts = await compare_topics(connection, specs, replicas=replicas)
    return drifts


class HastyKafka(ManagedKafka):
    """A broker that ends transactions after 10 s, and takes small records by default."""

    def _write_properties(self) -> None:
        super()._write_properties()
        with self._properties.open("a") as file:
            file.write("transaction.max.timeout.ms=10000\nmessage.max.bytes=500000\n")


@pytest.fixture
async def hasty(data_dir: Path) -> AsyncIterator[ManagedKafka]:
    kafka = HastyKafka(data_dir, java=find_java(), jars=find_jars())
    await kafka.start()
    yield kafka
    await kafka.stop()


async def test_a_broker_that_ends_transactions_too_early_is_named_with_its_setting(hasty: ManagedKafka) -> None:
    connection, spec = KafkaConnection(hasty.bootstrap), TopicSpec("requests", 1)
    created, (drift,) = await prepare_topics(connection, [spec])
    assert created == ["requests"]
    assert (drift.topic, drift.setting, drift.wanted, drift.found) == (
        "broker 1", "transaction.max.timeout.ms", "15000", "10000",
    )  # fmt: skip
    assert (await compare_topics(connection, [spec])) == [drift]
    log = KafkaLog(hasty.bootstrap)
    with pytest.raises(LogError, match=r"set transaction\.max\.timeout\.ms=15000 or more on every broker") as raised:
        await log.own("requests", 0)
    assert not raised.value.retryable
    assert "InvalidTransactionTimeout" not in str(raised.value)
    await log.close()
    (small,) = await find_too_small(connection, ["requests"], 1_048_588)
    assert (small.found, small.wanted) == ("500000", "1048588")
    assert "--add-config max.message.bytes=1048588" in small.fix


async def test_topics_of_two_brokers_are_created_with_two_replicas_and_one_with_less_is_reported(data_dir: Path) -> None:
    async with contextlib.AsyncExitStack() as stack:
        first = await stack.enter_async_context(managed_kafka(data_dir))
        second = SecondKafka(data_dir / "second", first)
        await second.start()
        stack.push_async_callback(second.stop)
        connection = KafkaConnection(f"{first.bootstrap},{second.bootstrap}")
        whole, thin = TopicSpec("whole", 3), TopicSpec("thin", 3)
        assert await prepare_topics(connection, [whole]) == (["whole"], [])
        await prepare_topics(connection, [thin], replicas=1)

        (drift,) = await differing(connection, [whole, thin], ["replicas"])

        assert (drift.topic, drift.setting, drift.wanted, drift.found) == ("thin", "replicas", "2", "1")
        assert "kafka-reassign-partitions.sh" in drift.fix
        assert {'"replicas":[1,2]' in drift.fix, '"replicas":[2,1]' in drift.fix} == {True}
        drifts = await differing(connection, [whole], ["replicas", "min.insync.replicas"], replicas=3)
        assert [(drift.wanted, drift.found) for drift in drifts] == [("3", "2"), ("2", "1")]


async def test_what_makes_a_topic_unsafe_is_reported_and_more_than_is_needed_is_not(
    kafka_bootstrap: str, topic_prefix: str
) -> None:
    connection = KafkaConnection(kafka_bootstrap)
    spec = TopicSpec(f"{topic_prefix}x", 1, {"retention.ms": "2000", "max.message.bytes": "600000"}, LEAST)
    assert await prepare_topics(connection, [spec]) == ([spec.name], [])
    catalog = ClusterMetadata(connection)
    async with Admin(connection) as admin:
        more = {"retention.ms": "-1", "max.message.bytes": "700000", "min.insync.replicas": "2"}
        await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, spec.name, more)])
        async with asyncio.timeout(WAIT_SECONDS):
            while (await catalog.configs(spec.name))["min.insync.replicas"] != "2":
                await asyncio.sleep(0.05)
        assert await compare_topics(connection, [spec]) == []
        unsafe = {"retention.ms": "1999", "max.message.bytes": "600000", "unclean.leader.election.enable": "true"}
        await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, spec.name, unsafe)])
    drifts = await differing(connection, [spec], ["retention.ms", "unclean.leader.election.enable"])
    await catalog.close()
    assert [(drift.setting, drift.wanted, drift.found) for drift in drifts] == [
        ("retention.ms", "2000", "1999"),
        ("unclean.leader.election.enable", "false", "true"),
    ]
