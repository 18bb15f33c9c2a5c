"""How much does intake pass on? A model of schedulers that decide at a steady rate and tell their positions late."""

from collections.abc import Sequence

import pytest

from adapters.intake.backpressure import (
    FILL_SECONDS,
    STALLED_MAX,
    STALLED_SECONDS,
    TARGET_SECONDS,
    UNUSED_SECONDS,
    WINDOW_MIN,
    WINDOW_PER_PARTITION,
    WINDOW_START,
    Backpressure,
    InboxPartition,
)
from engine.partition.ports import LogError
from schemas.instant import Instant

STEP_SECONDS = 0.01
REPORT_SECONDS = 0.04
"""Commit, report and look together, beside what waits in the partition."""


class Schedulers:
    """Partitions that are decided at a rate each; also the clock, which moves only when somebody sleeps."""

    def __init__(self, rates: dict[int, float]) -> None:
        self.rates = rates
        self.seconds = 0.0
        self.ends = dict.fromkeys(rates, 0)
        self.decided = dict.fromkeys(rates, 0.0)
        self.history: list[tuple[float, dict[int, int]]] = [(0.0, dict.fromkeys(rates, 0))]
        self.is_away = False
        self.turn = 0
        """The partition that gets the first of what does not divide evenly."""
        self.waits: list[float] = []
        """Of each step, the seconds that a request appended then would wait: the longest of all partitions."""

    def now(self) -> Instant:
        return Instant(int(self.seconds * 1_000))

    def monotonic(self) -> float:
        return self.seconds

    def seconds_until(self, instant: Instant) -> float:
        return instant / 1_000 - self.seconds

    def wall(self) -> Instant:
        return self.now()

    def elapsed(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        for _ in range(max(1, round(seconds / STEP_SECONDS))):
            self.step()

    def step(self) -> None:
        self.seconds += STEP_SECONDS
        for partition, rate in self.rates.items():
            self.decided[partition] = min(self.ends[partition], self.decided[partition] + rate * STEP_SECONDS)
        self.history.append((self.seconds, {partition: int(done) for partition, done in self.decided.items()}))
        waits = [(self.ends[p] - self.decided[p]) / rate for p, rate in self.rates.items() if rate]
        self.waits.append(max(waits, default=0.0))

    async def positions(self) -> dict[int, int]:
        if self.is_away:
            raise LogError("the broker is away")
        return next(seen for at, seen in reversed(self.history) if at <= max(0.0, self.seconds - REPORT_SECONDS))

    def take(self, backpressure: Backpressure, source: InboxPartition, count: int) -> None:
        """Append so many requests of one partition of an inbox, spread over all partitions."""
        for partition in self.rates:
            share = count // len(self.rates) + ((partition - self.turn) % len(self.rates) < count % len(self.rates))
            if share:
                self.ends[partition] += share
                backpressure.record_append(source, partition, self.ends[partition] - 1, share)
        self.turn += count


FIRST = InboxPartition(0)
BULK = InboxPartition(0, is_bulk=True)


async def feed(
    schedulers: Schedulers, backpressure: Backpressure, seconds: float, sources: Sequence[InboxPartition] = (FIRST,)
) -> dict[InboxPartition, int]:
    """Let partitions of inboxes that are never empty pass on what they may; return how many requests each passed on."""
    passed_on = dict.fromkeys(sources, 0)
    until = schedulers.seconds + seconds
    while schedulers.seconds < until:
        for source in passed_on:
            count = await backpressure.wait_for_capacity(source, 1_000)
            schedulers.take(backpressure, source, count)
            passed_on[source] += count
        schedulers.step()
    return passed_on


@pytest.mark.parametrize("rate", [250.0, 1_000.0, 5_000.0], ids=lambda rate: f"{rate:.0f} a second")
@pytest.mark.parametrize("partitions", [1, 4, 12])
async def test_a_request_waits_about_the_target_behind_a_burst_and_takes_its_share_of_the_schedulers(
    rate: float, partitions: int
) -> None:
    schedulers = Schedulers(dict.fromkeys(range(partitions), rate / partitions))
    backpressure = Backpressure(schedulers.positions, schedulers)
    await feed(schedulers, backpressure, 20.0)  # the window finds its size
    before = sum(schedulers.decided.values())
    schedulers.waits.clear()

    await feed(schedulers, backpressure, 20.0)

    assert max(schedulers.waits) <= max(2 * TARGET_SECONDS, 1.5 * WINDOW_MIN / rate)
    largest = max(WINDOW_START, partitions * WINDOW_PER_PARTITION)
    assert backpressure.window <= largest
    windows_a_second = 0.5 / (FILL_SECONDS + REPORT_SECONDS + 4 * STEP_SECONDS + largest / rate)  # it rests as long again
    assert (sum(schedulers.decided.values()) - before) / 20.0 >= min(0.2 * rate, 0.8 * largest * windows_a_second)


async def test_a_burst_never_makes_more_wait_than_the_window_from_its_first_batch_on() -> None:
    schedulers = Schedulers(dict.fromkeys(range(4), 500.0))
    backpressure = Backpressure(schedulers.positions, schedulers)
    for _ in range(200):
        window = backpressure.window
        schedulers.take(backpressure, FIRST, await backpressure.wait_for_capacity(FIRST, 1_000))
        assert sum(schedulers.ends.values()) - sum(schedulers.decided.values()) <= max(window, backpressure.window)
        schedulers.step()


async def test_a_full_window_is_drained_before_anything_more_is_passed_on() -> None:
    schedulers = Schedulers(dict.fromkeys(range(4), 500.0))
    backpressure = Backpressure(schedulers.positions, schedulers)
    for _ in range(20):
        for source in map(InboxPartition, range(6)):  # so many that nothing of the window is left over
            schedulers.take(backpressure, source, await backpressure.wait_for_capacity(source, 1_000))
        record_append = sum(schedulers.ends.values())
        while await backpressure.wait_for_capacity(FIRST, 1_000) == 0:
            schedulers.step()
        assert sum(schedulers.decided.values()) == record_append


async def test_partitions_that_ask_before_any_of_them_has_appended_share_one_window() -> None:
    schedulers = Schedulers(dict.fromkeys(range(4), 500.0))
    backpressure = Backpressure(schedulers.positions, schedulers)

    allowed = [await backpressure.wait_for_capacity(InboxPartition(number), 1_000) for number in range(5)]

    assert allowed[0] == WINDOW_START // 2
    assert sum(allowed) <= WINDOW_START


async def test_what_partitions_may_pass_on_and_have_not_is_free_for_others_a_moment_later() -> None:
    schedulers = Schedulers(dict.fromkeys(range(4), 500.0))
    backpressure = Backpressure(schedulers.positions, schedulers)
    for number in range(1, 5):
        await backpressure.wait_for_capacity(InboxPartition(number), 1_000)

    await schedulers.sleep(UNUSED_SECONDS)

    assert await backpressure.wait_for_capacity(FIRST, 1_000) == WINDOW_START // 2


async def test_the_window_shrinks_where_this_process_waits_for_a_processor() -> None:
    """What it sees late was decided in time; but others wait for that processor as well."""
    schedulers = Schedulers(dict.fromkeys(range(4), 5_000.0))
    backpressure = Backpressure(schedulers.positions, schedulers)
    schedulers.take(backpressure, FIRST, await backpressure.wait_for_capacity(FIRST, 1_000))
    await schedulers.sleep(FILL_SECONDS)
    assert await backpressure.wait_for_capacity(FIRST, 1_000) == 0, "the window is drained"

    await schedulers.sleep(1.5 * TARGET_SECONDS)
    await backpressure.wait_for_capacity(FIRST, 1_000)

    assert backpressure.window < WINDOW_START


async def test_an_inbox_partition_that_is_flooded_leaves_room_for_another_one() -> None:
    schedulers = Schedulers(dict.fromkeys(range(4), 500.0))
    backpressure = Backpressure(schedulers.positions, schedulers)
    await feed(schedulers, backpressure, 1.0)

    passed_on = await feed(schedulers, backpressure, 20.0, [InboxPartition(number) for number in range(3)])

    assert min(passed_on.values()) >= 0.5 * max(passed_on.values())


async def test_the_window_shrinks_when_schedulers_become_slow_and_grows_again() -> None:
    schedulers = Schedulers(dict.fromkeys(range(4), 1_000.0))
    backpressure = Backpressure(schedulers.positions, schedulers)
    await feed(schedulers, backpressure, 10.0)
    fast = backpressure.window
    schedulers.rates = dict.fromkeys(range(4), 50.0)
    await feed(schedulers, backpressure, 10.0)
    slow = backpressure.window
    schedulers.rates = dict.fromkeys(range(4), 1_000.0)
    await feed(schedulers, backpressure, 10.0)

    assert WINDOW_MIN <= slow < WINDOW_START
    assert slow < fast <= 4 * WINDOW_PER_PARTITION
    assert slow < backpressure.window


async def test_a_partition_without_a_scheduler_holds_nobody_back_until_it_is_full() -> None:
    schedulers = Schedulers({0: 1_000.0, 1: 0.0})
    backpressure = Backpressure(schedulers.positions, schedulers)
    await feed(schedulers, backpressure, STALLED_SECONDS + 1.0)
    before = schedulers.decided[0]
    both = Schedulers({0: 1_000.0, 1: 1_000.0})
    await feed(both, Backpressure(both.positions, both), 2.0)

    await feed(schedulers, backpressure, 2.0)
    assert schedulers.decided[0] - before >= both.decided[0] > 200.0

    await feed(schedulers, backpressure, 60.0)
    assert STALLED_MAX <= schedulers.ends[1] <= STALLED_MAX + 1_000
    assert await backpressure.wait_for_capacity(FIRST, 1_000) == 0


async def test_a_trickle_is_never_held_back_and_leaves_the_window_as_it_is() -> None:
    schedulers = Schedulers(dict.fromkeys(range(4), 500.0))
    backpressure = Backpressure(schedulers.positions, schedulers)
    for _ in range(500):
        assert await backpressure.wait_for_capacity(FIRST, 1_000) > 0
        schedulers.take(backpressure, FIRST, 1)
        await schedulers.sleep(0.5)  # a poll of an idle inbox: the position is seen late, which is nobody's delay

    assert backpressure.window == WINDOW_START


async def test_a_trickle_in_several_partitions_leaves_the_window_as_it_is() -> None:
    """Together they look often, but none is in a hurry: what a look finds may have been decided long before."""
    schedulers = Schedulers(dict.fromkeys(range(4), 500.0))
    backpressure = Backpressure(schedulers.positions, schedulers)
    for _ in range(100):
        for number in range(4):
            assert await backpressure.wait_for_capacity(InboxPartition(number), 1_000) > 0
            schedulers.take(backpressure, InboxPartition(number), 1)
            await schedulers.sleep(0.125)

    assert backpressure.window == WINDOW_START


async def test_positions_that_cannot_be_asked_for_hold_back_what_is_beyond_the_window() -> None:
    schedulers = Schedulers({0: 1_000.0})
    schedulers.is_away = True
    backpressure = Backpressure(schedulers.positions, schedulers)
    schedulers.take(backpressure, FIRST, WINDOW_START)

    assert await backpressure.wait_for_capacity(FIRST, 1_000) == 0
    schedulers.is_away = False
    while await backpressure.wait_for_capacity(FIRST, 1_000) == 0:
        schedulers.step()
    assert sum(schedulers.decided.values()) == WINDOW_START


async def test_without_a_group_to_ask_everything_may_pass() -> None:
    backpressure = Backpressure(None, Schedulers({}))
    backpressure.record_append(FIRST, 0, 9_999, 10_000)
    assert await backpressure.wait_for_capacity(FIRST, 1_000) == 1_000


async def test_a_trickle_is_not_held_back_beside_a_bulk_import_that_fills_its_window() -> None:
    schedulers = Schedulers(dict.fromkeys(range(4), 500.0))
    backpressure = Backpressure(schedulers.positions, schedulers)
    imported = 0
    for _ in range(2_000):
        count = await backpressure.wait_for_capacity(BULK, 1_000)
        schedulers.take(backpressure, BULK, count)
        imported += count
        assert await backpressure.wait_for_capacity(FIRST, 1_000) > 0
        schedulers.take(backpressure, FIRST, 1)
        schedulers.step()

    assert imported >= 2_000


@pytest.mark.parametrize("partitions", [1, 4, 16])
async def test_bulk_comes_behind_the_other_inbox_and_never_stops(partitions: int) -> None:
    schedulers = Schedulers(dict.fromkeys(range(4), 500.0))
    backpressure = Backpressure(schedulers.positions, schedulers)
    others = [InboxPartition(number) for number in range(partitions)]
    alone = sum((await feed(schedulers, backpressure, 40.0, others)).values())

    passed_on = await feed(schedulers, backpressure, 40.0, [*others, BULK])

    bulk = passed_on.pop(BULK)
    assert 0.02 * alone <= bulk <= 0.7 * sum(passed_on.values())
    assert sum(passed_on.values()) >= 0.75 * alone, "the schedulers could decide far more than both"


async def test_bulk_rests_while_the_other_inbox_does() -> None:
    schedulers = Schedulers(dict.fromkeys(range(4), 500.0))
    backpressure = Backpressure(schedulers.positions, schedulers)
    await feed(schedulers, backpressure, 20.0)  # the window finds its size
    schedulers.waits.clear()

    await feed(schedulers, backpressure, 20.0, [FIRST, BULK])

    assert sum(wait == 0.0 for wait in schedulers.waits) >= 0.2 * len(schedulers.waits)


async def test_bulk_for_a_partition_without_a_scheduler_does_not_hold_back_the_other_inbox() -> None:
    schedulers = Schedulers({0: 0.0})
    backpressure = Backpressure(schedulers.positions, schedulers)
    await feed(schedulers, backpressure, 60.0, [BULK])

    assert await backpressure.wait_for_capacity(BULK, 1_000) == 0
    assert await backpressure.wait_for_capacity(FIRST, 1_000) > 0
