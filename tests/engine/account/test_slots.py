"""Is a limited resource granted to the most urgent, never beyond its limit, and as soon as it is free?"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.account.choice import Candidate, choose_buyer
from engine.account.slots import ANSWERS_AT_ONCE_MAX
from schemas.account import Claim, Slots
from schemas.instant import HOUR
from schemas.requests import SlotAnswered
from schemas.state import claim_key, slots_key
from schemas.wire import from_json
from tests.engine.account.conftest import AccountWorld
from tests.engine.contact.world import at


def answers(sent: list[SlotAnswered]) -> list[tuple[str, bool]]:
    return [(answer.request_id, answer.granted) for answer in sent]


def test_a_free_slot_is_granted_at_once_with_a_buyer(account: AccountWorld) -> None:
    buyer_id = account.buyer()
    group_id = account.group(buyer_id, concurrency_cap_limit=1)
    (answer,) = account.want("a", buyer_group_id=group_id)
    assert answer == SlotAnswered(
        company_id=1,
        contact_key="1|a",
        lead_id=7,
        request_id="a",
        granted=True,
        buyer_id=buyer_id,
        buyer_group_id=group_id,
    )


@pytest.mark.parametrize("closed", ["buyer", "group"])
def test_a_buyer_takes_calls_within_its_business_hours_only(account: AccountWorld, closed: str) -> None:
    day = {"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "open": "09:00", "close": "17:00"}
    hours: dict[str, Any] = {"time_zone": "America/New_York", "business_hours": [day]}
    buyer_id = account.buyer(**(hours if closed == "buyer" else {}))
    group_id = account.group(buyer_id, concurrency_cap_limit=2, **(hours if closed == "group" else {}))
    for moment, granted in (("08:59", False), ("09:00", True), ("16:59", True), ("17:00", False)):
        account.now = at(f"2026-07-15 {moment}")
        (answer,) = account.want(moment, buyer_group_id=group_id)
        assert (answer.granted, answer.reason) == (granted, None if granted else "no_buyer_available"), moment


def test_who_comes_when_all_are_taken_waits_until_one_is_released(account: AccountWorld) -> None:
    group_id = account.group(account.buyer(), concurrency_cap_limit=1)
    account.want("a", buyer_group_id=group_id)
    assert account.want("b", buyer_group_id=group_id) == []
    assert answers(account.release("a")) == [("b", True)]


def test_an_inbound_call_is_granted_or_refused_at_once_and_never_waits(account: AccountWorld) -> None:
    group_id = account.group(account.buyer(), concurrency_cap_limit=1)
    (first,) = account.want("a", buyer_group_id=group_id, call_id=31)
    assert (first.granted, first.call_id) == (True, 31)
    (second,) = account.want("b", buyer_group_id=group_id, call_id=32)
    assert (second.granted, second.call_id, second.reason) == (False, 32, "concurrency_cap")
    assert account.want("c", buyer_group_id=group_id) == []
    assert answers(account.release("a")) == [("c", True)]
    assert answers(account.want("b", buyer_group_id=group_id, call_id=32)) == [("b", False)]


def test_an_inbound_call_does_not_overtake_a_lead_that_waits(account: AccountWorld) -> None:
    group_id = account.group(account.buyer(), concurrency_cap_limit=1)
    account.want("a", buyer_group_id=group_id)
    account.want("b", buyer_group_id=group_id)
    assert answers(account.want("c", buyer_group_id=group_id, call_id=31, urgency_class=-1)) == [("c", False)]


@pytest.mark.parametrize(
    ("asked", "granted"),
    [
        ([("a", {"urgency_class": 3}), ("b", {"urgency_class": 1}), ("c", {"urgency_class": 2})], ["b", "c", "a"]),
        ([("a", {"priority": 100.0}), ("b", {"priority": -0.5}), ("c", {"priority": 7})], ["b", "c", "a"]),
        ([("a", {"due_at": 30}), ("b", {"due_at": 10}), ("c", {"due_at": 20})], ["b", "c", "a"]),
        ([("c", {}), ("b", {}), ("a", {})], ["c", "b", "a"]),
        ([("a", {"urgency_class": 1, "priority": 9}), ("b", {"urgency_class": 2, "priority": -9})], ["a", "b"]),
        ([("a", {"priority": 1, "due_at": 9}), ("b", {"priority": 2, "due_at": 1})], ["a", "b"]),
    ],
)
def test_the_most_urgent_is_first(
    account: AccountWorld, asked: list[tuple[str, dict[str, Any]]], granted: list[str]
) -> None:
    group_id = account.group(account.buyer(), concurrency_cap_limit=1)
    account.want("first", buyer_group_id=group_id)
    for request_id, urgency in asked:
        assert account.want(request_id, buyer_group_id=group_id, **urgency) == []
    order, holder = [], "first"
    for _ in asked:
        ((holder, _),) = answers(account.release(holder))
        order.append(holder)
    assert order == granted


@pytest.mark.parametrize(
    ("aging", "granted"),
    [
        pytest.param(0.0, "young", id="without aging the better priority goes first, for ever"),
        pytest.param(10.0, "old", id="five hours at ten an hour are more than forty"),
        pytest.param(7.0, "young", id="at seven they are not"),
    ],
)
def test_who_has_waited_long_becomes_more_urgent(account: AccountWorld, aging: float, granted: str) -> None:
    group_id = account.group(account.buyer(), concurrency_cap_limit=1)
    account.want("first", buyer_group_id=group_id)
    account.want("old", buyer_group_id=group_id, priority=100.0, due_at=account.now, aging=aging)
    account.now += 5 * HOUR
    account.want("young", buyer_group_id=group_id, priority=60.0, due_at=account.now, aging=aging)

    assert answers(account.release("first")) == [(granted, True)]


def test_asked_again_the_answer_is_the_same_and_nothing_is_counted_twice(account: AccountWorld) -> None:
    group_id = account.group(account.buyer(), concurrency_cap_limit=1)
    first = account.want("a", buyer_group_id=group_id)
    assert account.want("a", buyer_group_id=group_id) == first
    assert account.want("b", buyer_group_id=group_id) == account.want("b", buyer_group_id=group_id) == []
    slots = account.slots(f"buyer_group/{group_id}")
    assert (slots.in_use, slots.waiting) == (1, 1)


def test_a_release_is_harmless_twice_and_of_what_is_not_known(account: AccountWorld) -> None:
    group_id = account.group(account.buyer(), concurrency_cap_limit=1)
    account.want("a", buyer_group_id=group_id)
    assert account.release("nobody") == account.release("a") == account.release("a") == []
    assert account.slots(f"buyer_group/{group_id}").in_use == 0
    assert account.state.get(claim_key(1, "a"), Claim) is None


def test_a_request_that_waits_can_be_taken_back(account: AccountWorld) -> None:
    group_id = account.group(account.buyer(), concurrency_cap_limit=1)
    for request_id in "abc":
        account.want(request_id, buyer_group_id=group_id)
    account.release("b")
    assert answers(account.release("a")) == [("c", True)]


@pytest.mark.parametrize(
    "why", ["no group", "paused", "closed", "empty", "buyers paused", "buyers closed", "nobody named", "unknown buyers"]
)
def test_where_no_buyer_can_take_the_call_the_answer_is_no(account: AccountWorld, why: str) -> None:
    buyer_id = account.buyer()
    cases: dict[str, Callable[[], dict[str, Any]]] = {
        "no group": lambda: {"buyer_group_id": 99},
        "paused": lambda: {"buyer_group_id": account.group(buyer_id, paused=True)},
        "closed": lambda: {"buyer_group_id": account.group(buyer_id, concurrency_cap_limit=0)},
        "empty": lambda: {"buyer_group_id": account.group()},
        "buyers paused": lambda: {"buyer_group_id": account.group(account.buyer(1, paused=True))},
        "buyers closed": lambda: {"buyer_ids": (account.buyer(1, concurrency_cap_limit=0),)},
        "nobody named": dict,
        "unknown buyers": lambda: {"buyer_ids": (98, 99)},
    }
    (answer,) = account.want("a", **cases[why]())
    assert (answer.granted, answer.reason) == (False, "no_buyer_available")
    assert account.state.get(claim_key(1, "a"), Claim) is None


def test_a_raised_limit_grants_at_once(account: AccountWorld) -> None:
    group_id = account.group(account.buyer(), concurrency_cap_limit=1)
    for request_id in "abcd":
        account.want(request_id, buyer_group_id=group_id)
    assert answers(account.changed("buyer_group", group_id, concurrency_cap_limit=3)) == [("b", True), ("c", True)]
    assert answers(account.changed("buyer_group", group_id, concurrency_cap_limit=None)) == [("d", True)]


def test_a_lowered_limit_takes_nothing_back(account: AccountWorld) -> None:
    group_id = account.group(account.buyer(), concurrency_cap_limit=2)
    account.want("a", buyer_group_id=group_id)
    account.want("b", buyer_group_id=group_id)
    account.update("buyer_group", group_id, concurrency_cap_limit=1)
    account.want("c", buyer_group_id=group_id)
    assert account.release("a") == []
    assert answers(account.release("b")) == [("c", True)]


def test_a_group_that_is_no_longer_paused_grants_at_once(account: AccountWorld) -> None:
    group_id = account.group(account.buyer(), concurrency_cap_limit=1)
    for request_id in "ab":
        account.want(request_id, buyer_group_id=group_id)
    account.update("buyer_group", group_id, paused=True)
    assert account.release("a") == []
    assert answers(account.changed("buyer_group", group_id, paused=False)) == [("b", True)]


def test_a_new_buyer_of_the_group_grants_at_once(account: AccountWorld) -> None:
    busy, fresh = account.buyer(concurrency_cap_limit=1), account.buyer(1)
    group_id = account.group(busy)
    for request_id in "ab":
        account.want(request_id, buyer_group_id=group_id)
    (answer,) = account.changed("buyer_group", group_id, add_buyer_ids=[fresh])
    assert (answer.request_id, answer.buyer_id) == ("b", fresh)


def test_who_waits_when_the_buyer_closes_is_granted_when_it_opens(account: AccountWorld) -> None:
    day = {"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "open": "09:00", "close": "17:00"}
    account.now = at("2026-07-15 16:59")
    buyer_id = account.buyer(time_zone="America/New_York", business_hours=[day], concurrency_cap_limit=1)
    account.want("a", buyer_ids=(buyer_id,))
    assert account.want("b", buyer_ids=(buyer_id,)) == []
    account.now = at("2026-07-15 17:01")
    assert account.release("a") == []
    assert account.slots(f"buyers/{buyer_id}").wake_at == at("2026-07-16 09:00")
    account.now = at("2026-07-16 09:00")
    assert answers(account.tick(slots_key(1, f"buyers/{buyer_id}"))) == [("b", True)]


def test_a_deleted_group_refuses_who_waits(account: AccountWorld) -> None:
    group_id = account.group(account.buyer(), concurrency_cap_limit=1)
    for request_id in "ab":
        account.want(request_id, buyer_group_id=group_id)
    assert account.delete("buyer_group", group_id).status == 200
    assert account.state.get(claim_key(1, "b"), Claim) is None
    assert account.release("a") == []


class TestBuyers:
    def test_a_buyers_own_limit_holds_over_groups_and_lists(self, account: AccountWorld) -> None:
        buyer_id = account.buyer(concurrency_cap_limit=1)
        one, two = account.group(buyer_id), account.group(buyer_id)
        account.want("a", buyer_group_id=one)
        assert account.want("b", buyer_group_id=two, urgency_class=4) == []
        assert account.want("c", buyer_ids=(buyer_id,), urgency_class=2) == []
        assert answers(account.release("a")) == [("c", True)]
        assert answers(account.release("c")) == [("b", True)]

    def test_a_buyer_that_is_unpaused_or_raised_grants_at_once(self, account: AccountWorld) -> None:
        buyer_id, other = account.buyer(concurrency_cap_limit=1), account.buyer(1, concurrency_cap_limit=1)
        for request_id in "abcd":
            account.want(request_id, buyer_ids=(buyer_id, other))
        account.update("buyer", other, paused=True)
        assert answers(account.changed("buyer", buyer_id, concurrency_cap_limit=2)) == [("c", True)]
        account.update("buyer", other, concurrency_cap_limit=2)
        assert answers(account.changed("buyer", other, paused=False)) == [("d", True)]

    def test_the_lowest_tier_that_is_free_is_called(self, account: AccountWorld) -> None:
        first, second = account.buyer(tier=-1, concurrency_cap_limit=1), account.buyer(1, tier=5)
        group_id = account.group(second, first)
        chosen = [account.want(request_id, buyer_group_id=group_id)[0].buyer_id for request_id in "abc"]
        assert chosen == [first, second, second]

    def test_weights_share_the_calls_of_a_tier(self) -> None:
        buyers = [Candidate(1, 1, 3), Candidate(2, 1, 1), Candidate(3, 1, 0), Candidate(4, 2, 9)]
        counted = Counter(choose_buyer(buyers, f"request-{number}") for number in range(4000))
        assert counted.keys() == {1, 2}
        assert 2.7 < counted[1] / counted[2] < 3.3

    def test_without_weights_all_share_alike(self) -> None:
        counted = Counter(choose_buyer([Candidate(1, 1, 0), Candidate(2, 1, 0)], str(number)) for number in range(1000))
        assert min(counted[1], counted[2]) > 400


class TestSlices:
    """More answers than a decision may have: the timer of the queue goes on."""

    WAITING = 2 * ANSWERS_AT_ONCE_MAX + 1

    def full(self, account: AccountWorld) -> int:
        group_id = account.group(account.buyer(), concurrency_cap_limit=1)
        account.want("held", buyer_group_id=group_id)
        for number in range(self.WAITING):
            account.want(f"r{number}", buyer_group_id=group_id, due_at=number)
        assert account.slots(f"buyer_group/{group_id}").waiting == self.WAITING
        return group_id

    def rest(self, account: AccountWorld, group_id: int) -> list[SlotAnswered]:
        """Let the timer of the queue fire until it has none; return the answers."""
        found: list[SlotAnswered] = []
        key = slots_key(1, f"buyer_group/{group_id}")
        while (slots := account.state.get(key, Slots)) is not None and slots.wake_at is not None:
            assert slots.wake_at > account.now
            account.now = slots.wake_at
            sent = account.tick(key)
            assert len(sent) <= ANSWERS_AT_ONCE_MAX
            found += sent
        return found

    def test_a_raised_limit_grants_the_most_urgent_first_slice_by_slice(self, account: AccountWorld) -> None:
        group_id = self.full(account)
        sent = account.changed("buyer_group", group_id, concurrency_cap_limit=None)
        assert len(sent) == ANSWERS_AT_ONCE_MAX
        assert answers(sent + self.rest(account, group_id)) == [(f"r{number}", True) for number in range(self.WAITING)]
        assert account.slots(f"buyer_group/{group_id}").waiting == 0

    def test_a_deleted_group_refuses_all_slice_by_slice(self, account: AccountWorld) -> None:
        group_id = self.full(account)
        sent = [from_json(one.body, SlotAnswered) for one in account.deletion("buyer_group", group_id).entries]
        assert len(sent) == ANSWERS_AT_ONCE_MAX
        assert answers(sent + self.rest(account, group_id)) == [(f"r{number}", False) for number in range(self.WAITING)]

    def test_a_cap_that_is_used_up_refuses_all_slice_by_slice(self, account: AccountWorld) -> None:
        group_id = account.group(account.buyer(), attempt_daily_limit=1)
        account.want("held", buyer_group_id=group_id)
        for number in range(self.WAITING):
            assert account.want(f"r{number}", buyer_group_id=group_id, due_at=number) == []
        sent = account.release("held", ended="attempted")
        found = sent + self.rest(account, group_id)
        assert [(answer.granted, answer.reason) for answer in found] == [(False, "buyer_cap")] * self.WAITING


operations = st.lists(
    st.one_of(
        st.tuples(st.just("want"), st.integers(0, 11), st.integers(0, 3), st.integers(0, 5)),
        st.tuples(st.just("release"), st.integers(0, 11)),
        st.tuples(st.just("limit group"), st.integers(0, 1), st.none() | st.integers(1, 3)),
        st.tuples(st.just("limit buyer"), st.integers(0, 1), st.none() | st.integers(1, 2)),
        st.tuples(st.just("pause group"), st.integers(0, 1), st.booleans()),
        st.tuples(st.just("pause buyer"), st.integers(0, 1), st.booleans()),
    ),
    max_size=40,
)


def is_inbound(request_id: str) -> bool:
    return int(request_id[1:]) % 3 == 0


class Market:
    """Two groups and two buyers that share, and what may be true of them, worked out the slow way."""

    def __init__(self) -> None:
        self.account = AccountWorld()
        self.buyers = [self.account.buyer(number, concurrency_cap_limit=1) for number in range(2)]
        self.groups = [self.account.group(*self.buyers, concurrency_cap_limit=1), self.account.group(self.buyers[0])]
        one, two = self.buyers
        targets: list[dict[str, Any]] = [{"buyer_ids": (two,)}, {"buyer_ids": (one, two)}]
        self.targets = [{"buyer_group_id": group_id} for group_id in self.groups] + targets
        self.members = {self.groups[0]: self.buyers, self.groups[1]: [one]}
        self.limits: dict[int, int | None] = {self.groups[0]: 1, self.groups[1]: None, one: 1, two: 1}
        self.paused: set[int] = set()
        self.held: dict[str, SlotAnswered] = {}
        self.waiting: dict[str, dict[str, Any]] = {}

    def step(self, what: str, place: int, *rest: Any) -> list[SlotAnswered]:
        if what == "want":
            return self.want(f"r{place}", *rest)
        if what == "release":
            self.held.pop(f"r{place}", None)
            self.waiting.pop(f"r{place}", None)
            return self.account.release(f"r{place}")
        verb, kind = what.split()
        record_id = (self.groups if kind == "group" else self.buyers)[place]
        field = "concurrency_cap_limit" if verb == "limit" else "paused"
        if verb == "limit":
            self.limits[record_id] = rest[0]
        else:
            self.paused = self.paused | {record_id} if rest[0] else self.paused - {record_id}
        return self.account.changed("buyer_group" if kind == "group" else "buyer", record_id, **{field: rest[0]})

    def want(self, request_id: str, target: int, priority: int) -> list[SlotAnswered]:
        if request_id in self.held or request_id in self.waiting:
            return []
        self.waiting[request_id] = self.targets[target]
        call_id = int(request_id[1:]) if is_inbound(request_id) else None
        return self.account.want(request_id, priority=float(priority), call_id=call_id, **self.targets[target])

    def used(self, record_id: int) -> int:
        return sum(record_id in {answer.buyer_id, answer.buyer_group_id} for answer in self.held.values())

    def is_free(self, record_id: int) -> bool:
        limit = self.limits[record_id]
        return record_id not in self.paused and (limit is None or self.used(record_id) < limit)

    def take(self, answer: SlotAnswered) -> None:
        self.waiting.pop(answer.request_id)
        if answer.granted:
            assert answer.buyer_id is not None
            assert self.is_free(answer.buyer_id)
            assert answer.buyer_group_id is None or self.is_free(answer.buyer_group_id)
            self.held[answer.request_id] = answer

    def could_be_granted(self, target: dict[str, Any]) -> bool:
        group_id = target.get("buyer_group_id")
        buyers = target["buyer_ids"] if group_id is None else self.members[group_id]
        return (group_id is None or self.is_free(group_id)) and any(self.is_free(buyer_id) for buyer_id in buyers)


@settings(max_examples=150, deadline=None)
@given(operations)
def test_no_limit_is_ever_exceeded_and_no_request_waits_beside_a_free_slot(steps: list[tuple[Any, ...]]) -> None:
    market = Market()
    for step in steps:
        for answer in market.step(*step):
            market.take(answer)
        assert not any(market.could_be_granted(target) for target in market.waiting.values())
        assert not any(is_inbound(request_id) for request_id in market.waiting), "an inbound call never waits"
