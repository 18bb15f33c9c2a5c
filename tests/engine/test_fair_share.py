"""Does every company get its share, however much another one requests?"""

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.fair_share import FairQueue, Shares
from engine.partition.aggregate import Timer
from engine.partition.timers import TimerQueue
from schemas.instant import Instant

NOON = Instant(1_784_131_200_000)

PRIORITIES = st.floats(-1e6, 1e6) | st.just(-1e6)
COMPANIES = st.lists(st.integers(1, 10**9), min_size=1, max_size=8, unique=True)


def every(_: object) -> bool:
    return True


def drained(queue: FairQueue[tuple[float, int]], is_wanted: Callable[[tuple[float, int]], bool] = every) -> list[int]:
    """Take everything; return the company of each entry."""
    found = []
    while (entry := queue.take(is_wanted)) is not None:
        found.append(entry[1])
    return found


@given(st.lists(st.tuples(PRIORITIES, st.integers(1, 4)), max_size=60))
def test_between_two_turns_of_a_company_that_waits_no_other_has_two(entries: list[tuple[float, int]]) -> None:
    queue: FairQueue[tuple[float, int]] = FairQueue()
    for entry in entries:
        queue.push(entry[1], entry)

    served = drained(queue)

    assert Counter(served) == Counter(company for _, company in entries)
    for company in set(served):
        last = len(served) - served[::-1].index(company)
        since: Counter[int] = Counter()
        for other in served[:last]:
            since = Counter() if other == company else since + Counter([other])
            assert max(since.values(), default=0) <= 1


@given(st.lists(PRIORITIES, max_size=30))
def test_a_companys_own_entries_come_in_their_own_order(priorities: list[float]) -> None:
    queue: FairQueue[tuple[float, int]] = FairQueue()
    for number, priority in enumerate(priorities):
        queue.push(7, (priority, number))

    found = [queue.take(every) for _ in priorities]

    assert found == sorted((priority, number) for number, priority in enumerate(priorities))


def test_unwanted_entries_use_up_no_turn() -> None:
    queue: FairQueue[tuple[float, int]] = FairQueue()
    for number in range(5):
        queue.push(1, (number, 1))
    queue.push(2, (0.0, 2))
    queue.push(2, (1.0, 2))

    assert drained(queue, lambda entry: entry[1] == 2 or entry[0] >= 3) == [1, 2, 1, 2]
    assert not queue


def test_an_order_that_changes_leaves_turns_as_they_are() -> None:
    queue: FairQueue[tuple[float, int]] = FairQueue()
    for company in (1, 2):
        for priority in (1.0, 2.0):
            queue.push(company, (priority, company))
    queue.reorder(lambda entry: (-entry[0], entry[1]))

    assert [queue.take(every) for _ in range(4)] == [(-2.0, 1), (-2.0, 2), (-1.0, 1), (-1.0, 2)]


@given(COMPANIES, st.data())
def test_of_companies_with_equal_due_work_none_gets_less_than_half_its_share(
    companies: list[int], data: st.DataObject
) -> None:
    each = data.draw(st.integers(1, 60))
    timers: dict[str, Timer] = {}
    queue = TimerQueue(timers.get)
    for company in companies:
        urgency_class = data.draw(st.integers(0, 9))
        priority = data.draw(PRIORITIES)
        for number in range(each):
            key = f"lead/{company}-{number}"
            timers[key] = Timer(NOON - number, urgency_class, priority, number, key, company_id=company)
            queue.push(timers[key])
    limit = data.draw(st.integers(1, 50))
    cycles = data.draw(st.integers(1, 20))

    fired: Counter[int] = Counter()
    for _ in range(cycles):
        due = queue.pop_due(NOON, limit)
        fired.update(timer.company_id for timer in due)
        for timer in due:
            del timers[timer.key]

    share = fired.total() / len(companies)
    assert fired.total() == min(limit * cycles, each * len(companies))
    assert all(fired[company] >= share / 2 or fired[company] >= int(share) for company in companies)


@given(st.integers(1, 200), st.lists(st.tuples(st.integers(1, 6), st.booleans()), max_size=300))
def test_no_more_is_held_than_there_is_and_only_who_holds_none_gets_the_last(
    total: int, wishes: list[tuple[int, bool]]
) -> None:
    shares, held = Shares(total), Counter[int]()
    for company, takes in wishes:
        free = total - held.total()
        if takes and shares.may_take(company):
            assert free > 1 or held[company] == 0
            shares.take(company)
            held[company] += 1
        elif not takes and held[company]:
            shares.give_back(company)
            held[company] -= 1

        assert shares.free == total - held.total() >= 0
        assert all(shares.held(one) == held[one] for one in range(1, 7))


@pytest.mark.parametrize(("greedy", "each"), [(1, 50), (2, 33), (3, 25), (9, 10)])
def test_companies_that_take_all_they_can_leave_room_for_the_next_one(greedy: int, each: int) -> None:
    shares = Shares(100)
    for _ in range(100):
        for company in range(1, greedy + 1):
            if shares.may_take(company):
                shares.take(company)

    assert {shares.held(company) - each for company in range(1, greedy + 1)} <= {0, 1}
    assert shares.free >= each - 1
