"""Which traps of aiokafka 0.14 is the Kafka adapter built around? Each is shown on a real broker, then our way past it.

A trap that is gone in a newer version fails here: then the adapter may become simpler. Numbers are those of the
measurements that found them.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition, errors
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.producer.sender import EndTxnHandler
from aiokafka.producer.transaction_manager import TransactionState

from adapters.kafka import ownership
from adapters.kafka.assignment import GroupAssignment
from adapters.kafka.committed_offsets import CommittedOffsets
from adapters.kafka.connection import KafkaConnection
from adapters.kafka.lifecycle import mark_retrieved
from adapters.kafka.log import KafkaLog
from adapters.kafka.ownership import KafkaOwnership
from adapters.kafka.producers import discard, send
from adapters.kafka.topics import TopicSpec, prepare_topics
from adapters.local.kafka import managed_kafka
from adapters.partitions.checkpoint import Checkpoint
from engine.partition.ports import FencedError, LogError, Outgoing
from tests.adapters.kafka_world import Admin, SecondKafka
from tests.adapters.log_contract import contents, outgoing
from tests.pace import bound

LIMIT_BYTES = 2_000
WAIT_SECONDS = bound(90.0)
"""The bound of a hang: a member of a group waits for brokers that have just started."""


class Cluster:
    """Two topics with two partitions, and producers that are put away after the test."""

    def __init__(self, bootstrap: str, prefix: str, stack: contextlib.AsyncExitStack) -> None:
        self.connection = KafkaConnection(bootstrap)
        self.prefix = prefix
        self.requests, self.state, self.small = (prefix + name for name in ("requests", "state", "small"))
        self.log = KafkaLog(bootstrap, app=prefix)
        self._stack = stack

    async def producer(self, transactional_id: str | None = None, **settings: Any) -> AIOKafkaProducer:
        producer = AIOKafkaProducer(
            **self.connection.options(), transactional_id=transactional_id, enable_idempotence=True, **settings
        )
        self._stack.push_async_callback(discard, producer)
        await producer.start()
        return producer

    async def consumer(self, **settings: Any) -> AIOKafkaConsumer:
        consumer = AIOKafkaConsumer(
            **self.connection.options(request_timeout_seconds=20), enable_auto_commit=False, **settings
        )
        self._stack.push_async_callback(consumer.stop)
        await consumer.start()
        return consumer

    async def joined(self, group: str, **settings: Any) -> AIOKafkaConsumer:
        member = await self.consumer(group_id=group, **settings)
        member.subscribe([self.requests])
        async with asyncio.timeout(60):
            while not member.assignment():
                await member.getmany(timeout_ms=50)
        return member


@pytest.fixture
async def cluster(kafka_bootstrap: str, topic_prefix: str) -> AsyncIterator[Cluster]:
    async with contextlib.AsyncExitStack() as stack:
        cluster = Cluster(kafka_bootstrap, topic_prefix, stack)
        stack.push_async_callback(cluster.log.close)
        specs = [
            TopicSpec(cluster.requests, 2),
            TopicSpec(cluster.state, 2),
            TopicSpec(cluster.small, 2, {"max.message.bytes": str(LIMIT_BYTES)}),
        ]
        await prepare_topics(cluster.connection, specs)
        yield cluster


# T1: one transactional id per process does not fence a zombie, whatever the group says


async def test_t1_trap_a_zombie_that_left_the_group_still_commits(cluster: Cluster) -> None:
    place, group = TopicPartition(cluster.requests, 0), f"{cluster.prefix}group"
    seed = await cluster.producer()
    await seed.send_and_wait(cluster.requests, b"input", partition=0)
    zombie, successor = await cluster.producer(f"{cluster.prefix}p1"), await cluster.producer(f"{cluster.prefix}p2")
    for producer, name in ((zombie, b"zombie"), (successor, b"successor")):
        member = await cluster.joined(group)
        await producer.begin_transaction()
        await producer.send_and_wait(cluster.state, name, partition=0)
        await producer.send_offsets_to_transaction({place: 1}, group)
        if producer is zombie:
            await member.stop()
    await successor.commit_transaction()
    await zombie.commit_transaction()
    assert sorted(await contents(cluster.log, cluster.state)) == ["successor", "zombie"]


async def test_t1_ours_a_process_that_was_replaced_cannot_commit(cluster: Cluster) -> None:
    zombie = await cluster.log.own(cluster.requests, 0)
    other_process = KafkaLog(cluster.connection.bootstrap, app=cluster.prefix, client_id="other")
    successor = await other_process.own(cluster.requests, 0)
    with pytest.raises(FencedError):
        await zombie.commit(outgoing(cluster.state, "zombie"))
    await successor.commit(outgoing(cluster.state, "successor"))
    assert await contents(cluster.log, cluster.state) == ["successor"]
    for each in (zombie, successor, other_process):
        await each.close()


# T2: the epoch of one transactional id per partition fences, and aborts what was open


async def test_t2_the_start_of_a_successor_aborts_the_open_transaction_and_fences(cluster: Cluster) -> None:
    zombie = await cluster.producer("t2" + cluster.prefix)
    await zombie.begin_transaction()
    await zombie.send_and_wait(cluster.state, b"zombie", partition=0)
    successor = await cluster.producer("t2" + cluster.prefix)
    with pytest.raises(errors.ProducerFenced):
        await zombie.commit_transaction()
    await successor.begin_transaction()
    await successor.send_and_wait(cluster.state, b"successor", partition=0)
    await successor.commit_transaction()
    assert await contents(cluster.log, cluster.state) == ["successor"]


# T3: a refused batch does not stop the commit of its transaction


async def test_t3_trap_a_transaction_is_committed_without_its_refused_batch(cluster: Cluster) -> None:
    producer = await cluster.producer("t3" + cluster.prefix)
    await producer.begin_transaction()
    kept = await producer.send(cluster.state, b"kept", partition=0)
    refused = await producer.send(cluster.small, bytes(2 * LIMIT_BYTES), partition=0)
    await producer.commit_transaction()
    await kept
    with pytest.raises(errors.MessageSizeTooLargeError):
        await refused
    assert await contents(cluster.log, cluster.state) == ["kept"]
    assert await contents(cluster.log, cluster.small) == []


async def test_t3_ours_a_batch_that_the_broker_refuses_aborts_everything(cluster: Cluster) -> None:
    owner = await cluster.log.own(cluster.requests, 0)
    # The limit was lowered after we learned it, so that only the broker knows.
    cluster.log._metadata._batch_bytes_max[cluster.small] = 1_000_000
    refused = Outgoing(cluster.small, b"k", bytes(range(256)) * (LIMIT_BYTES // 64))
    with pytest.raises(LogError) as raised:
        await owner.commit([*outgoing(cluster.state, "kept?"), _incompressible(refused)])
    assert not raised.value.retryable
    newer = await cluster.log.own(cluster.requests, 0)
    await newer.commit(outgoing(cluster.state, "next"))
    assert await contents(cluster.log, cluster.state) == ["next"]
    assert await contents(cluster.log, cluster.small) == []
    await newer.close()


# T4: the first batch of a new idempotent producer may be refused and the second be accepted


async def test_t4_trap_a_later_batch_is_accepted_after_the_first_was_refused(cluster: Cluster) -> None:
    producer = await cluster.producer(max_batch_size=100)
    first = await producer.send(cluster.small, bytes(2 * LIMIT_BYTES), partition=0)
    second = await producer.send(cluster.small, b"second", partition=0)
    with pytest.raises(errors.MessageSizeTooLargeError):
        await first
    await second
    assert await contents(cluster.log, cluster.small) == ["second"]


async def test_t4_ours_nothing_of_an_append_follows_a_refused_batch_and_the_next_append_works(cluster: Cluster) -> None:
    appender = await cluster.log.appender()
    cluster.log._metadata._batch_bytes_max[cluster.small] = 1_000_000
    refused = _incompressible(Outgoing(cluster.small, None, bytes(600_000)))
    with pytest.raises(LogError) as raised:
        await appender.append(0, [refused, *outgoing(cluster.small, "second")])
    assert not raised.value.retryable
    assert await appender.append(0, outgoing(cluster.small, "next")) == [0]
    assert await contents(cluster.log, cluster.small) == ["next"]
    await appender.close()


# T5: a producer that failed can never be used again


async def test_t5_trap_a_fenced_producer_can_neither_abort_nor_begin(cluster: Cluster) -> None:
    fenced = await cluster.producer("t5" + cluster.prefix)
    await fenced.begin_transaction()
    await fenced.send_and_wait(cluster.state, b"x", partition=0)
    await cluster.producer("t5" + cluster.prefix)
    with pytest.raises(errors.ProducerFenced):
        await fenced.commit_transaction()
    with pytest.raises(AssertionError):
        await fenced.abort_transaction()
    with pytest.raises(AssertionError):
        await fenced.begin_transaction()


async def test_t5_trap_a_producer_that_is_fenced_between_two_batches_does_not_say_so(cluster: Cluster) -> None:
    fenced = await cluster.producer("t5" + cluster.prefix)
    await fenced.begin_transaction()
    await cluster.producer("t5" + cluster.prefix)
    await until_failed(fenced, await fenced.send(cluster.state, b"x", partition=0))
    with pytest.raises(errors.IllegalOperation, match="not in transaction") as raised:
        await fenced.send_batch(fenced.create_batch(), cluster.requests, partition=0)
    assert not isinstance(raised.value, errors.KafkaError)


async def until_failed(producer: AIOKafkaProducer, sent: asyncio.Future[Any]) -> None:
    """Wait until the broker has refused the transaction that a record or batch began."""
    async with asyncio.timeout(WAIT_SECONDS):
        while producer._txn_manager.is_in_transaction():
            await asyncio.sleep(0.01)
    mark_retrieved(sent)


async def test_t5_ours_an_ownership_that_is_lost_between_two_batches_is_fenced(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def send_late(producer: AIOKafkaProducer, *batch: Any) -> asyncio.Future[Any]:
        sent = await send(producer, *batch)
        await until_failed(producer, sent)
        return sent

    older = await cluster.log.own(cluster.requests, 0)
    newer = await cluster.log.own(cluster.requests, 0)
    monkeypatch.setattr(ownership, "send", send_late)
    with pytest.raises(FencedError):
        await older.commit([*outgoing(cluster.state, "a"), *outgoing(cluster.requests, "b")])
    for each in (older, newer):
        await each.close()


async def test_t5_ours_a_commit_that_the_coordinator_fails_while_it_fences_is_fenced(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kafka 4.3.0 does this to 1 of 150 commits that a newer owner fences at a random time, so the answer is set here."""
    older = await cluster.log.own(cluster.requests, 0)

    def answer(*_: Any) -> float:
        raise errors.UnknownError

    monkeypatch.setattr(EndTxnHandler, "handle_response", answer)
    with pytest.raises(FencedError):
        await older.commit(outgoing(cluster.state, "a"))
    monkeypatch.undo()
    newer = await cluster.log.own(cluster.requests, 0)
    await newer.commit(outgoing(cluster.state, "b"))
    for each in (older, newer):
        await each.close()


async def test_t5_trap_a_timed_out_transaction_looks_like_a_newer_owner(cluster: Cluster) -> None:
    # Long enough that the broker's check, every 10 s, cannot fall between the transaction's begin and its record.
    slow = await cluster.producer("slow" + cluster.prefix, transaction_timeout_ms=5_000)
    await slow.begin_transaction()
    await slow.send_and_wait(cluster.state, b"slow", partition=0)
    reader = await cluster.log.reader(cluster.state, [0])
    async with asyncio.timeout(90):
        while await reader.end(0) < 2:
            await asyncio.sleep(0.1)
    with pytest.raises(errors.ProducerFenced):
        await slow.commit_transaction()
    assert await contents(cluster.log, cluster.state) == []
    await reader.close()


async def test_t5_ours_a_dead_ownership_says_why_and_its_producer_is_gone(cluster: Cluster) -> None:
    older = await cluster.log.own(cluster.requests, 0)
    assert isinstance(older, KafkaOwnership)
    await older.commit(outgoing(cluster.state, "a"))
    newer = await cluster.log.own(cluster.requests, 0)
    for _ in range(3):
        with pytest.raises(FencedError):
            await older.commit(outgoing(cluster.state, "b"))
    assert older._producer._closed
    assert older._producer._sender.sender_task.done()
    again = await cluster.log.own(cluster.requests, 0)
    await again.commit(outgoing(cluster.state, "c"))
    assert await contents(cluster.log, cluster.state) == ["a", "c"]
    for each in (older, newer, again):
        await each.close()


async def test_t5_ours_a_producer_is_put_away_from_every_state(cluster: Cluster) -> None:
    for state in (TransactionState.UNINITIALIZED, TransactionState.READY, TransactionState.IN_TRANSACTION):
        producer = AIOKafkaProducer(**cluster.connection.options(), transactional_id=f"{state}{cluster.prefix}")
        if state is not TransactionState.UNINITIALIZED:
            await producer.start()
        if state is TransactionState.IN_TRANSACTION:
            await producer.begin_transaction()
            await producer.send(cluster.state, b"open", partition=0)
        assert producer._txn_manager.state is state
        await discard(producer)
        await discard(producer)
    assert await contents(cluster.log, cluster.state) == []


# T6: static membership and the sticky assignor


async def test_t6_trap_two_static_members_of_one_name_own_every_partition_both(cluster: Cluster) -> None:
    members = [await cluster.joined(f"{cluster.prefix}static", group_instance_id="same") for _ in range(2)]
    assert [len(member.assignment()) for member in members] == [2, 2]


def test_t6_trap_the_sticky_assignor_remembers_in_its_class() -> None:
    assert "member_assignment" in vars(StickyPartitionAssignor)
    assert isinstance(vars(StickyPartitionAssignor)["on_assignment"], classmethod)


async def test_t6_ours_is_one_dynamic_member_with_one_assignor_that_keeps_no_memory(cluster: Cluster) -> None:
    member = GroupAssignment(cluster.connection, f"{cluster.prefix}group", cluster.requests)
    consumer = member._new_consumer()
    assert consumer._group_instance_id is None
    (assignor,) = consumer._partition_assignment_strategy
    assert assignor.name == "range"
    await consumer.stop()


# T7: the offsets of a group are asked of a broker that is not its coordinator any more: the answer is "there are none"


class Moved:
    """Two brokers, and a group with an offset that asks the broker that is not its coordinator, as after a move."""

    def __init__(self, bootstrap: str, group: str, topic: str, stack: contextlib.AsyncExitStack) -> None:
        self.connection = KafkaConnection(bootstrap)
        self.group = group
        self.topic = topic
        self.place = TopicPartition(topic, 0)
        self.coordinator = self.other = 0
        self.member = GroupAssignment(self.connection, group, topic)
        stack.push_async_callback(self.member.close)

    async def begin(self) -> None:
        await self.member.start()
        await assigned(self.member)
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                with contextlib.suppress(LogError):
                    await self.member.save_checkpoint(0, Checkpoint(49_167, "rules of then"))
                    break
                await asyncio.sleep(0.1)
        async with Admin(self.connection) as admin:
            self.coordinator = await admin.find_coordinator(self.group)
        self.other = 3 - self.coordinator


@pytest.fixture
async def moved(data_dir: Path, topic_prefix: str) -> AsyncIterator[Moved]:
    async with contextlib.AsyncExitStack() as stack:
        first = await stack.enter_async_context(managed_kafka(data_dir))
        second = SecondKafka(data_dir / "second", first)
        await second.start()
        stack.push_async_callback(second.stop)
        topic = f"{topic_prefix}inbox"
        await prepare_topics(KafkaConnection(first.bootstrap), [TopicSpec(topic, 1)], replicas=1)
        # Both brokers are named: whichever is asked first knows of the other.
        moved = Moved(f"{first.bootstrap},{second.bootstrap}", f"{topic_prefix}group", topic, stack)
        await moved.begin()
        yield moved


async def test_t7_trap_admin_client_and_consumer_believe_a_broker_that_is_not_the_coordinator(moved: Moved) -> None:
    async with Admin(moved.connection) as admin:
        asked = [await admin.list_consumer_group_offsets(moved.group, node) for node in (moved.other, moved.coordinator)]
    assert [len(offsets) for offsets in asked] == [0, 1]
    consumer = AIOKafkaConsumer(**moved.connection.options(), group_id=moved.group, enable_auto_commit=False)
    await consumer.start()
    try:
        assert await consumer.committed(moved.place) == 49_167
        consumer._coordinator.coordinator_id = moved.other
        assert await consumer.committed(moved.place) is None
    finally:
        await consumer.stop()


async def test_t7_ours_an_offset_is_found_and_confirmed_wherever_the_coordinator_is(moved: Moved) -> None:
    progress = CommittedOffsets(moved.connection, moved.group, moved.topic)
    progress._coordinators._nodes[moved.group] = moved.other
    assert await progress.checkpoints() == {0: Checkpoint(49_167, "rules of then")}
    assert progress._coordinators._nodes == {moved.group: moved.coordinator}
    await progress.close()
    await moved.member.close()
    again = GroupAssignment(moved.connection, moved.group, moved.topic)
    await again.start()
    await assigned(again)
    assert again._consumer is not None
    again._consumer._coordinator.coordinator_id = moved.other
    async with asyncio.timeout(WAIT_SECONDS):
        while not await again.confirm(0):
            await asyncio.sleep(0.1)
    assert await again.load_checkpoint(0) == Checkpoint(49_167, "rules of then")
    await again.close()


async def assigned(member: GroupAssignment) -> None:
    """Wait until a member has partitions."""
    async with asyncio.timeout(WAIT_SECONDS):
        async for partitions in member.changes():
            if partitions:
                return


# Others that were found beside them


async def test_trap_what_a_rebalance_listener_raises_is_swallowed(cluster: Cluster) -> None:
    class Broken(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka has no types
        def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
            pass

        def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
            raise RuntimeError("the restore failed")

    member = await cluster.consumer(group_id=f"{cluster.prefix}swallows")
    member.subscribe([cluster.requests], listener=Broken())
    async with asyncio.timeout(60):
        while not member.assignment():
            await member.getmany(timeout_ms=50)
    assert await member.getmany(timeout_ms=50) == {}


async def test_trap_altering_one_key_of_a_topic_resets_the_others(cluster: Cluster) -> None:
    specs = [TopicSpec(cluster.small, 2, {"max.message.bytes": str(LIMIT_BYTES)})]
    assert (await prepare_topics(cluster.connection, specs)) == ([], [])
    async with Admin(cluster.connection) as admin:
        await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, cluster.small, {"retention.ms": "1000"})])
    async with asyncio.timeout(60):
        while not (drifts := (await prepare_topics(cluster.connection, specs))[1]):
            await asyncio.sleep(0.05)
    assert [(drift.setting, drift.found) for drift in drifts] == [("max.message.bytes", "1048588")]


def _incompressible(record: Outgoing) -> Outgoing:
    """Return a record of the same size that lz4 cannot make smaller (a fixed stream of a linear congruence)."""
    state, noise = 1, bytearray()
    for _ in range(len(record.value or b"")):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        noise.append(state >> 56)
    return Outgoing(record.topic, record.key, bytes(noise), record.headers)
