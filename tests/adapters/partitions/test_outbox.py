"""Does every decided message arrive, in order, whatever the log answers? On the embedded log, with failing appends."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

import msgspec
import pytest

from adapters.embedded.faults import FaultPoint
from adapters.embedded.log import EmbeddedLog
from adapters.partitions import outbox as outboxes
from adapters.partitions.outbox import OutboxSender
from adapters.partitions.routing import partition_of
from engine.partition.ports import LogError, Outgoing
from engine.partition.runner import TopicNames
from schemas.decisions import OutboxEntry
from schemas.envelope import Envelope, from_headers
from schemas.instant import EPOCH

TOPIC = "contacts.requests"
PARTITIONS = 3
STREAM = "contacts.state/id/0"


class Failing:
    """Fails the next appends, before or after they are written."""

    def __init__(self) -> None:
        self.points: list[FaultPoint] = []

    def reach(self, point: FaultPoint, topic: str, partition: int) -> None:
        if self.points and point is self.points[0]:
            self.points.pop(0)
            raise LogError(f"made to fail {point}")


class OutboxWorld:
    def __init__(self) -> None:
        self.faults = Failing()
        self.log = EmbeddedLog(None, now=lambda: EPOCH, faults=self.faults)

    async def sender(self, *, names: TopicNames = TopicNames()) -> OutboxSender:  # noqa: B008 - frozen
        return OutboxSender(STREAM, log=self.log, names=names, appender=await self.log.appender())

    def arrived(self, topic: str = TOPIC) -> dict[int, list[int]]:
        """Return the numbers that arrived in each partition, in order."""
        return {
            partition: [self.envelope(record.headers).number or 0 for record in self.log.partition(topic, partition).records]
            for partition in range(PARTITIONS)
        }

    def envelope(self, headers: tuple[tuple[str, bytes], ...]) -> Envelope:
        return from_headers(headers)


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[OutboxWorld]:
    monkeypatch.setattr(outboxes, "BACKOFF_FIRST_SECONDS", 0.001)
    world = OutboxWorld()
    for topic in (TOPIC, f"p.{TOPIC}", "accounts.requests", "deadletter"):
        await world.log.create_topic(topic, PARTITIONS)
    yield world
    await world.log.close()


def entries(*numbers: int, topic: str = TOPIC) -> list[OutboxEntry]:
    """Return messages to ten contacts in turn."""
    return [
        OutboxEntry(number=number, topic=topic, key=f"1|+{number % 10}", type="lead.moved", body=b"{}") for number in numbers
    ]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.001)


async def acknowledged(sender: OutboxSender, count: int) -> list[int]:
    found: list[int] = []

    def enough() -> bool:
        found.extend(sender.delivered())
        return len(found) >= count

    await until(enough)
    return found


async def test_messages_arrive_in_the_partition_of_their_key_in_the_order_of_their_numbers(world: OutboxWorld) -> None:
    sender = await world.sender()
    sender.offer(entries(*range(1, 31)))
    acknowledgements = await acknowledged(sender, 30)
    await sender.close()

    arrived = world.arrived()

    assert sorted(acknowledgements) == list(range(1, 31))
    for partition, numbers in arrived.items():
        assert numbers == [n for n in range(1, 31) if partition_of(f"1|+{n % 10}".encode(), PARTITIONS) == partition]


async def test_a_message_carries_its_stream_and_number_so_that_the_receiver_can_refuse_a_repeat(world: OutboxWorld) -> None:
    sender = await world.sender()
    sender.offer(entries(7))
    await acknowledged(sender, 1)
    await sender.close()

    [record] = [record for n in range(PARTITIONS) for record in world.log.partition(TOPIC, n).records]
    envelope = world.envelope(record.headers)

    assert (envelope.stream, envelope.number, envelope.type) == (STREAM, 7, "lead.moved")
    assert (record.key, record.value) == (b"1|+7", b"{}")


@pytest.mark.parametrize("point", [FaultPoint.BEFORE_APPEND, FaultPoint.AFTER_APPEND])
async def test_a_failed_append_is_tried_again_and_no_later_message_overtakes_it(
    world: OutboxWorld, point: FaultPoint
) -> None:
    world.faults.points = [point] * 4
    sender = await world.sender()
    sender.offer(entries(*range(1, 21)))
    await acknowledged(sender, 20)
    await sender.close()

    for numbers in world.arrived().values():
        first_times = list(dict.fromkeys(numbers))
        assert first_times == sorted(first_times)
    assert {number for numbers in world.arrived().values() for number in numbers} == set(range(1, 21))


async def test_a_message_that_the_log_refuses_for_its_size_is_dead_lettered_and_the_others_arrive_in_order(
    world: OutboxWorld,
) -> None:
    world.log._topics[TOPIC] = msgspec.structs.replace(world.log._topics[TOPIC], record_bytes_max=10_000)
    large = msgspec.structs.replace(entries(5)[0], body=bytes(20_000))
    sender = await world.sender()
    sender.offer([*entries(1, 2, 3, 4), large, *entries(*range(6, 21))])
    acknowledgements = await acknowledged(sender, 20)
    await sender.close()

    assert sorted(acknowledgements) == list(range(1, 21))
    for numbers in world.arrived().values():
        assert numbers == sorted(numbers)
    assert {number for numbers in world.arrived().values() for number in numbers} == set(range(1, 21)) - {5}
    [letter] = [record for n in range(PARTITIONS) for record in world.log.partition("deadletter", n).records]
    headers = dict(letter.headers)
    assert (headers["dl_code"], headers["dl_topic"], letter.value) == (b"too_large", TOPIC.encode(), bytes(20_000))
    assert headers["dl_partition"] == b"%d" % partition_of(b"1|+5", PARTITIONS)


async def test_what_was_acknowledged_is_reported_once(world: OutboxWorld) -> None:
    sender = await world.sender()
    sender.offer(entries(1))
    await acknowledged(sender, 1)
    sender.offer(entries(2))

    assert await acknowledged(sender, 1) == [2]
    assert sender.delivered() == []
    await sender.close()


async def test_a_message_that_waits_is_not_sent_twice_when_it_is_offered_again(world: OutboxWorld) -> None:
    world.faults.points = [FaultPoint.BEFORE_APPEND]
    sender = await world.sender()
    sender.offer(entries(1, 2))
    sender.offer(entries(1, 2))
    await acknowledged(sender, 2)
    await sender.close()

    assert sorted(number for numbers in world.arrived().values() for number in numbers) == [1, 2]


async def test_nothing_is_sent_after_close(world: OutboxWorld) -> None:
    world.faults.points = [FaultPoint.BEFORE_APPEND] * 1_000
    sender = await world.sender()
    sender.offer(entries(1))
    await asyncio.sleep(0.01)
    await sender.close()
    world.faults.points = []
    await asyncio.sleep(0.05)

    assert world.arrived() == {0: [], 1: [], 2: []}


async def test_a_topic_that_is_away_is_waited_for(world: OutboxWorld) -> None:
    await world.log.delete_topic("accounts.requests")
    sender = await world.sender()
    sender.offer(entries(1, topic="accounts.requests"))
    await asyncio.sleep(0.01)
    await world.log.create_topic("accounts.requests", PARTITIONS)

    assert await acknowledged(sender, 1) == [1]
    await sender.close()


async def test_topics_have_the_prefix_of_the_deployment(world: OutboxWorld) -> None:
    sender = await world.sender(names=TopicNames("p."))
    sender.offer(entries(1))
    await acknowledged(sender, 1)
    await sender.close()

    assert [n for numbers in world.arrived(f"p.{TOPIC}").values() for n in numbers] == [1]
    assert not any(world.arrived().values())


async def test_a_partition_that_takes_nothing_holds_up_no_message_to_another(
    world: OutboxWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    appender = await world.log.appender()
    append = appender.append
    hung = partition_of(b"1|+1", PARTITIONS)

    async def hanging(partition: int, records: Sequence[Outgoing]) -> list[int]:
        if partition == hung:
            await asyncio.Future()
        return await append(partition, records)

    monkeypatch.setattr(appender, "append", hanging)
    sender = OutboxSender(STREAM, log=world.log, names=TopicNames(), appender=appender)
    flood = [msgspec.structs.replace(entry, key="1|+1") for entry in entries(*range(1, 2_001))]
    later = [entry for entry in entries(*range(2_001, 2_031)) if partition_of(entry.key.encode(), PARTITIONS) != hung]
    sender.offer([*flood, *later])
    acknowledgements = await acknowledged(sender, len(later))
    await sender.close()

    assert sorted(acknowledgements) == [entry.number for entry in later]


async def test_a_batch_is_bounded(world: OutboxWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outboxes, "BATCH_MAX", 4)
    sizes: list[int] = []
    appender = await world.log.appender()
    append = appender.append

    async def counted(partition: int, records: Sequence[Outgoing]) -> list[int]:
        sizes.append(len(records))
        return await append(partition, records)

    monkeypatch.setattr(appender, "append", counted)
    sender = OutboxSender(STREAM, log=world.log, names=TopicNames(), appender=appender)
    sender.offer(entries(*range(1, 40)))
    await acknowledged(sender, 39)
    await sender.close()

    assert max(sizes) <= 4


async def test_more_messages_than_a_batch_takes_arrive_in_the_order_of_their_numbers(world: OutboxWorld) -> None:
    """The receiver takes a number that comes after a higher one for a repeat: what was overtaken would be lost."""
    count = 2 * outboxes.BATCH_MAX + 1
    sender = await world.sender()
    sender.offer([msgspec.structs.replace(entry, key="1|+1") for entry in entries(*range(1, count + 1))])
    await acknowledged(sender, count)
    await sender.close()

    assert world.arrived()[partition_of(b"1|+1", PARTITIONS)] == list(range(1, count + 1))
