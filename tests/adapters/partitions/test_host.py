"""What does a host do when partitions come, go, are fenced or fail? With workers that follow a script."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable

import pytest

from adapters import retry
from adapters.partitions import host as hosts
from adapters.partitions.host import FENCED, LEAVING, RESTORING, UNASSIGNED, PartitionHost
from engine.partition.ports import FencedError, LogError

UNKNOWN = (-1,)
"""Of a world whose partitions the group has not assigned yet."""


class ScriptedAssignment:
    """An assignment that follows a test's script."""

    def __init__(self) -> None:
        self._changes: asyncio.Queue[frozenset[int] | LogError] = asyncio.Queue()
        self.confirms = True
        self.confirm_error: LogError | None = None
        self.asked = 0
        self.reported: dict[int, int] = {}

    def give(self, *partitions: int) -> None:
        self._changes.put_nowait(frozenset(partitions))

    def fail(self, error: LogError) -> None:
        self._changes.put_nowait(error)

    async def changes(self) -> AsyncIterator[frozenset[int]]:
        while True:
            change = await self._changes.get()
            if isinstance(change, LogError):
                raise change
            yield change

    async def confirm(self, partition: int) -> bool:
        self.asked += 1
        if self.confirm_error is not None:
            raise self.confirm_error
        return self.confirms

    def report(self, partition: int, offset: int) -> None:
        self.reported[partition] = offset


class Diary:
    """A worker of one partition that writes down what is done with it, and raises what it is given."""

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.opens = self.cycles = self.closes = 0
        self.is_busy = False
        self.errors: list[Exception] = []
        self.open_errors: list[Exception] = []
        self.cycle_seconds = 0.001
        self.problem: str | None = None
        self.may_open = asyncio.Event()
        self.may_open.set()

    async def open(self) -> None:
        self.opens += 1
        await self.may_open.wait()
        if self.open_errors:
            raise self.open_errors.pop(0)

    async def cycle(self) -> int:
        self.is_busy = True
        try:
            await asyncio.sleep(self.cycle_seconds)
        finally:
            self.is_busy = False
        if self.errors:
            raise self.errors.pop(0)
        self.cycles += 1
        return self.cycles

    async def close(self) -> None:
        assert not self.is_busy
        self.closes += 1


class HostWorld:
    def __init__(self, *assigned: int) -> None:
        self.assignment = ScriptedAssignment()
        if assigned != UNKNOWN:
            self.assignment.give(*assigned)
        self.made: dict[int, list[Diary]] = defaultdict(list)
        self.host = PartitionHost("test", self._make, self.assignment, lambda error: f"described: {error}")
        self.stop = asyncio.Event()
        self.task = asyncio.ensure_future(self.host.run(self.stop))

    def _make(self, partition: int) -> Diary:
        self.made[partition].append(Diary(partition))
        return self.made[partition][-1]

    def worker(self, partition: int) -> Diary:
        [worker] = self.made[partition]
        return worker

    async def begun(self, partition: int) -> None:
        await until(lambda: bool(self.made[partition]) and self.worker(partition).cycles > 0)

    async def end(self) -> None:
        self.stop.set()
        await self.task


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.001)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "BACKOFF_FIRST_SECONDS", 0.002)
    monkeypatch.setattr(hosts, "FENCED_PAUSE_SECONDS", 0.1)
    monkeypatch.setattr(hosts, "REVOKE_SECONDS", 0.1)


async def test_every_assigned_partition_is_opened_and_cycled() -> None:
    world = HostWorld(0, 2)
    await until(lambda: world.assignment.reported.keys() == {0, 2})

    assert world.host.is_ready
    assert world.made.keys() == {0, 2}
    await world.end()
    assert world.worker(0).closes > 0
    assert world.worker(2).closes > 0


@pytest.mark.parametrize(("is_away", "longest_seconds"), [(True, 1.0), (False, 10.0)])
async def test_a_log_that_comes_back_by_itself_is_tried_again_within_a_second_a_permanent_fault_less_often(
    monkeypatch: pytest.MonkeyPatch, is_away: bool, longest_seconds: float
) -> None:
    pauses: list[float] = []

    async def pause(_stop: asyncio.Event, seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0)

    monkeypatch.setattr(retry, "pause", pause)
    world = HostWorld()
    worker = Diary(0)
    worker.open_errors = [LogError("no broker answers", retryable=is_away) for _ in range(20)]
    world.host.workers[0] = worker
    world.assignment.give(0)
    await until(lambda: worker.cycles > 0)
    await world.end()
    assert len(pauses) == 20
    assert pauses == sorted(pauses)
    assert pauses[-1] == longest_seconds


async def test_a_partition_that_cannot_be_opened_says_why_until_it_can() -> None:
    world = HostWorld()
    worker = Diary(0)
    worker.open_errors = [LogError("contacts.state[0] offset 3 cannot be read")] * 1_000
    world.host.workers[0] = worker
    world.assignment.give(0)
    await until(lambda: worker.opens > 2)

    assert not world.host.is_ready
    assert world.host.problems() == {"partition 0": "described: contacts.state[0] offset 3 cannot be read"}
    worker.open_errors.clear()
    await until(lambda: worker.cycles > 0)
    assert world.host.problems() == {}
    await world.end()


async def test_a_host_is_not_ready_before_it_knows_its_partitions_and_ready_with_none_once_it_knows_that() -> None:
    world = HostWorld(*UNKNOWN)
    await asyncio.sleep(0)
    assert not world.host.is_ready
    assert world.host.problems() == {"partitions": UNASSIGNED}

    world.assignment.give()
    await until(lambda: world.host.is_ready)
    assert world.host.problems() == {}
    await world.end()
    assert not world.host.is_ready


async def test_a_host_names_each_partition_that_is_not_restored_and_is_ready_when_the_last_one_is() -> None:
    world = HostWorld(*UNKNOWN)
    slow = Diary(1)
    slow.may_open.clear()
    world.host.workers[1] = slow
    world.assignment.give(0, 1)
    await until(lambda: 0 in world.assignment.reported and slow.opens == 1)

    assert not world.host.is_ready
    assert world.host.problems() == {"partition 1": RESTORING}
    slow.may_open.set()
    await until(lambda: world.host.is_ready)
    assert world.host.problems() == {}
    await world.end()


async def test_a_host_that_lost_its_group_is_not_ready() -> None:
    world = HostWorld(0)
    await world.begun(0)
    world.assignment.fail(LogError("the group is gone"))
    with pytest.raises(LogError, match="the group is gone"):
        await world.task

    assert not world.host.is_ready
    assert world.host.problems() == {"partitions": LEAVING}


async def test_what_a_partition_waits_for_is_distinguished_from_what_no_waiting_repairs() -> None:
    """A broker that is away, a permanent fault and a fault of ours ask for different things of an operator."""
    world = HostWorld(*UNKNOWN)
    workers = [Diary(number) for number in range(4)]
    workers[0].open_errors = [LogError("no broker answers")] * 1_000
    workers[1].open_errors = [LogError("not allowed", retryable=False)] * 1_000
    workers[2].open_errors = [KeyError("x") for _ in range(1_000)]
    workers[3].errors = [FencedError("contacts.requests", 3)]
    world.assignment.confirms = False
    world.host.workers.update(enumerate(workers))
    world.assignment.give(0, 1, 2, 3)
    await until(lambda: all(worker.opens > 1 for worker in workers[:3]) and world.assignment.asked > 0)

    assert world.host.problems() == {
        "partition 0": "described: no broker answers",
        "partition 1": "stopped: described: not allowed",
        "partition 2": "stopped by a fault of leadclock (KeyError: 'x'); the log of this process has the details",
        "partition 3": FENCED,
    }
    await world.end()


async def test_what_keeps_an_assigned_partition_from_its_work_is_reported_and_of_one_that_left_nothing() -> None:
    world = HostWorld(0, 1)
    await until(lambda: world.assignment.reported.keys() == {0, 1})
    world.worker(1).problem = "its time is ahead"

    assert world.host.problems() == {"partition 1": "its time is ahead"}
    world.assignment.give(0)
    await until(lambda: world.worker(1).closes == 1)
    assert world.host.problems() == {}
    await world.end()


async def test_what_stays_runs_on_when_others_come_and_go() -> None:
    world = HostWorld(0, 1)
    await until(lambda: world.assignment.reported.keys() == {0, 1})
    world.assignment.give(1, 2)
    await until(lambda: 2 in world.assignment.reported)

    assert world.worker(0).closes == 1
    assert (world.worker(1).opens, world.worker(1).closes) == (1, 0)
    await world.end()


async def test_a_revoked_partition_finishes_its_cycle_before_it_is_closed() -> None:
    world = HostWorld(0)
    await world.begun(0)
    world.worker(0).cycle_seconds = 0.05
    await until(lambda: world.worker(0).is_busy)
    before = world.worker(0).cycles
    world.assignment.give()
    await until(lambda: world.worker(0).closes == 1)

    assert world.worker(0).cycles >= before + 1
    await world.end()


async def test_a_cycle_that_does_not_end_is_cancelled_for_the_successor_is_waiting() -> None:
    world = HostWorld(0)
    await world.begun(0)
    world.worker(0).cycle_seconds = 60
    await asyncio.sleep(0.01)
    world.assignment.give(1)
    await until(lambda: 1 in world.assignment.reported)

    assert 0 not in world.host.ready
    assert world.worker(0).closes == 1
    await world.end()


@pytest.mark.parametrize("error", [LogError("away"), KeyError("a fault of ours")], ids=["log away", "own fault"])
async def test_a_partition_that_fails_is_opened_again_and_the_others_do_not_notice(error: Exception) -> None:
    world = HostWorld(0, 1)
    await until(lambda: world.assignment.reported.keys() == {0, 1})
    world.worker(0).errors = [error] * 3
    await until(lambda: world.worker(0).opens == 4 and 0 in world.host.ready)

    assert world.worker(1).opens == 1
    await world.end()


async def test_a_partition_that_cannot_be_opened_is_not_ready_and_tried_ever_less_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hosts, "BACKOFF_FIRST_SECONDS", 0.01)
    world = HostWorld(0)
    await until(lambda: bool(world.made[0]))
    world.worker(0).open_errors = [LogError("away")] * 1_000
    world.worker(0).errors = [LogError("away")]
    await until(lambda: world.worker(0).opens >= 2)
    loop = asyncio.get_running_loop()
    before, opens = loop.time(), world.worker(0).opens
    await until(lambda: world.worker(0).opens >= opens + 4)

    assert loop.time() - before > 0.1  # 10, 20, 40, 80 ms
    assert not world.host.is_ready
    await world.end()


async def test_a_fenced_partition_is_taken_again_only_where_the_group_confirms_it() -> None:
    world = HostWorld(0)
    await world.begun(0)
    world.assignment.confirms = False
    world.worker(0).errors = [FencedError("contacts.requests", 0)]
    await until(lambda: world.assignment.asked >= 2)
    assert world.worker(0).opens == 1
    assert not world.host.is_ready

    world.assignment.confirms = True
    await until(lambda: world.worker(0).opens == 2 and world.host.is_ready)
    await world.end()


async def test_a_group_that_cannot_be_asked_confirms_nothing_and_is_asked_again() -> None:
    world = HostWorld(0)
    await world.begun(0)
    world.assignment.confirm_error = LogError("no coordinator")
    world.worker(0).errors = [FencedError("contacts.requests", 0)]
    await until(lambda: world.assignment.asked >= 2)
    world.assignment.confirm_error = None
    await until(lambda: world.worker(0).opens == 2)
    await world.end()


async def test_a_fenced_partition_that_is_revoked_is_let_go() -> None:
    world = HostWorld(0)
    await world.begun(0)
    world.assignment.confirms = False
    world.worker(0).errors = [FencedError("contacts.requests", 0)]
    await until(lambda: world.assignment.asked >= 1)
    world.assignment.give()
    await until(lambda: world.worker(0).closes == 1)

    assert world.worker(0).opens == 1
    assert world.host.is_ready
    await world.end()


async def test_the_memory_of_a_partition_stays_warm_until_it_comes_back() -> None:
    world = HostWorld(0)
    await world.begun(0)
    world.assignment.give()
    await until(lambda: world.worker(0).closes == 1)
    world.assignment.give(0)
    await until(lambda: world.worker(0).opens == 2)

    assert len(world.made[0]) == 1
    await world.end()
