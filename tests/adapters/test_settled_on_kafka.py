"""Does a new owner of a partition make readable what a former owner committed? On a real broker (`producers.settle`).

A commit whose marker the broker forgot cannot be provoked at will (`tests/adapters/local/test_kafka.py` kills a broker for
it, which shows half of the time). What heals it can be seen each time: a marker of the new owner where the commit hangs.
"""

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from adapters.kafka.connection import KafkaConnection
from adapters.kafka.log import KafkaLog
from adapters.kafka.topics import TopicSpec, prepare_topics

WAIT_SECONDS = 60.0


@pytest.fixture
async def log(kafka_bootstrap: str, topic_prefix: str) -> AsyncIterator[KafkaLog]:
    log = KafkaLog(kafka_bootstrap, app=topic_prefix)
    names = ("requests", "state", "decisions")
    await prepare_topics(KafkaConnection(kafka_bootstrap), [TopicSpec(topic_prefix + name, 2) for name in names])
    yield log
    await log.close()


async def test_a_new_owner_leaves_a_marker_in_everything_that_its_commits_write(
    log: KafkaLog, kafka_bootstrap: str, topic_prefix: str
) -> None:
    written = [TopicPartition(topic_prefix + name, 1) for name in ("state", "decisions")]
    others = [TopicPartition(topic_prefix + "requests", 1), TopicPartition(topic_prefix + "state", 0)]

    owner = await log.own(topic_prefix + "requests", 1, writes=[place.topic for place in written])
    ends = await ends_of(kafka_bootstrap, written)
    await owner.close()

    assert ends == dict.fromkeys(written, 1), "a commit that hangs is left as it is"
    assert await ends_of(kafka_bootstrap, others, wait_seconds=0) == dict.fromkeys(others, 0)


async def ends_of(
    bootstrap: str, places: list[TopicPartition], *, wait_seconds: float = WAIT_SECONDS
) -> dict[TopicPartition, int]:
    """Return where partitions end, markers included, once something is in each: brokers write markers in their own time."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=None, isolation_level="read_uncommitted")
    await consumer.start()
    deadline = asyncio.get_running_loop().time() + wait_seconds
    try:
        while True:
            ends: dict[TopicPartition, int] = await consumer.end_offsets(places)
            if all(ends.values()) or asyncio.get_running_loop().time() >= deadline:
                return ends
            await asyncio.sleep(0.05)
    finally:
        await consumer.stop()
