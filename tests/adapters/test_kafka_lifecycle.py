"""What is left of a Kafka client whose broker stands still: accepts connections, and says nothing or no more?"""

import asyncio
import gc
import random
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiokafka.errors import KafkaConnectionError

from adapters.kafka.appender import KafkaAppender
from adapters.kafka.cluster_metadata import ClusterMetadata
from adapters.kafka.committed_offsets import CommittedOffsets
from adapters.kafka.connection import KafkaConnection
from adapters.kafka.coordinators import Coordinators
from adapters.kafka.lifecycle import finish
from adapters.kafka.log import KafkaLog
from adapters.kafka.offset_lookup import OffsetLookup
from adapters.local.process import LOCALHOST
from engine.partition.ports import LogError, Outgoing
from tests.adapters.kafka_world import KafkaWorld

SHORT_SECONDS = 0.5
HANG_SECONDS = 60.0

Ask = Callable[[KafkaConnection], Awaitable[object]]


@asynccontextmanager
async def standing_still(bootstrap: str, *, answers: int) -> AsyncIterator[str]:
    """Lead to the real broker, and let so many answers through on each connection; yield the address."""
    host, _, port = bootstrap.rpartition(":")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(host, int(port))
        try:
            for _ in range(answers):
                back.write(await _message(reader))
                writer.write(await _message(there))
            await reader.read()
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()
            back.close()

    server = await asyncio.start_server(serve, LOCALHOST, 0)
    try:
        yield f"{LOCALHOST}:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def _message(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readexactly(4)
    return head + await reader.readexactly(int.from_bytes(head, "big"))


async def ask_catalog(connection: KafkaConnection) -> None:
    await ClusterMetadata(connection, deadline_seconds=SHORT_SECONDS).find(["any"])


async def ask_ends(connection: KafkaConnection) -> None:
    await OffsetLookup(connection, deadline_seconds=SHORT_SECONDS).ask("end_offsets", "any", 0)


async def ask_progress(connection: KafkaConnection) -> None:
    await CommittedOffsets(connection, "any", "any").checkpoints()


async def own(connection: KafkaConnection) -> None:
    await KafkaLog(connection.bootstrap, deadline_seconds=SHORT_SECONDS).own("any", 0)


@pytest.mark.parametrize("ask", [ask_catalog, ask_ends, ask_progress, own])
async def test_a_client_whose_start_is_given_up_leaves_no_connection_open(kafka_bootstrap: str, ask: Ask) -> None:
    async with standing_still(kafka_bootstrap, answers=1) as address, asyncio.timeout(HANG_SECONDS):
        with pytest.raises(LogError):
            await ask(KafkaConnection(address))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            gc.collect()
    port = address.rpartition(":")[2]
    assert [
        str(one.message) for one in caught if "Unclosed" in str(one.message) and f"port={port}" in str(one.message)
    ] == []


async def test_a_broker_that_says_nothing_is_passed_over_within_one_deadline(
    kafka_bootstrap: str, topic_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = KafkaWorld(kafka_bootstrap, topic_prefix)
    [topic] = await world.create("topic")
    async with standing_still(kafka_bootstrap, answers=0) as silent:
        port = int(silent.rpartition(":")[2])
        shuffle = random.shuffle

        def silent_first(hosts: list[object]) -> None:
            shuffle(hosts)
            hosts.sort(key=lambda host: not (isinstance(host, tuple) and port in host))

        monkeypatch.setattr(random, "shuffle", silent_first)
        catalog = ClusterMetadata(KafkaConnection(f"{silent},{kafka_bootstrap}"))
        try:
            assert (await catalog.describe(topic)).partition_count == 2
        finally:
            await catalog.close()
    await world.close()


@pytest.mark.parametrize("about", ["topics", "offsets"])
async def test_a_question_that_fails_late_closes_only_the_connection_that_it_was_asked_over(
    kafka_bootstrap: str, topic_prefix: str, monkeypatch: pytest.MonkeyPatch, about: str
) -> None:
    world = KafkaWorld(kafka_bootstrap, topic_prefix)
    [topic] = await world.create("topic")
    catalog = ClusterMetadata(world.connection, deadline_seconds=HANG_SECONDS)
    progress = CommittedOffsets(world.connection, f"{topic_prefix}group", topic)
    asked: ClusterMetadata | Coordinators = catalog if about == "topics" else progress._coordinators
    unanswered: list[asyncio.Future[object]] = []

    def ask(*_: object, **__: object) -> asyncio.Future[object]:
        unanswered.append(asyncio.get_running_loop().create_future())
        return unanswered[-1]

    async def question() -> object:
        return await (catalog.describe(topic) if about == "topics" else progress.checkpoints())

    async with asyncio.timeout(HANG_SECONDS):
        broken = await asked._client.connect()
        monkeypatch.setattr(broken, "send", ask)
        questions = [asyncio.create_task(question()) for _ in range(2)]
        while len(unanswered) < len(questions):
            await asyncio.sleep(0)
        unanswered[0].set_exception(KafkaConnectionError("the broker was killed"))
        await asyncio.wait(questions[:1])
        connected = await asked._client.connect()
        unanswered[1].set_exception(KafkaConnectionError("the broker was killed"))
        await asyncio.wait(questions)
        assert connected is not broken
        assert await asked._client.connect() is connected
    for one in questions:
        one.exception()
    await catalog.close()
    await progress.close()
    await world.close()


async def test_an_appender_that_found_no_broker_leaves_no_task_behind(kafka_bootstrap: str, topic_prefix: str) -> None:
    world = KafkaWorld(kafka_bootstrap, topic_prefix)
    [topic] = await world.create("topic")
    before = asyncio.all_tasks()
    async with standing_still(kafka_bootstrap, answers=1) as address, asyncio.timeout(HANG_SECONDS):
        catalog = ClusterMetadata(world.connection)
        appender = KafkaAppender(KafkaConnection(address), catalog, compression=None, deadline_seconds=SHORT_SECONDS)
        with pytest.raises(LogError, match=r"no answer in time|no broker answers"):
            await appender.append(0, [Outgoing(topic, b"key", b"value")])
        await appender.close()
        await catalog.close()
    left = [repr(task.get_coro()) for task in asyncio.all_tasks() - before]
    assert [one for one in left if "Kafka" in one or "Sender" in one] == []
    await world.close()


@pytest.mark.parametrize("cancels", [0, 1, 2, 5])
async def test_what_closes_a_client_is_finished_however_often_its_caller_is_cancelled(cancels: int) -> None:
    begun, may_end, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def closing() -> None:
        begun.set()
        await may_end.wait()
        ended.set()

    caller = asyncio.create_task(finish(closing()))
    await begun.wait()
    for _ in range(cancels):
        caller.cancel()
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not caller.done()
    may_end.set()
    await asyncio.wait([caller])

    assert ended.is_set()
    assert caller.cancelled() == bool(cancels)


async def test_an_error_of_what_closes_a_client_is_raised() -> None:
    async def failing() -> None:
        raise LogError("away")

    with pytest.raises(LogError, match="away"):
        await finish(failing())
