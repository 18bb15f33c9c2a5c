"""Who is assigned which partition, and what becomes of the partitions of a process that stops or dies?"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import GroupAuthorizationFailedError, GroupCoordinatorNotAvailableError

from adapters.kafka.assignment import GroupAssignment
from adapters.kafka.connection import KafkaConnection
from adapters.kafka.members import list_members
from adapters.kafka.topics import TopicSpec, prepare_topics
from adapters.partitions.checkpoint import Checkpoint
from engine.partition.ports import LogError
from tests.pace import bound

WAIT_SECONDS = bound(25.0)
SESSION_SECONDS = 6.0
"""The shortest that a broker grants by default."""

ANOTHER_PROCESS = """
import asyncio, sys
from adapters.kafka.assignment import GroupAssignment
from adapters.kafka.connection import KafkaConnection

async def main():
    member = GroupAssignment(KafkaConnection(sys.argv[1]), sys.argv[2], sys.argv[3], session_seconds=float(sys.argv[4]))
    await member.start()
    async for partitions in member.changes():
        print(len(partitions), flush=True)

asyncio.run(main())
"""

Join = Callable[[], "Member"]


class Member:
    """A member of the group and its last assignment."""

    def __init__(self, connection: KafkaConnection, group: str, topic: str, report_seconds: float = 0.1) -> None:
        self.assignment = GroupAssignment(
            connection, group, topic, session_seconds=SESSION_SECONDS, report_seconds=report_seconds
        )
        self.partitions: frozenset[int] | None = None
        self.changes_seen = 0
        self._following: asyncio.Task[None] | None = None

    async def start(self) -> "Member":
        await self.assignment.start()
        self._following = asyncio.create_task(self._follow())
        return self

    async def _follow(self) -> None:
        async for partitions in self.assignment.changes():
            self.partitions = partitions
            self.changes_seen += 1

    async def has(self, count: int) -> None:
        async with asyncio.timeout(WAIT_SECONDS):
            while self.partitions is None or len(self.partitions) != count:
                await asyncio.sleep(0.02)

    async def close(self) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)
        await self.assignment.close()


@pytest.fixture
async def topic(kafka_bootstrap: str, topic_prefix: str) -> str:
    name = f"{topic_prefix}requests"
    await prepare_topics(KafkaConnection(kafka_bootstrap), [TopicSpec(name, 4)])
    return name


@pytest.fixture
async def join(kafka_bootstrap: str, topic: str) -> AsyncIterator[Join]:
    members: list[Member] = []

    def new_member() -> Member:
        members.append(Member(KafkaConnection(kafka_bootstrap), f"{topic}.group", topic))
        return members[-1]

    yield new_member
    for member in members:
        await member.close()


async def committed(bootstrap: str, topic: str, partition: int) -> int | None:
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=f"{topic}.group", enable_auto_commit=False)
    await consumer.start()
    try:
        found: int | None = await consumer.committed(TopicPartition(topic, partition))
        return found
    finally:
        await consumer.stop()


async def test_members_share_the_partitions_and_a_leaver_gives_its_share_at_once(join: Join) -> None:
    first = await join().start()
    await first.has(4)
    second = await join().start()
    await asyncio.gather(first.has(2), second.has(2))
    assert first.partitions is not None
    assert second.partitions is not None
    assert first.partitions | second.partitions == {0, 1, 2, 3}
    assert first.partitions & second.partitions == frozenset()
    await first.close()
    await second.has(4)


async def test_a_report_is_committed_at_once_and_the_next_one_after_a_gap(kafka_bootstrap: str, topic: str) -> None:
    member = Member(KafkaConnection(kafka_bootstrap), f"{topic}.group", topic, report_seconds=60.0)
    await member.start()
    await member.has(4)

    member.assignment.report(0, 7)
    async with asyncio.timeout(WAIT_SECONDS):
        while await committed(kafka_bootstrap, topic, 0) != 7:
            await asyncio.sleep(0.05)
    member.assignment.report(0, 8)
    await asyncio.sleep(0.3)
    assert await committed(kafka_bootstrap, topic, 0) == 7

    await member.close()
    assert await committed(kafka_bootstrap, topic, 0) == 8


async def test_members_are_listed_with_their_hosts_and_partitions(join: Join, kafka_bootstrap: str, topic: str) -> None:
    group, connection = f"{topic}.group", KafkaConnection(kafka_bootstrap)
    assert await list_members(connection, [group]) == {}
    first = await join().start()
    await first.has(4)
    second = await join().start()
    await asyncio.gather(first.has(2), second.has(2))
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            listed = (await list_members(connection, [group, f"{topic}.other"]))[group]
            if {one.partitions for one in listed} == {first.partitions, second.partitions}:
                break
    assert all("127.0.0.1" in one.host and one.name == "leadclock" for one in listed)


async def test_a_killed_process_loses_its_partitions_after_its_session(join: Join, kafka_bootstrap: str, topic: str) -> None:
    survivor = await join().start()
    await survivor.has(4)
    victim = await asyncio.create_subprocess_exec(
        sys.executable, "-c", ANOTHER_PROCESS, kafka_bootstrap, f"{topic}.group", topic, str(SESSION_SECONDS),
        cwd=Path(__file__).parents[2], stdout=asyncio.subprocess.PIPE, env={**os.environ, "PYTHONPATH": "."},
    )  # fmt: skip
    assert victim.stdout is not None
    async with asyncio.timeout(WAIT_SECONDS):
        assert await victim.stdout.readline() == b"2\n"
    await survivor.has(2)
    victim.send_signal(signal.SIGKILL)
    await victim.wait()
    await survivor.has(4)


async def test_a_note_is_kept_with_an_offset_and_with_those_that_are_reported_after_it(join: Join) -> None:
    first = await join().start()
    await first.has(4)
    assert await first.assignment.load_checkpoint(1) is None
    await first.assignment.save_checkpoint(1, Checkpoint(7, "rules of then"))
    assert await first.assignment.load_checkpoint(1) == Checkpoint(7, "rules of then")
    first.assignment.report(1, 9)
    await first.close()
    second = await join().start()
    await second.has(4)
    assert await second.assignment.load_checkpoint(1) == Checkpoint(9, "rules of then")
    second.assignment.report(1, 11)
    assert await second.assignment.confirm(1)
    assert await second.assignment.load_checkpoint(1) == Checkpoint(11, "rules of then")


async def test_a_committed_offset_never_goes_back(join: Join) -> None:
    first = await join().start()
    await first.has(4)
    await first.assignment.save_checkpoint(1, Checkpoint(7))
    first.assignment.report(1, 5)
    with pytest.raises(LogError, match="cannot go back"):
        await first.assignment.save_checkpoint(1, Checkpoint(6))
    assert await first.assignment.confirm(1)
    await first.close()
    second = await join().start()
    await second.has(4)
    second.assignment.report(1, 6)  # as of a worker that went on while another member had the partition
    await second.close()
    third = await join().start()
    await third.has(4)
    assert await third.assignment.load_checkpoint(1) == Checkpoint(7)


async def test_nothing_is_kept_of_a_partition_that_is_not_ours(join: Join) -> None:
    first = await join().start()
    await first.has(4)
    with pytest.raises(LogError):
        await first.assignment.save_checkpoint(4, Checkpoint(1))


async def test_a_partition_is_confirmed_only_while_the_group_says_that_it_is_ours(join: Join) -> None:
    first, second = await join().start(), join()
    await first.has(4)
    assert await first.assignment.confirm(0)
    assert not await first.assignment.confirm(4)
    assert not await second.assignment.confirm(0)
    await second.start()
    await asyncio.gather(first.has(2), second.has(2))
    for partition in range(4):
        ours = [await member.assignment.confirm(partition) for member in (first, second)]
        assert ours.count(True) == 1
    await first.close()
    assert not await first.assignment.confirm(0)


async def test_a_member_that_the_group_forgot_is_not_confirmed_and_gets_its_partitions_again(join: Join) -> None:
    member = await join().start()
    await member.has(4)
    seen_before = member.changes_seen
    consumer = member.assignment._consumer
    assert consumer is not None
    consumer._coordinator.generation += 7  # as after a pause in which others had joined and left
    assert not await member.assignment.confirm(0)
    async with asyncio.timeout(WAIT_SECONDS):
        while member.changes_seen == seen_before:
            await asyncio.sleep(0.02)
    await member.has(4)
    assert await member.assignment.confirm(0)


async def test_reported_positions_are_committed_now_and_then_and_at_the_end(
    join: Join, kafka_bootstrap: str, topic: str
) -> None:
    member = await join().start()
    await member.has(4)
    member.assignment.report(1, 10)
    member.assignment.report(1, 11)
    async with asyncio.timeout(WAIT_SECONDS):
        while await committed(kafka_bootstrap, topic, 1) != 11:
            await asyncio.sleep(0.05)
    member.assignment.report(2, 5)
    await member.close()
    assert await committed(kafka_bootstrap, topic, 2) == 5
    assert await committed(kafka_bootstrap, topic, 0) is None


async def test_nothing_is_fetched(join: Join) -> None:
    member = await join().start()
    await member.has(4)
    consumer = member.assignment._consumer
    assert consumer is not None
    assert len(consumer.paused()) == 4


async def test_a_lost_group_is_raised_to_who_follows_the_changes(join: Join) -> None:
    member = join()
    await member.assignment.start()
    changes = member.assignment.changes()
    assert len(await anext(changes)) == 4
    assert member.assignment._consumer is not None
    member.assignment._consumer._coordinator._pending_exception = GroupAuthorizationFailedError("group")
    with pytest.raises(LogError) as raised:
        async with asyncio.timeout(WAIT_SECONDS):
            await anext(changes)
    assert not raised.value.retryable
    assert not await member.assignment.confirm(0)


async def test_a_member_with_a_transient_error_joins_again(join: Join) -> None:
    member = await join().start()
    await member.has(4)
    seen_before, first = member.changes_seen, member.assignment._consumer
    assert first is not None
    first._coordinator._pending_exception = GroupCoordinatorNotAvailableError("group")
    async with asyncio.timeout(WAIT_SECONDS):
        while member.changes_seen == seen_before:
            await asyncio.sleep(0.02)
    assert member.assignment._consumer is not first
    assert await member.assignment.confirm(0)


async def test_an_absent_broker_is_reported_at_the_start() -> None:
    assignment = GroupAssignment(KafkaConnection("127.0.0.1:9"), "group", "requests", session_seconds=1)
    with pytest.raises(LogError):
        await assignment.start()
    await assignment.close()
