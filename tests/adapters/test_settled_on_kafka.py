"""Does a new owner of a partition end what hangs there of a former owner, as that ended? On a real broker.

A broker forgets a marker when it stops or comes back, which cannot be timed (`tests/adapters/local/test_kafka.py` kills one
for it, which shows half of the time). Here the coordinator does not learn of one partition of a transaction, so it writes
no marker there: the broker is set to take such records.
"""

import asyncio
import re
from collections.abc import AsyncIterator

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import NotEnoughReplicasError

from adapters.kafka.cluster_metadata import ClusterMetadata
from adapters.kafka.connection import KafkaConnection
from adapters.kafka.last_transactions import LastTransactions
from adapters.kafka.log import KafkaLog
from adapters.kafka.topics import TopicSpec, prepare_topics
from engine.partition.ports import LogError, Outgoing
from tests.pace import bound

WAIT_SECONDS = bound(60.0)


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


@pytest.mark.parametrize(("ended", "shown"), [("commit", [b"hung", b"next"]), ("abort", [b"next"]), ("never", [b"next"])])
@pytest.mark.usefixtures("trusting_broker")
async def test_what_hangs_ends_as_its_transaction_did(
    log: KafkaLog, kafka_bootstrap: str, topic_prefix: str, ended: str, shown: list[bytes]
) -> None:
    requests, state, decisions = (topic_prefix + name for name in ("requests", "state", "decisions"))
    former = await hang(kafka_bootstrap, f"{topic_prefix}.{requests}.1", known=state, hidden=decisions, ended=ended)

    owner = await log.own(requests, 1, writes=[state, decisions])
    await owner.commit([Outgoing(topic, None, b"next") for topic in (state, decisions)])

    assert await committed(kafka_bootstrap, TopicPartition(state, 1)) == shown
    assert await committed(kafka_bootstrap, TopicPartition(decisions, 1)) == shown, (
        "a part of the transaction ended otherwise"
    )
    await owner.close()
    await former.stop()


@pytest.mark.parametrize("attempts", [1, 2])
@pytest.mark.parametrize("ended", ["commit", "abort", "never"])
@pytest.mark.usefixtures("trusting_broker")
async def test_a_take_over_that_broke_off_while_it_settled_changes_no_outcome(
    log: KafkaLog, kafka_bootstrap: str, topic_prefix: str, ended: str, attempts: int
) -> None:
    requests, state, decisions = (topic_prefix + name for name in ("requests", "state", "decisions"))
    shown = [b"hung", b"next"] if ended == "commit" else [b"next"]
    former = await hang(kafka_bootstrap, f"{topic_prefix}.{requests}.1", known=state, hidden=decisions, ended=ended)
    with pytest.MonkeyPatch.context() as broken:
        for name in ("commit_transaction", "abort_transaction"):
            broken.setattr(AIOKafkaProducer, name, break_off)
        for _ in range(attempts):
            with pytest.raises(LogError, match="broke off"):
                await log.own(requests, 1, writes=[state, decisions])

    owner = await log.own(requests, 1, writes=[state, decisions])
    await owner.commit([Outgoing(topic, None, b"next") for topic in (state, decisions)])

    for topic in (state, decisions):
        assert await committed(kafka_bootstrap, TopicPartition(topic, 1)) == shown, (
            f"{topic} does not end as its transaction did"
        )
    await owner.close()
    await former.stop()


@pytest.mark.usefixtures("trusting_broker")
async def test_a_partition_is_not_taken_while_anything_hangs_in_it(kafka_bootstrap: str, topic_prefix: str) -> None:
    log = KafkaLog(kafka_bootstrap, app=topic_prefix, deadline_seconds=2.0)
    requests, state, decisions = (topic_prefix + name for name in ("requests", "state", "decisions"))
    await prepare_topics(KafkaConnection(kafka_bootstrap), [TopicSpec(name, 2) for name in (requests, state, decisions)])
    stranger = await hang(kafka_bootstrap, f"{topic_prefix}.another", known=state, hidden=decisions, ended="never")

    with pytest.raises(LogError, match=rf"hang without the marker .*{re.escape(decisions)}\[1\] from 0 to 2"):
        await log.own(requests, 1, writes=[state, decisions])

    await stranger.abort_transaction()
    await stranger.stop()
    await log.close()


async def break_off(producer: AIOKafkaProducer) -> None:
    """Fail where the coordinator knows all partitions of the transaction, and not yet how it ends."""
    transactions = producer._txn_manager
    while transactions._pending_txn_partitions:
        await asyncio.sleep(0.01)
    raise NotEnoughReplicasError("broke off")


async def test_the_answer_is_kept_until_the_partition_is_settled(
    log: KafkaLog, kafka_bootstrap: str, topic_prefix: str
) -> None:
    requests = topic_prefix + "requests"
    owner_id = f"{topic_prefix}.{requests}.0"
    asked = LastTransactions(KafkaConnection(kafka_bootstrap))
    assert not await asked.look_up_abort(owner_id), "nobody has owned it"
    producer = AIOKafkaProducer(bootstrap_servers=kafka_bootstrap, transactional_id=owner_id)
    await producer.start()
    await producer.begin_transaction()
    await producer.send_and_wait(topic_prefix + "state", b"half", partition=0)
    assert await asked.look_up_abort(owner_id), "the next owner aborts it"

    await (await log.own(requests, 0)).close()  # as one that starts its producer and fails before it settles anything
    assert await asked.look_up_abort(owner_id)
    asked.forget(owner_id)
    assert not await asked.look_up_abort(owner_id)
    await asked.close()
    await producer.stop()


@pytest.fixture
async def trusting_broker(kafka_bootstrap: str) -> AsyncIterator[None]:
    """The broker takes records of partitions that are not part of the transaction, as all did before Kafka 3.6."""
    await set_brokers(kafka_bootstrap, {"transaction.partition.verification.enable": "false"})
    yield
    await set_brokers(kafka_bootstrap, {})


async def set_brokers(bootstrap: str, configs: dict[str, str]) -> None:
    metadata = ClusterMetadata(KafkaConnection(bootstrap))
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    brokers = await metadata.brokers()
    answers = await admin.alter_configs([ConfigResource(ConfigResourceType.BROKER, str(one), configs) for one in brokers])
    assert [resource[0] for answer in answers for resource in answer.resources] == [0] * len(brokers)
    await admin.close()
    await metadata.close()


async def hang(bootstrap: str, transactional_id: str, *, known: str, hidden: str, ended: str) -> AIOKafkaProducer:
    """Write to two topics in one transaction, of which the coordinator knows one."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=transactional_id)
    await producer.start()
    await producer.begin_transaction()
    producer._txn_manager._txn_partitions.add(TopicPartition(hidden, 1))
    for topic in (hidden, known):
        await producer.send_and_wait(topic, b"hung", partition=1)
    if ended == "commit":
        await producer.commit_transaction()
    elif ended == "abort":
        await producer.abort_transaction()
    return producer


async def committed(bootstrap: str, place: TopicPartition) -> list[bytes]:
    """Return what readers see up to the record `next`."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, isolation_level="read_committed", auto_offset_reset="earliest")
    await consumer.start()
    consumer.assign([place])
    seen: list[bytes] = []
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            while b"next" not in seen:
                seen.append((await consumer.getone()).value)
    finally:
        await consumer.stop()
    return seen


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
