"""Does a partition stop for good where a topic is not the one that it has read? Each topic, each way to lose it."""

from collections.abc import Awaitable, Callable
from contextlib import nullcontext

import pytest

from adapters.embedded.log import EmbeddedLog
from adapters.partitions.snapshots import FileSnapshots
from engine.partition.continuity import ContinuityError, Newest, check_rules, compare_decisions
from engine.partition.runner import Runner
from schemas.decisions import Position
from tests.engine.partition.runner_world import ACT, RunnerWorld

DECIDED = 12
"""Requests before a topic is lost."""

Loss = Callable[[EmbeddedLog, str], Awaitable[None]]


@pytest.fixture
async def world() -> RunnerWorld:
    """Return a partition that has decided requests, whose owner has left."""
    world = await RunnerWorld().build()
    await decide(world, world.runner(), DECIDED)
    return world


async def decide(world: RunnerWorld, runner: Runner, count: int) -> None:
    await runner.open()
    for _ in range(count):
        await world.ask(ACT)
        await runner.cycle()
    await runner.close()


async def make_again(log: EmbeddedLog, topic: str) -> None:
    await log.delete_topic(topic)
    await log.create_topic(topic, 1)


async def empty(log: EmbeddedLog, topic: str) -> None:
    """Lose every record and keep the topic, as a disk that was replaced does."""
    partition = log.partition(topic, 0)
    partition.records.clear()
    partition.end = partition.start = 0


async def cut(log: EmbeddedLog, topic: str) -> None:
    """Lose the second half, as an unclean leader election does."""
    partition = log.partition(topic, 0)
    del partition.records[len(partition.records) // 2 :]
    partition.end = partition.records[-1].offset + 1


LOSSES: dict[str, Loss] = {"made again": make_again, "emptied": empty, "cut": cut}
REMEMBERED = ("contacts.requests", "contacts.decisions", "contacts.state")


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("topic", REMEMBERED)
async def test_a_new_owner_stops_at_a_topic_that_lost_records_whatever_comes_since(
    world: RunnerWorld, topic: str, loss: str
) -> None:
    await LOSSES[loss](world.log, topic)
    decided = len(await world.decisions())
    runner = world.runner()
    for _ in range(3 * DECIDED):  # more than were lost: an offset alone would say that all is well
        with pytest.raises(ContinuityError, match=f"^{topic}"):
            await runner.open()
        await world.ask(ACT)
    await runner.close()

    assert len(await world.decisions()) == decided


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("topic", REMEMBERED)
async def test_the_owner_stops_at_the_next_take_over_with_its_state_in_memory(topic: str, loss: str) -> None:
    world = await RunnerWorld().build()
    runner = world.runner()
    await decide(world, runner, DECIDED)
    await LOSSES[loss](world.log, topic)
    decided = len(await world.decisions())
    for _ in range(3 * DECIDED):
        with pytest.raises(ContinuityError):
            await runner.open()
        await world.ask(ACT)
    await runner.close()

    assert len(await world.decisions()) == decided


@pytest.mark.parametrize("second", REMEMBERED)
@pytest.mark.parametrize("first", REMEMBERED)
async def test_two_lost_topics_stop_a_partition_as_well(world: RunnerWorld, first: str, second: str) -> None:
    made = {topic: await world.log.topic_id(topic) for topic in REMEMBERED}
    for topic in {first, second}:
        await make_again(world.log, topic)

    with pytest.raises(ContinuityError):
        await world.runner(made=made).open()


async def test_requests_that_were_deleted_before_they_were_decided_stop_a_partition(world: RunnerWorld) -> None:
    for _ in range(3):
        await world.ask(ACT)
    await world.log.delete_records("contacts.requests", 0, DECIDED + 2)

    with pytest.raises(ContinuityError, match=f"begins at {DECIDED + 2}: the requests from {DECIDED} were deleted"):
        await world.runner().open()


async def test_what_retention_and_compaction_take_is_no_fault(world: RunnerWorld) -> None:
    requests, decisions = (world.log.partition(f"contacts.{name}", 0) for name in ("requests", "decisions"))
    await world.log.delete_records("contacts.requests", 0, requests.end)
    await world.log.delete_records("contacts.decisions", 0, decisions.end)
    await world.log.compact("contacts.state", tombstones_ms=0)

    await decide(world, world.runner(), 1)

    assert (await world.decisions())[-1].cause.offset == DECIDED


async def test_a_snapshot_of_a_later_decision_than_the_log_holds_stops_a_partition(
    world: RunnerWorld, tmp_path: object
) -> None:
    snapshots = FileSnapshots(tmp_path, "scheduler", topic="contacts.state", deployment=lambda: "d")  # type: ignore[arg-type]
    before = {name: (list(world.log.partition(name, 0).records), world.log.partition(name, 0).end) for name in REMEMBERED}
    runner = world.runner(snapshots=snapshots)
    await runner.open()
    await world.ask(ACT)
    await runner.cycle()
    await snapshots.save(0, runner.topic_id, await runner.begin_snapshot())
    await runner.close()
    for name, (records, end) in before.items():  # the whole log from an older copy
        partition = world.log.partition(name, 0)
        partition.records[:], partition.end = records, end

    runner = world.runner(snapshots=snapshots)
    for _ in range(3 * DECIDED):
        with pytest.raises(ContinuityError, match=r"^contacts\.state\[0\]"):
            await runner.open()
        await world.ask(ACT)


async def test_a_partition_that_has_decided_nothing_starts_with_any_topics(world: RunnerWorld) -> None:
    for topic in REMEMBERED:
        await make_again(world.log, topic)

    await decide(world, world.runner(), 1)

    assert [one.cause.kind for one in await world.decisions()] == ["adoption", "request"]


async def test_the_ids_of_the_topics_are_recorded_with_the_first_adoption_only(world: RunnerWorld) -> None:
    adopted = [one.cause.topics for one in await world.decisions() if one.cause.kind == "adoption"]

    assert [set(topics) for topics in adopted] == [{*REMEMBERED, "accounts.rules"}]
    assert adopted[0]["contacts.state"] == await world.log.topic_id("contacts.state")


@pytest.mark.parametrize("topic", [*REMEMBERED, "accounts.rules"])
async def test_a_topic_that_is_made_again_while_its_partition_runs_stops_it(topic: str) -> None:
    world = await RunnerWorld().build()
    runner = world.runner()
    await runner.open()
    await make_again(world.log, topic)
    world.clock.time += 11_000

    with pytest.raises(ContinuityError, match=f"^{topic} was deleted and made again"):
        await runner.cycle()


@pytest.mark.parametrize(
    ("sequence", "newest", "is_deleted", "at_fault"),
    [
        (0, None, False, None),
        (0, None, True, None),
        (0, 7, False, "state"),
        (6, 7, False, "state"),
        (7, 7, False, None),
        (8, 7, False, "decisions"),
        (8, None, False, "decisions"),
        (8, None, True, None),
    ],
)
def test_changelog_and_decisions_end_with_the_same_decision(
    sequence: int, newest: int | None, is_deleted: bool, at_fault: str | None
) -> None:
    position, last = Position(sequence=sequence, chain="c"), None if newest is None else Newest(newest, "c")
    expected = nullcontext() if at_fault is None else pytest.raises(ContinuityError, match=f"^{at_fault} ")
    with expected:
        compare_decisions(position, last, decisions="decisions", state="state", is_deleted=is_deleted)


def test_the_same_number_of_another_decision_is_a_fault() -> None:
    with pytest.raises(ContinuityError, match=r"^decisions holds another decision 7 than state"):
        compare_decisions(Position(sequence=7, chain="c"), Newest(7, "d"), decisions="decisions", state="state")


def test_adopted_rules_that_the_topic_lacks_are_a_fault() -> None:
    check_rules("accounts.rules", {"0": 3, "1": 0}, {0: 4})
    with pytest.raises(ContinuityError, match=r"^accounts.rules\[0\] ends at change 2, and change 3 was adopted"):
        check_rules("accounts.rules", {"0": 3}, {0: 2})
