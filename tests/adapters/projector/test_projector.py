"""Does the projection follow the log through restarts, other owners, and a log or database that goes away?"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec
import pytest

from adapters.clock import SystemClock
from adapters.embedded.log import EmbeddedLog
from adapters.errors import StoreError
from adapters.projector.batch import ProjectionBatch
from adapters.projector.projector import Projector, ProjectorLimits
from adapters.projector.store import RowsRefusedError
from engine.partition.ports import LogError, Outgoing, Ownership, Reader
from schemas.instant import EPOCH
from tests.adapters.projector.histories import PARTITIONS, TOPIC, World, world_of
from tests.adapters.projector.memory import MemoryStore
from tests.adapters.projector.tables import of_memory
from tests.contact_ids import CONTACT_IDS

ACCOUNTS = "accounts.decisions"
REQUESTS = "contacts.requests"
QUICK = ProjectorLimits(poll_seconds=0.01, retry_seconds_min=0.001, retry_seconds_max=0.01, lag_gap_seconds=0.0)
STEPS = [("put", 1), ("put", 2), ("call", 1), ("move", 1), ("result", 2), ("put", 1), ("remove", 2), ("slots", 3)]


class Frail(MemoryStore):
    """A store that is away for a number of calls, and refuses rows of one lead."""

    def __init__(self) -> None:
        super().__init__()
        self.away = 0
        self.lost_answers = 0
        self.unfit: set[int] = set()

    async def write(self, batch: ProjectionBatch) -> None:
        if self.away > 0:
            self.away -= 1
            raise StoreError("the database is away")
        if any(row[1] in self.unfit for row in batch.rows.get("leads", {}).values()):
            raise RowsRefusedError("a lead does not fit")
        await super().write(batch)
        if self.lost_answers > 0:
            self.lost_answers -= 1
            raise StoreError("the connection was lost after the commit")


@pytest.fixture
async def log() -> AsyncIterator[EmbeddedLog]:
    log = EmbeddedLog(None, now=lambda: EPOCH)
    for topic in (TOPIC, ACCOUNTS, REQUESTS):
        await log.create_topic(topic, PARTITIONS)
    yield log
    await log.close()


async def write(log: EmbeddedLog, world: World, *, after: World | None = None, size: int = 2) -> None:
    """Write the decisions of a world (that `after` had not made yet) as runners do, in transactions of a few."""
    for partition in range(PARTITIONS):
        ownership: Ownership = await log.own(REQUESTS, partition)
        records = world.records[partition][0 if after is None else len(after.records[partition]) :]
        for at in range(0, len(records), size):
            await ownership.commit([Outgoing(TOPIC, None, record.value) for record in records[at : at + size]])
        await ownership.close()


def projector(log: EmbeddedLog, store: MemoryStore) -> Projector:
    made = Projector(log, store, SystemClock(), contact_ids=CONTACT_IDS, limits=QUICK, jitter=lambda: 0.0)
    made.assign(range(PARTITIONS))
    return made


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.005)


async def while_running(made: Projector, act: Callable[[], Awaitable[None]]) -> None:
    stop = asyncio.Event()
    running = asyncio.create_task(made.run(stop))
    try:
        await act()
    finally:
        stop.set()
        await running
        await made.close()


async def test_what_was_decided_is_shown(log: EmbeddedLog) -> None:
    world, store = world_of(STEPS), MemoryStore()
    await write(log, world)
    made = projector(log, store)
    assert not made.health.ready
    while await made.run_once():
        pass
    assert of_memory(store) == world.tables
    assert made.health.ready
    assert set(made.lag.values()) == {0}
    assert (made.faults, made.gaps) == (0, 0)
    assert store.announcements > 0
    await made.close()


async def test_a_restart_goes_on_where_the_database_is(log: EmbeddedLog) -> None:
    world, store = world_of(STEPS * 3), MemoryStore()
    await write(log, world_of(STEPS))
    first = projector(log, store)
    await first.run_once()
    await first.close()
    await write(log, world, after=world_of(STEPS))
    second = projector(log, store)
    while await second.run_once():
        pass
    assert of_memory(store) == world.tables
    assert second.gaps == 0
    await second.close()


async def test_a_database_that_is_away_for_a_while_loses_nothing(log: EmbeddedLog) -> None:
    world, store = world_of(STEPS * 3), Frail()
    store.away = 1_000_000
    await write(log, world)
    made = projector(log, store)

    async def act() -> None:
        await until(lambda: not made.health.ready and "away" in str(made.health.reason))
        store.away = 3
        await until(lambda: of_memory(store) == world.tables)
        await until(lambda: made.health.ready)

    await while_running(made, act)


async def test_an_answer_lost_after_the_commit_does_no_harm(log: EmbeddedLog) -> None:
    world, store = world_of(STEPS * 3), Frail()
    store.lost_answers = 3
    await write(log, world)
    made = projector(log, store)

    async def act() -> None:
        await until(lambda: of_memory(store) == world.tables and made.health.ready)
        assert not made.lost

    await while_running(made, act)


async def test_a_partition_that_is_assigned_and_not_taken_yet_is_named(log: EmbeddedLog) -> None:
    _world, store = world_of(STEPS), MemoryStore()
    made = projector(log, store)
    await made.run_once()
    assert made.problems() == {}

    made.assign([1])

    looked_up = "its position is being looked up"
    assert made.problems() == {f"{TOPIC}[1]": looked_up, "accounts.decisions[1]": looked_up}
    await made.run_once()
    assert made.problems() == {}
    await made.close()


async def test_a_former_owner_stops_and_says_so(log: EmbeddedLog) -> None:
    world, store = world_of(STEPS), MemoryStore()
    first = projector(log, store)
    await first.run_once()
    second = projector(log, store)
    await second.run_once()
    await write(log, world)
    assert await first.run_once() == 0
    assert first.lost == {(TOPIC, 0), (TOPIC, 1)}
    assert "another owner" in str(first.health.reason)
    while await second.run_once():
        pass
    assert of_memory(store) == world.tables
    first.assign(range(PARTITIONS))
    await first.run_once()
    assert first.health.ready
    await first.close()
    await second.close()


async def test_a_partition_that_was_lost_is_not_left_to_nobody(log: EmbeddedLog) -> None:
    world, store = world_of(STEPS), MemoryStore()
    first = Projector(
        log, store, SystemClock(), contact_ids=CONTACT_IDS, limits=msgspec.structs.replace(QUICK, retake_after_seconds=0.05)
    )
    first.assign(range(PARTITIONS))
    await first.run_once()
    zombie = projector(log, store)
    await zombie.run_once()
    await zombie.close()
    await write(log, world)

    async def act() -> None:
        await until(lambda: bool(first.lost))
        await until(lambda: of_memory(store) == world.tables and first.health.ready)

    await while_running(first, act)


async def test_a_decision_that_the_database_refuses_is_left_out_alone(log: EmbeddedLog) -> None:
    world, store = world_of([("put", 1), ("put", 3), ("put", 5), ("put", 7), ("put", 9)]), Frail()
    store.unfit = {5}
    await write(log, world)
    made = projector(log, store)
    skipped: list[tuple[str, int, int, str]] = []
    made._skip = lambda *place: skipped.append(place)
    while await made.run_once():
        pass
    assert sorted(key[1] for key in store.tables["leads"]) == [1, 3, 7, 9]
    assert [row[-1] for row in store.faults.values()] == ["RowsRefusedError: a lead does not fit"]
    assert made.faults == 1
    assert [(place[0], place[3]) for place in skipped] == [(TOPIC, "RowsRefusedError: a lead does not fit")]
    await made.close()


async def test_a_rewind_is_followed(log: EmbeddedLog) -> None:
    world, store = world_of(STEPS * 2), MemoryStore()
    await write(log, world)
    made = projector(log, store)
    while await made.run_once():
        pass
    store.history.clear()
    for partition in range(PARTITIONS):
        await store.rewind(TOPIC, partition, 0)
    world = world_of([*STEPS * 2, ("put", 3), ("put", 4)])
    await write(log, world, after=world_of(STEPS * 2))
    for _ in range(10):  # the first step finds out, the next ones read again
        await made.run_once()
    assert of_memory(store) == world.tables
    assert made.health.ready
    await made.close()


async def test_a_topic_that_is_not_there_yet_is_waited_for() -> None:
    log, store, world = EmbeddedLog(None, now=lambda: EPOCH), MemoryStore(), world_of(STEPS)
    made = projector(log, store)

    async def act() -> None:
        await until(lambda: "contacts.decisions" in str(made.health.reason) and not made.health.ready)
        for topic in (TOPIC, ACCOUNTS, REQUESTS):
            await log.create_topic(topic, PARTITIONS)
        await write(log, world)
        await until(lambda: of_memory(store) == world.tables)

    await while_running(made, act)
    await log.close()


async def test_fewer_partitions_are_let_go(log: EmbeddedLog) -> None:
    world, store = world_of(STEPS), MemoryStore()
    made = projector(log, store)
    await made.run_once()
    made.assign([1])
    await made.run_once()
    assert set(made.positions) == {(TOPIC, 1), (ACCOUNTS, 1)}
    await write(log, world)
    while await made.run_once():
        pass
    assert {row[1] for row in store.history.values()} == {1}
    assert made.lost == set()
    await made.close()


async def test_a_reader_that_failed_is_opened_again(log: EmbeddedLog, monkeypatch: pytest.MonkeyPatch) -> None:
    world, store = world_of(STEPS), MemoryStore()
    await write(log, world)
    opened: list[Reader] = []
    reader_of = log.reader

    async def reader(topic: str, partitions: list[int], *, start: int | None = 0) -> Reader:
        found = await reader_of(topic, partitions, start=start)
        if len(opened) < 2:

            async def poll(*, limit: int, timeout_seconds: float) -> None:
                raise LogError(f"the broker went away ({limit}, {timeout_seconds})")

            monkeypatch.setattr(found, "poll", poll)
        opened.append(found)
        return found

    monkeypatch.setattr(log, "reader", reader)
    made = projector(log, store)

    async def act() -> None:
        await until(lambda: of_memory(store) == world.tables)

    await while_running(made, act)
    assert len(opened) > 2
