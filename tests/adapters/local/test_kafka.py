"""Does the managed broker keep its records, give way to nobody, and end when it should? Driven for real."""

import asyncio
import contextlib
import os
import shutil
import signal
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from adapters.kafka.connection import KafkaConnection
from adapters.kafka.log import KafkaLog
from adapters.kafka.topics import TopicSpec, prepare_topics
from adapters.local.class_archive import archive_of, archive_options
from adapters.local.jars import find_jars, find_java
from adapters.local.kafka import ManagedKafka, managed_kafka, new_cluster_id
from adapters.local.process import FolderInUseError, LocalServerError, birth
from engine.partition.ports import LogError, Outgoing, Ownership
from tests.pace import bound

GREETING = TopicPartition("greetings", 0)
APP = "greeter"
SERVED_SECONDS = bound(30.0)


@pytest.fixture(scope="module")
def shared_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("broker")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kafka(shared_dir: Path) -> AsyncIterator[ManagedKafka]:
    """A broker for the tests that leave it as it is."""
    async with managed_kafka(shared_dir) as running:
        yield running


async def greet(bootstrap: str, text: bytes) -> None:
    await prepare_topics(KafkaConnection(bootstrap), [TopicSpec(GREETING.topic, 1)])
    owner = await KafkaLog(bootstrap, app=APP).own(GREETING.topic, GREETING.partition)
    await owner.commit([Outgoing(GREETING.topic, None, text)])
    await owner.close()


async def greetings(bootstrap: str) -> list[bytes]:
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, isolation_level="read_committed", auto_offset_reset="earliest")
    await consumer.start()
    consumer.assign([GREETING])
    await consumer.seek_to_beginning()
    batches: dict[TopicPartition, list[ConsumerRecord]] = {}
    deadline = time.monotonic() + SERVED_SECONDS
    while not batches and time.monotonic() < deadline:  # a broker that was killed answers before it serves its partitions
        batches = await consumer.getmany(timeout_ms=1_000)
    await consumer.stop()
    return [record.value for record in batches.get(GREETING, [])]


async def test_a_restart_on_the_same_folder_has_the_records_the_cluster_and_the_address(data_dir: Path) -> None:
    async with managed_kafka(data_dir) as first:
        await greet(first.bootstrap, b"hello")
    cluster = (data_dir / "kafka" / "logs" / "meta.properties").read_text()

    async with managed_kafka(data_dir) as second:
        assert await greetings(second.bootstrap) == [b"hello"]
        assert second.bootstrap == first.bootstrap
    assert (data_dir / "kafka" / "logs" / "meta.properties").read_text() == cluster


async def test_what_a_killed_broker_acknowledged_shows_once_the_partition_is_owned_again(data_dir: Path) -> None:
    """Half of the time it does not show before: a broker that comes back forgets the marker (`producers.settle`)."""
    async with managed_kafka(data_dir) as first:
        await greet(first.bootstrap, b"hello")
        pid = first.process.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await gone(pid)
        with pytest.raises(LocalServerError, match="Apache Kafka ended"):
            first.process.check()

    async with managed_kafka(data_dir) as second:
        log = KafkaLog(second.bootstrap, app=APP)
        owner = await owned_again(log)
        assert await greetings(second.bootstrap) == [b"hello"]
        await owner.close()
        await log.close()


async def owned_again(log: KafkaLog) -> Ownership:
    """Own the partition; a broker that was killed answers before it serves its partitions."""
    deadline = time.monotonic() + SERVED_SECONDS
    while True:
        try:
            return await log.own(GREETING.topic, GREETING.partition, writes=[GREETING.topic])
        except LogError:
            assert time.monotonic() < deadline


@pytest.mark.asyncio(loop_scope="module")
async def test_a_second_owner_of_the_folder_is_refused_and_the_first_runs_on(kafka: ManagedKafka, shared_dir: Path) -> None:
    with pytest.raises(FolderInUseError, match="--data-dir"):
        async with managed_kafka(shared_dir):
            pass

    kafka.process.check()


@pytest.mark.asyncio(loop_scope="module")
async def test_topics_are_made_on_purpose_only(kafka: ManagedKafka) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    await admin.start()

    described = await admin.describe_topics(["mistyped"])

    await admin.close()
    assert described[0]["error_code"] == 3  # unknown topic
    assert described[0]["partitions"] == []


async def test_a_broker_that_cannot_start_shows_the_end_of_its_log(data_dir: Path) -> None:
    kafka = ManagedKafka(data_dir / "kafka", java=find_java(), jars=find_jars(), heap_mib=1)

    with pytest.raises(LocalServerError, match="heap"):
        await kafka.start()

    assert kafka.process.pid is None


def test_a_cluster_id_never_reads_as_an_option() -> None:
    ids = [new_cluster_id() for _ in range(1_000)]

    assert {len(one) for one in ids} == {22}
    assert not any(one.startswith("-") for one in ids)


@pytest.mark.asyncio(loop_scope="module")
async def test_the_compiler_of_the_broker_gives_way_to_everything_else(kafka: ManagedKafka) -> None:
    assert kafka.process.pid is not None
    niceness = niceness_of_threads(kafka.process.pid)

    compilers = {name: nice for name, nice in niceness.items() if "Compiler" in name}
    assert compilers
    assert set(compilers.values()) == {19}
    assert niceness["java"] == 0


@pytest.mark.asyncio(loop_scope="module")
async def test_the_broker_starts_from_the_archive_of_its_classes(kafka: ManagedKafka) -> None:
    archive = archive_of(find_java(), find_jars())
    assert archive.exists(), "run `make install`, which makes it"
    assert str(archive) in Path(f"/proc/{kafka.process.pid}/maps").read_text()


def test_a_java_or_an_archive_that_is_not_there_gives_no_options(tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_text("first")
    first = archive_of(java, tmp_path)
    assert archive_options(java, tmp_path) == ()
    first.touch()
    assert f"-XX:SharedArchiveFile={first}" in archive_options(java, tmp_path)
    java.write_text("another one")
    assert archive_options(java, tmp_path) == ()


def niceness_of_threads(pid: int) -> dict[str, int]:
    """Return the nice value of each thread of a process by its name; one may end meanwhile."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            name, _, fields = (task / "stat").read_text().partition("(")[2].rpartition(")")
            found[name] = int(fields.split()[16])
    return found


async def gone(pid: int) -> None:
    async with asyncio.timeout(60):
        while birth(pid) is not None:
            await asyncio.sleep(0.05)
