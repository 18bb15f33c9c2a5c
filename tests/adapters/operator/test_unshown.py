"""Is it noticed that the projector stands still or is behind, and from which decision on the pages are old?"""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from adapters.clock import SystemClock
from adapters.embedded.log import EmbeddedLog
from adapters.http.exchange.ports import Unshown
from adapters.operator.unshown import STANDING_SECONDS, WAITING_SECONDS, UnshownDecisions
from adapters.projector.store import PartitionPosition
from engine.partition.ports import Outgoing
from engine.partition.runner import TopicNames
from schemas.instant import EPOCH, SECOND, Instant
from schemas.topics import ACCOUNTS_DECISIONS, CONTACTS_DECISIONS

pytestmark = pytest.mark.asyncio

BEGUN = Instant(1_000_000_000_000)
PARTITIONS = 2
CONTACTS = CONTACTS_DECISIONS.name


class Hand(SystemClock):
    """A clock that a test sets."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds

    def wall(self) -> Instant:
        return BEGUN + int(self.seconds * SECOND)


class Shown:
    """How far the projection is said to be."""

    def __init__(self) -> None:
        self.offsets: dict[tuple[str, int], int] = {}

    async def positions(self) -> list[PartitionPosition]:
        return [
            PartitionPosition(
                topic=topic, partition=partition, topic_id="", epoch=1, next_offset=offset, sequence=0, decided_at=None
            )
            for (topic, partition), offset in self.offsets.items()
        ]


class World:
    def __init__(self, log: EmbeddedLog, clock: Hand) -> None:
        self.log, self.clock, self.shown = log, clock, Shown()
        self.asked = UnshownDecisions(log, TopicNames(), clock, self.shown)

    async def decide(self, partition: int, decided_at: Instant, *, topic: str = CONTACTS, value: bytes = b"") -> None:
        appender = await self.log.appender()
        record = value or b'{"decided_at": %d}' % (decided_at - EPOCH)
        await appender.append(partition, [Outgoing(topic, b"key", record)])
        await appender.close()


@pytest_asyncio.fixture
async def world() -> AsyncIterator[World]:
    clock = Hand()
    log = EmbeddedLog(None, now=clock.wall)
    for topic in (CONTACTS_DECISIONS, ACCOUNTS_DECISIONS):
        await log.create_topic(topic.name, PARTITIONS)
    yield World(log, clock)
    await log.close()


async def test_nothing_is_old_where_everything_is_shown(world: World) -> None:
    assert await world.asked.first() is None
    await world.decide(0, BEGUN)
    world.shown.offsets[CONTACTS, 0] = 1
    world.clock.seconds = 1_000.0
    assert await world.asked.first() is None


async def test_a_decision_that_is_on_its_way_makes_nothing_old(world: World) -> None:
    await world.decide(0, BEGUN)
    world.clock.seconds = WAITING_SECONDS - 1
    assert await world.asked.first() is None


async def test_a_decision_that_waits_long_is_behind_and_one_that_still_waits_later_stands(world: World) -> None:
    await world.decide(0, BEGUN + 7)
    await world.decide(0, BEGUN + 8)
    world.clock.seconds = WAITING_SECONDS + 1
    assert await world.asked.first() == Unshown(decided_at=BEGUN + 7, is_standing=False)
    world.clock.seconds += STANDING_SECONDS
    assert await world.asked.first() == Unshown(decided_at=BEGUN + 7, is_standing=True)
    world.shown.offsets[CONTACTS, 0] = 1
    assert await world.asked.first() == Unshown(decided_at=BEGUN + 8, is_standing=False), "it moves again"
    world.shown.offsets[CONTACTS, 0] = 2
    assert await world.asked.first() is None


async def test_the_pages_are_as_old_as_the_first_decision_of_all_partitions_and_topics(world: World) -> None:
    await world.decide(1, BEGUN + 5, topic=ACCOUNTS_DECISIONS.name)
    world.clock.seconds = 1.0
    for partition in range(PARTITIONS):
        for _ in range(150):  # more than one poll reads
            await world.decide(partition, BEGUN + 1_000)
    world.clock.seconds = 60.0
    assert await world.asked.first() == Unshown(decided_at=BEGUN + 5, is_standing=False)
    world.shown.offsets[ACCOUNTS_DECISIONS.name, 1] = 1
    assert await world.asked.first() == Unshown(decided_at=BEGUN + 1_000, is_standing=False)


async def test_a_clock_that_is_wrong_hides_no_projector_that_stands(world: World) -> None:
    await world.decide(0, BEGUN)
    world.clock.wall = lambda: EPOCH  # type: ignore[method-assign]
    assert await world.asked.first() is None
    world.clock.seconds = STANDING_SECONDS
    assert await world.asked.first() == Unshown(decided_at=BEGUN, is_standing=True)


async def test_a_decision_that_cannot_be_read_is_dated_by_its_append(world: World) -> None:
    await world.decide(0, BEGUN, value=b"{")
    world.clock.seconds = 60.0
    assert await world.asked.first() == Unshown(decided_at=BEGUN, is_standing=False)


async def test_a_topic_that_was_made_again_is_read_from_its_end(world: World) -> None:
    await world.decide(0, BEGUN)
    world.shown.offsets[CONTACTS, 0] = 99
    world.clock.seconds = 60.0
    assert await world.asked.first() is None
