"""Does the Kafka adapter keep every promise of a log on a real broker, and prepare topics without ever altering one?"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer, errors
from aiokafka.admin import NewPartitions
from aiokafka.record.default_records import _DefaultRecordBatchBuilderPy
from aiokafka.structs import TopicPartition
from msgspec.structs import replace

from adapters.kafka.connection import KafkaConnection, Security
from adapters.kafka.log import KafkaLog
from adapters.kafka.producers import send, split_into_batches
from adapters.kafka.reader import KafkaReader
from adapters.kafka.topics import TopicSpec, compare_topics, prepare_topics
from engine.partition.ports import LogError, Outgoing
from tests.adapters.kafka_world import APPEND_TIME, Admin, KafkaWorld
from tests.adapters.log_contract import LogContract, World, contents, everything, outgoing, values


@pytest.fixture
def connection(kafka_bootstrap: str) -> KafkaConnection:
    return KafkaConnection(kafka_bootstrap)


class TestKafka(LogContract):
    @pytest.fixture
    async def world(self, kafka_bootstrap: str, topic_prefix: str) -> AsyncIterator[World]:
        world = KafkaWorld(kafka_bootstrap, topic_prefix)
        yield world
        await world.close()


async def test_an_installation_of_another_name_does_not_fence_ours(kafka_bootstrap: str, topic_prefix: str) -> None:
    world = KafkaWorld(kafka_bootstrap, topic_prefix)
    requests, state = await world.create("requests", "state")
    other = KafkaLog(kafka_bootstrap, app=f"{topic_prefix}other")
    ours, theirs = await world.log.own(requests, 0), await other.own(requests, 0)
    await ours.commit(outgoing(state, "ours"))
    await theirs.commit(outgoing(state, "theirs"))
    assert await contents(world.log, state) == ["ours", "theirs"]
    for each in (ours, theirs, other, world.log):
        await each.close()


async def test_a_reader_that_retention_overtook_goes_on_at_the_start(kafka_bootstrap: str, topic_prefix: str) -> None:
    world = KafkaWorld(kafka_bootstrap, topic_prefix)
    (requests,) = await world.create("requests")
    appender = await world.log.appender()
    await appender.append(0, outgoing(requests, *"abcdef"))
    await world.delete_records(requests, 0, 3)
    reader = await world.log.reader(requests, [0])
    assert isinstance(reader, KafkaReader)
    reader._consumer.seek(TopicPartition(requests, 0), 1)
    assert values(await everything(reader, 0)) == ["d", "e", "f"]
    for each in (reader, appender, world.log):
        await each.close()


class NotText(str):
    """The name of a header as other clients may send it."""

    __slots__ = ()

    def encode(self, *_: object) -> bytes:
        return b"\xff\xfe"


@pytest.mark.parametrize("compression", ["none", "gzip"])
async def test_a_header_whose_name_is_not_text_does_not_stop_a_reader(
    kafka_bootstrap: str, topic_prefix: str, compression: str
) -> None:
    world = KafkaWorld(kafka_bootstrap, topic_prefix)
    (requests,) = await world.create("requests")
    producer = AIOKafkaProducer(bootstrap_servers=kafka_bootstrap)
    await producer.start()
    for value in (b"before", b"bad", b"behind"):
        batch = producer.create_batch()
        batch._builder = _DefaultRecordBatchBuilderPy(2, 1 if compression == "gzip" else 0, 0, -1, -1, 0, 10_000)
        for number in range(2):
            name = NotText("x") if value == b"bad" and number else "x"
            batch.append(key=None, value=b"%s %d" % (value, number), timestamp=None, headers=[(name, b"y")])
        await (await producer.send_batch(batch, requests, partition=0))
    await producer.stop()
    reader = await world.log.reader(requests, [0])

    found = await everything(reader, 0)

    assert values(found) == [f"{value} {number}" for value in ("before", "bad", "behind") for number in range(2)]
    assert [record.headers[0][0] for record in found] == ["x", "x", "x", "\ufffd\ufffd", "x", "x"]
    await reader.close()
    await world.log.close()


async def test_an_absent_broker_is_an_error_in_time_and_worth_another_try() -> None:
    log = KafkaLog("127.0.0.1:9", deadline_seconds=0.5)
    with pytest.raises(LogError) as raised:
        await log.own("requests", 0)
    assert raised.value.retryable
    await log.close()


async def test_a_broker_that_never_answers_is_given_up_and_leaves_nothing_running() -> None:
    connections: list[asyncio.Future[None]] = []

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(asyncio.get_running_loop().create_future())
        mine = connections[-1]
        while await reader.read(1024):
            pass
        writer.close()
        mine.set_result(None)

    server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    log = KafkaLog(f"{host}:{port}", deadline_seconds=0.2)
    appender = await log.appender()
    for asking in (log.own("requests", 0), log.reader("requests", [0]), appender.append(0, outgoing("requests", "a"))):
        async with asyncio.timeout(60):
            with pytest.raises(LogError) as raised:
                await asking
        assert raised.value.retryable
    await appender.close()
    await log.close()
    async with asyncio.timeout(60):
        await asyncio.gather(*connections)
    server.close()
    ours = [task for task in asyncio.all_tasks() if "aiokafka" in repr(task)]
    assert ours == []


def test_a_password_is_never_shown() -> None:
    shown = repr(KafkaConnection("h:1", security=Security("SASL_SSL", "SCRAM-SHA-512", "user", "hunter2")))
    assert "hunter2" not in shown
    assert "SCRAM-SHA-512" in shown


@pytest.mark.parametrize(
    ("sizes", "batches"),
    [
        ([], []),
        ([10], [1]),
        ([100_000] * 4, [4]),
        ([100_000] * 12, [5, 5, 2]),
        ([10, 600_000, 10], [1, 1, 1]),
        ([600_000, 600_000], [1, 1]),
    ],
)
def test_records_are_packed_into_batches_in_order(sizes: list[int], batches: list[int]) -> None:
    records = [Outgoing("t", str(number).encode(), bytes(size)) for number, size in enumerate(sizes)]
    found = split_into_batches(records, 1_048_588)
    assert [len(batch) for batch in found] == batches
    assert [record for batch in found for record in batch] == records


def test_batches_stay_under_the_limit_of_a_small_topic() -> None:
    records = [Outgoing("t", None, bytes(400)) for _ in range(9)]
    assert [len(batch) for batch in split_into_batches(records, 1000)] == [2, 2, 2, 2, 1]


# Topics


async def test_topics_are_created_once_as_specified(connection: KafkaConnection, topic_prefix: str) -> None:
    specs = [
        TopicSpec(f"{topic_prefix}decisions", 3, {"retention.ms": "86400000", **APPEND_TIME}),
        TopicSpec(f"{topic_prefix}state", 3, {"cleanup.policy": "compact", "min.insync.replicas": "1", **APPEND_TIME}),
    ]
    assert await prepare_topics(connection, specs) == ([spec.name for spec in specs], [])
    assert await prepare_topics(connection, specs) == ([], [])
    assert await compare_topics(connection, specs) == []


async def test_several_processes_may_create_the_topics_at_once(connection: KafkaConnection, topic_prefix: str) -> None:
    specs = [TopicSpec(f"{topic_prefix}{number}", 1) for number in range(3)]
    outcomes = await asyncio.gather(*(prepare_topics(connection, specs) for _ in range(3)))
    assert sorted(name for created, _ in outcomes for name in created) == [spec.name for spec in specs]
    assert all(drifts == [] for _, drifts in outcomes)


async def test_a_difference_is_reported_with_its_fix_and_nothing_is_altered(
    connection: KafkaConnection, topic_prefix: str
) -> None:
    name = f"{topic_prefix}state"
    await prepare_topics(connection, [TopicSpec(name, 1, {"cleanup.policy": "compact,delete", "retention.ms": "1000"})])
    wanted = TopicSpec(name, 2, {"cleanup.policy": "delete,compact", "retention.ms": "2000", "max.message.bytes": "1048588"})
    created, drifts = await prepare_topics(connection, [wanted])
    assert created == []
    assert [(drift.setting, drift.wanted, drift.found) for drift in drifts] == [
        ("partitions", "2", "1"),
        ("retention.ms", "2000", "1000"),
    ]
    assert drifts[0].fix.endswith(f"--alter --topic {name} --partitions 2")
    assert f"kafka-configs.sh --bootstrap-server {connection.bootstrap} --alter" in drifts[1].fix
    assert drifts[1].fix.endswith("--add-config retention.ms=2000")
    assert await compare_topics(connection, [wanted]) == drifts


async def test_a_missing_topic_is_a_difference_that_comparing_does_not_fix(
    connection: KafkaConnection, topic_prefix: str
) -> None:
    spec = TopicSpec(f"{topic_prefix}state", 4, {"cleanup.policy": "compact"})
    (drift,) = await compare_topics(connection, [spec])
    assert (drift.setting, drift.found) == ("partitions", "0")
    assert drift.fix == "leadclock topics create"
    (again,) = await compare_topics(connection, [spec])
    assert again == drift


async def test_a_topic_that_the_broker_refuses_is_an_error(connection: KafkaConnection, topic_prefix: str) -> None:
    with pytest.raises(LogError) as raised:
        await prepare_topics(connection, [TopicSpec(f"{topic_prefix}x", 1, {"no.such.key": "1"})])
    assert topic_prefix in str(raised.value)


async def test_partitions_added_by_somebody_are_noticed(connection: KafkaConnection, topic_prefix: str) -> None:
    spec = TopicSpec(f"{topic_prefix}requests", 1, is_fixed=True)
    await prepare_topics(connection, [spec])
    async with Admin(connection) as admin:
        await admin.create_partitions({spec.name: NewPartitions(2)})
    while not (drifts := await compare_topics(connection, [spec])):
        await asyncio.sleep(0.05)
    assert [(drift.setting, drift.wanted, drift.found) for drift in drifts] == [("partitions", "1", "2")]
    assert drifts[0].fix.startswith("see deploy/docs/backup.md"), "no command takes one away, or may delete the topic"
    (not_made_yet,) = await compare_topics(connection, [replace(spec, is_fixed=False)])
    assert not_made_yet.fix.startswith("leadclock topics create --partitions 2 ")
    assert await compare_topics(connection, [replace(spec, at_least=frozenset({"partitions"}))]) == []


async def test_appends_that_wait_go_together_and_one_that_is_cancelled_harms_no_other(
    kafka_bootstrap: str, topic_prefix: str
) -> None:
    world = KafkaWorld(kafka_bootstrap, topic_prefix)
    (requests,) = await world.create("requests")
    appender = await world.log.appender()
    await appender.append(0, outgoing(requests, "first"))
    waiting = [asyncio.create_task(appender.append(0, outgoing(requests, f"{number}"))) for number in range(50)]
    await asyncio.sleep(0)
    waiting[7].cancel()
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    reader = await world.log.reader(requests, [0])
    found = values(await everything(reader, 0))
    assert isinstance(answers[7], asyncio.CancelledError)
    offsets = {number: offset for number, offset in enumerate(answers) if not isinstance(offset, BaseException)}
    assert [[found.index(f"{number}")] for number in offsets] == list(offsets.values())
    assert await appender.append(0, outgoing(requests, "last")) == [len(found)]
    for each in (reader, appender, world.log):
        await each.close()


async def test_a_batch_that_fails_does_not_fail_the_batches_of_other_partitions(
    kafka_bootstrap: str, topic_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = KafkaWorld(kafka_bootstrap, topic_prefix)
    (requests,) = await world.create("requests", partitions=2)
    is_waiting, has_failed = asyncio.Event(), asyncio.Event()

    async def fail_the_first_batch_of_partition_0(producer: Any, topic: str, partition: int, records: Any) -> Any:
        if partition == 0 and not has_failed.is_set():
            await is_waiting.wait()
            asyncio.get_running_loop().call_later(0.2, has_failed.set)
            raise errors.KafkaTimeoutError
        if partition == 1:
            is_waiting.set()
            await has_failed.wait()
        return await send(producer, topic, partition, records)

    monkeypatch.setattr("adapters.kafka.appender.send", fail_the_first_batch_of_partition_0)
    appender = await world.log.appender()
    failed, neighbour = await asyncio.gather(
        appender.append(0, outgoing(requests, "lost")),
        appender.append(1, outgoing(requests, "kept")),
        return_exceptions=True,
    )

    assert isinstance(failed, LogError)
    assert neighbour == [0]
    assert await appender.append(0, outgoing(requests, "again")) == [0]
    assert await appender.append(1, outgoing(requests, "more")) == [1]
    for each in (appender, world.log):
        await each.close()


async def test_a_header_without_a_value_reads_as_an_empty_one(kafka_bootstrap: str, topic_prefix: str) -> None:
    world = KafkaWorld(kafka_bootstrap, topic_prefix)
    (requests,) = await world.create("requests")
    appender = await world.log.appender()
    headers: Any = (("ce_id", None), ("mine", b"1"))
    await appender.append(0, [Outgoing(requests, b"k", b"v", headers)])
    reader = await world.log.reader(requests, [0])
    assert [record.headers for record in await everything(reader, 0)] == [(("ce_id", b""), ("mine", b"1"))]
    for each in (reader, appender, world.log):
        await each.close()
