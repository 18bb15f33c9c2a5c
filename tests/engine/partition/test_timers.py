"""Does every timer fire once, at its time, the most urgent first?"""

from hypothesis import given
from hypothesis import strategies as st

from engine.partition.aggregate import Timer
from engine.partition.timers import TimerQueue
from schemas.contact import Replan
from schemas.instant import EPOCH, HOUR, MINUTE, SECOND, Instant

NOON = Instant(1_784_131_200_000)


def timer(name: str, due_at: Instant, urgency_class: int = 2, priority: float = 100.0) -> Timer:
    return Timer(due_at, urgency_class, priority, int(name), f"lead/{name}")


def ages(name: str, due_at: Instant, aging: float, priority: float = 100.0) -> Timer:
    return Timer(due_at, 2, priority, int(name), f"lead/{name}", aging)


class TimedLeads:
    """Entities with one timer each, and the queue that is derived from them."""

    def __init__(self) -> None:
        self.timers: dict[str, Timer] = {}
        self.queue = TimerQueue(self.timers.get)

    def set(self, one: Timer) -> None:
        self.timers[one.key] = one
        self.queue.push(one)

    def fire(self, now: Instant, limit: int = 1_000) -> list[str]:
        due = self.queue.pop_due(now, limit)
        for one in due:
            del self.timers[one.key]
        return [one.key for one in due]


def test_what_is_due_comes_by_class_priority_time_and_id() -> None:
    leads = TimedLeads()
    leads.set(timer("1", NOON))
    leads.set(timer("2", NOON - HOUR))
    leads.set(timer("3", NOON, priority=-1.0))
    leads.set(timer("4", NOON, urgency_class=0))
    leads.set(timer("6", NOON))
    leads.set(timer("5", NOON))
    assert leads.fire(NOON) == ["lead/4", "lead/3", "lead/2", "lead/1", "lead/5", "lead/6"]


def test_who_waited_before_a_gate_that_is_gone_goes_by_turns_and_priority() -> None:
    """However many they are: those that ripen at once are as few as is asked, and none is taken before all of them are."""
    gates = {"replan/versions": Replan(cause="versions", due_at=NOON)}
    timers: dict[str, Timer] = {}
    queue = TimerQueue(timers.get, gates.get)
    for number in range(60):
        company_id, gate = 1 + number % 2, "replan/versions" if number % 3 else ""
        key, priority = f"lead/{number}", float(-(number // 2))
        timers[key] = Timer(NOON, 2, priority, number, key, gate=gate, company_id=company_id)
        queue.push(timers[key])
    ungated = [one.id for one in queue.pop_due(NOON, 100)]
    assert len(ungated) == 20
    assert queue.next_due_at() is None, "nobody asks again before the sweep has ended"

    gates.clear()
    assert queue.next_due_at() == EPOCH
    slices = 0
    while queue.promote_due(NOON, 7):
        slices += 1
    due = queue.pop_due(NOON, 100)

    assert slices == 5
    assert len(due) == len(queue) + 40 == 40
    for company_id in (1, 2):
        own = [one.priority for one in due if one.company_id == company_id]
        assert own == sorted(own)
    assert {one.company_id for one in due[:2]} == {one.company_id for one in due[2:4]} == {1, 2}


def test_within_a_minute_nothing_comes_early() -> None:
    leads = TimedLeads()
    leads.set(timer("1", NOON + 30 * SECOND))
    assert leads.fire(NOON) == []
    assert leads.queue.next_due_at() == NOON + 30 * SECOND
    assert leads.fire(NOON + 30 * SECOND - 1) == []
    assert leads.fire(NOON + 30 * SECOND) == ["lead/1"]


def test_a_timer_that_is_set_for_the_running_minute_is_not_lost() -> None:
    leads = TimedLeads()
    leads.set(timer("1", NOON))
    assert leads.fire(NOON) == ["lead/1"]
    leads.set(timer("2", NOON + 1))
    leads.set(timer("3", NOON - 1))
    assert leads.fire(NOON + 1) == ["lead/3", "lead/2"]


def test_a_timer_that_moved_comes_at_its_new_time_only() -> None:
    leads = TimedLeads()
    leads.set(timer("1", NOON))
    leads.set(timer("1", NOON + 2 * MINUTE))
    leads.set(timer("2", NOON + 5 * SECOND))
    leads.set(timer("2", NOON + 9 * SECOND))
    assert leads.fire(NOON + 5 * SECOND) == []
    assert leads.fire(NOON + MINUTE) == ["lead/2"]
    assert leads.fire(NOON + 2 * MINUTE) == ["lead/1"]
    assert leads.queue.next_due_at() is None


def test_what_was_set_twice_comes_once() -> None:
    leads = TimedLeads()
    leads.set(timer("1", NOON))
    leads.set(timer("1", NOON))
    assert [one.key for one in leads.queue.pop_due(NOON, 10)] == ["lead/1"]


def test_what_was_given_back_is_due_again() -> None:
    leads = TimedLeads()
    leads.set(timer("1", NOON))
    taken = leads.queue.pop_due(NOON, 10)
    leads.queue.give_back(taken)
    assert leads.queue.next_due_at() == EPOCH
    assert leads.fire(NOON) == ["lead/1"]


def test_a_parked_timer_rests() -> None:
    leads = TimedLeads()
    leads.set(timer("1", NOON))
    (stuck,) = leads.queue.pop_due(NOON, 10)
    leads.queue.park(stuck, NOON + HOUR)
    assert leads.fire(NOON + MINUTE) == []
    assert leads.queue.next_due_at() == NOON + HOUR
    assert leads.fire(NOON + HOUR) == ["lead/1"]


def test_many_that_are_due_at_once_are_taken_in_by_and_by() -> None:
    leads = TimedLeads()
    for number in range(25):
        leads.set(timer(str(number), NOON, priority=float(-number)))
    rounds = 0
    while leads.queue.promote_due(NOON, 10):
        rounds += 1
    assert rounds > 2
    assert leads.fire(NOON, 3) == ["lead/24", "lead/23", "lead/22"]


@given(
    changes=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5 * MINUTE), st.integers(0, 3)), max_size=40),
    steps=st.lists(st.integers(1, 2 * MINUTE), max_size=20),
    limit=st.integers(1, 3),
)
def test_the_queue_says_what_a_search_through_all_timers_says(
    changes: list[tuple[int, int, int]], steps: list[int], limit: int
) -> None:
    leads = TimedLeads()
    now, waiting = NOON, list(changes)
    for step in [*steps, 6 * MINUTE]:
        for number, after, urgency_class in waiting[:3]:
            leads.set(timer(str(number), now + after - MINUTE, urgency_class))
        del waiting[:3]
        next_due_at = leads.queue.next_due_at()
        assert next_due_at is not None or not leads.timers
        assert not leads.timers or (next_due_at or EPOCH) <= min(one.due_at for one in leads.timers.values())
        now += step
        due = sorted(
            (one for one in leads.timers.values() if one.due_at <= now),
            key=lambda one: (one.urgency_class, one.priority, one.due_at, one.id),
        )
        while leads.queue.promote_due(now, limit):
            pass
        assert leads.fire(now, 100) == [one.key for one in due]


def test_who_ages_overtakes_who_is_more_urgent_once_it_has_waited_long_enough() -> None:
    for hours, first in ((1, "lead/2"), (3, "lead/1")):
        leads = TimedLeads()
        leads.set(ages("1", NOON - hours * HOUR, aging=10.0))
        leads.set(timer("2", NOON, priority=80.0))
        assert leads.fire(NOON, limit=1) == [first]


def test_waiting_timers_are_sorted_again_as_they_age() -> None:
    leads = TimedLeads()
    leads.set(ages("1", NOON, aging=60.0))
    for name in ("2", "3", "4"):
        leads.set(timer(name, NOON, priority=50.0))
    assert leads.fire(NOON, limit=1) == ["lead/2"]
    assert leads.fire(NOON + 30 * MINUTE, limit=1) == ["lead/3"]
    assert leads.fire(NOON + HOUR, limit=1) == ["lead/1"]


@given(due=st.lists(st.integers(0, 5), max_size=30), most=st.integers(1, 8))
def test_due_timers_are_counted_as_far_as_is_asked_and_stay_where_they_are(due: list[int], most: int) -> None:
    leads = TimedLeads()
    leads.set(timer("99", NOON))
    assert leads.fire(NOON) == ["lead/99"]  # the minute of all others has begun
    for number, seconds in enumerate(due):
        leads.set(timer(str(number), NOON + seconds * SECOND))
    now = NOON + 2 * SECOND
    really = sum(seconds <= 2 for seconds in due)

    counted = leads.queue.count_due(now, most)

    assert min(counted, most) == min(really, most)
    assert len(leads.fire(now)) == really
