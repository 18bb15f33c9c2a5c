"""Does each visitor see a number of their own for as long as it is held, and no number that is held for somebody else?"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.account.ring_pools import GRACE_SECONDS_MAX, HOLD_SECONDS, NUMBERS_MAX
from schemas.account import NumberHold, RingPoolState
from schemas.instant import SECOND
from schemas.requests import AttributionAnswered, AttributionRequested, NumberHoldRequested
from schemas.state import number_hold_key, ring_pool_key
from schemas.wire import from_json, to_json
from tests.engine.account.conftest import NOW, AccountWorld

POOL = 7
HOLD, GRACE = 600, 60
DEFAULT = 99


def request(visitor: str, **fields: Any) -> NumberHoldRequested:
    given: dict[str, Any] = {"number_ids": (1, 2), "pool_version": 1, "hold_seconds": HOLD, "grace_seconds": GRACE}
    given |= {"company_id": 1, "ring_pool_id": POOL, "impression_uuid": f"impression of {visitor}"}
    return NumberHoldRequested(visitor_id=visitor, **{**given, **fields})


def ask(account: AccountWorld, visitor: str, after: int = 0, **fields: Any) -> tuple[int | None, int | None]:
    """Ask for a number `after` seconds more; return it, and for how many seconds from the beginning it is held."""
    account.now += after * SECOND
    sealed = account.ask(request(visitor, **fields))
    assert sealed.decision.error is None, sealed.decision.error
    assert sealed.decision.answer is not None
    extra = sealed.decision.answer.extra
    return extra["number_id"], None if extra["held_until"] is None else (extra["held_until"] - NOW) // SECOND


def pool(account: AccountWorld) -> RingPoolState:
    found = account.state.get(ring_pool_key(1, POOL), RingPoolState)
    assert found is not None
    return found


def hold(account: AccountWorld, number_id: int) -> NumberHold | None:
    return account.state.get(number_hold_key(1, POOL, number_id), NumberHold)


def facts(account: AccountWorld) -> list[str]:
    return [fact.type for fact in account.facts if fact.type.startswith("number.")]


def test_a_visitor_keeps_the_number_and_each_impression_extends_the_hold(account: AccountWorld) -> None:
    assert ask(account, "ann") == (1, HOLD)
    assert ask(account, "ann", after=500) == (1, 500 + HOLD)
    assert ask(account, "bob") == (2, 500 + HOLD)
    assert ask(account, "ann", after=HOLD) == (1, 500 + 2 * HOLD)  # within the grace: nobody else may have it
    assert facts(account) == ["number.held", "number.held"]


def test_a_held_number_goes_to_nobody_else_before_hold_and_grace_are_over(account: AccountWorld) -> None:
    ask(account, "ann"), ask(account, "bob", after=1)
    assert ask(account, "cid", after=HOLD + GRACE - 2, default_number_id=DEFAULT) == (None, None)  # the pool knows of none
    assert ask(account, "cid", after=1) == (1, 2 * HOLD + GRACE)
    assert ask(account, "dan") == (None, None)
    assert ask(account, "dan", after=1) == (2, 2 * HOLD + GRACE + 1)
    assert facts(account) == [
        "number.held",
        "number.held",
        "number.overflowed",
        "number.held",
        "number.overflowed",
        "number.held",
    ]


def test_where_all_are_held_the_default_number_is_given_and_the_visitor_counted(account: AccountWorld) -> None:
    for visitor in ("ann", "bob"):
        ask(account, visitor, default_number_id=DEFAULT)
    assert ask(account, "cid", after=3, default_number_id=DEFAULT) == (DEFAULT, None)
    assert (pool(account).overflow_count, pool(account).last_overflow_at) == (1, NOW + 3 * SECOND)
    assert hold(account, DEFAULT) is None


def test_the_number_that_is_free_longest_is_given_first(account: AccountWorld) -> None:
    numbers = (1, 2, 3)
    assert [ask(account, name, after=1, number_ids=numbers)[0] for name in ("ann", "bob", "cid")] == [1, 2, 3]
    ask(account, "ann", after=1, number_ids=numbers)
    assert ask(account, "dan", after=HOLD + GRACE + 9, number_ids=numbers)[0] == 2


def test_the_hold_names_the_latest_impression_and_the_visitor_before(account: AccountWorld) -> None:
    ask(account, "ann", number_ids=(1,), tokens={"plan": "a"}, traffic_source_id=5)
    ask(account, "ann", after=5, number_ids=(1,), impression_uuid="second", tokens={"plan": "b"})
    first = hold(account, 1)
    assert first is not None
    assert (first.present.impression_uuid, first.present.tokens, first.present.traffic_source_id) == (
        "second",
        {"plan": "b"},
        None,
    )
    assert (first.present.began_at, first.present.ends_at) == (NOW, NOW + (5 + HOLD + GRACE) * SECOND)
    ask(account, "bob", after=HOLD + GRACE, number_ids=(1,))
    second = hold(account, 1)
    assert second is not None
    assert (second.present.visitor_id, second.former) == ("bob", first.present)


def test_a_newer_version_of_the_pool_counts_and_an_older_one_does_not(account: AccountWorld) -> None:
    ask(account, "ann"), ask(account, "bob")
    assert ask(account, "bob", pool_version=2, number_ids=(2, 3), hold_seconds=1_000) == (2, 1_000)
    assert hold(account, 1) is None
    assert ask(account, "cid") == (3, 1_000)
    assert ask(account, "ann") == (None, None)


def test_a_shorter_time_takes_back_no_promise(account: AccountWorld) -> None:
    assert ask(account, "ann") == (1, HOLD)
    assert ask(account, "ann", after=10, pool_version=2, hold_seconds=60) == (1, HOLD)
    assert ask(account, "ann", pool_version=3, hold_seconds=60, grace_seconds=3_000) == (1, HOLD)
    assert ask(account, "bob", pool_version=4, hold_seconds=60, grace_seconds=0, number_ids=(1,)) == (None, None)


def test_pools_of_two_companies_and_two_pools_of_one_hold_numbers_apart(account: AccountWorld) -> None:
    ask(account, "ann", number_ids=(1,))
    theirs = account.ask(request("bob", number_ids=(1,), company_id=2)).decision
    other = account.ask(request("bob", number_ids=(1,), ring_pool_id=8)).decision
    assert [one.answer.extra["number_id"] for one in (theirs, other) if one.answer] == [1, 1]


def test_a_pool_is_asked_under_its_own_key() -> None:
    assert request("ann").partition_key == f"1|ring_pool/{POOL}"


def test_a_full_pool_is_small(account: AccountWorld) -> None:
    for number in range(NUMBERS_MAX):
        ask(account, f"visitor {number}", number_ids=tuple(range(2**52, 2**52 + NUMBERS_MAX)))
    assert len({one.visitor for one in pool(account).numbers}) == NUMBERS_MAX
    assert len(to_json(pool(account))) < 12_000


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 400)), max_size=40))
def test_no_number_is_held_for_two_visitors(asked: list[tuple[str, int]]) -> None:
    account = AccountWorld()
    until: dict[int, tuple[str, int]] = {}
    at = 0
    for visitor, after in asked:
        at += after
        number_id, held_until = ask(account, visitor, after=after, number_ids=(1, 2, 3))
        if number_id is None or held_until is None:
            held = [name for name, ends in until.values() if ends > at]
            assert len(held) == 3
            assert visitor not in held
            continue
        holder, ends = until.get(number_id, (visitor, 0))
        assert holder == visitor or ends <= at
        assert all(name != visitor or ends <= at for other, (name, ends) in until.items() if other != number_id)
        until[number_id] = (visitor, held_until + GRACE)


# -- the record ----------------------------------------------------------------------------------------------------------


def make_numbers(account: AccountWorld, count: int) -> list[int]:
    return [account.create("number", number=f"+1305555{200 + place:04}") for place in range(count)]


def test_a_number_belongs_to_one_pool_and_its_default_too(account: AccountWorld) -> None:
    first, second, third = make_numbers(account, 3)
    made = account.create("ring_pool", name="Web", number_ids=[first], default_number_id=second)
    for fields in ({"number_ids": [third, first]}, {"number_ids": [second]}, {"default_number_id": first}):
        refused = account.change("create", "ring_pool", name="Shop", **fields)
        assert (refused.code, len(refused.errors)) == ("duplicate_value", 1)
    own = account.update("ring_pool", made, number_ids=[first, second])
    assert (own.code, set(own.errors)) == ("validation_failed", {"default_number_id"})
    assert account.update("ring_pool", made, number_ids=[third]).code is None
    assert account.change("create", "ring_pool", name="Shop", number_ids=[first]).status == 201


def test_a_number_of_a_pool_is_not_deleted_before_it_is_taken_out(account: AccountWorld) -> None:
    first, second = make_numbers(account, 2)
    made = account.create("ring_pool", name="Web", number_ids=[first], default_number_id=second)
    assert [account.delete("number", number_id).code for number_id in (first, second)] == ["record_in_use"] * 2
    assert account.delete("ring_pool", made).code is None
    assert [account.delete("number", number_id).code for number_id in (first, second)] == [None] * 2


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("hold_seconds", seconds) for seconds in (0, HOLD_SECONDS[0] - 1, HOLD_SECONDS[1] + 1, "long")),
        *(("grace_seconds", seconds) for seconds in (-1, GRACE_SECONDS_MAX + 1)),
        ("number_ids", list(range(1, NUMBERS_MAX + 2))),
        ("number_ids", [12_345]),
        ("default_number_id", 12_345),
    ],
)
def test_a_bad_field_of_a_pool_is_named(account: AccountWorld, field: str, value: Any) -> None:
    refused = account.change("create", "ring_pool", name="Web", **{field: value})
    assert (refused.code, set(refused.errors)) == ("validation_failed", {field})


# -- whose call it is ----------------------------------------------------------------------------------------------------


def attributed(account: AccountWorld, at: int, number_id: int = 1, **fields: Any) -> AttributionAnswered:
    """Return the answer about a call that came so many seconds after the beginning."""
    given: dict[str, Any] = {"company_id": 1, "ring_pool_id": POOL, "contact_key": "1|+13055550123", "call_id": 3}
    asked = AttributionRequested(**{**given, **fields}, number_id=number_id, at=NOW + at * SECOND)
    sealed = account.ask(asked)
    assert sealed.decision.error is None, sealed.decision.error
    (entry,) = sealed.entries
    assert (entry.topic, entry.key) == ("contacts.requests", "1|+13055550123")
    return from_json(entry.body, AttributionAnswered)


def holder(account: AccountWorld, at: int, number_id: int = 1, **fields: Any) -> str | None:
    """Return the impression to which such a call is attributed."""
    return attributed(account, at, number_id, **fields).impression_uuid


def test_a_call_within_hold_and_grace_is_that_of_the_visitor(account: AccountWorld) -> None:
    ask(account, "ann", number_ids=(1,))
    whole = HOLD + GRACE
    assert [holder(account, at) for at in (0, HOLD, whole - 1, whole)] == [*["impression of ann"] * 3, None]


def test_a_late_report_is_attributed_to_the_visitor_of_that_time(account: AccountWorld) -> None:
    ask(account, "ann", number_ids=(1,))
    ask(account, "bob", after=HOLD + GRACE + 300, number_ids=(1,))
    at = HOLD + GRACE + 300
    assert [holder(account, second) for second in (100, at - 200, at - 30, at + 1)] == [
        "impression of ann",
        None,
        "impression of bob",  # within what the clock of a gateway may be behind
        "impression of bob",
    ]


def test_a_number_that_was_never_held_and_one_of_another_company_are_nobodys(account: AccountWorld) -> None:
    ask(account, "ann", number_ids=(1, 2))
    assert [holder(account, 1, 2), holder(account, 1, company_id=2), holder(account, 1, ring_pool_id=8)] == [None] * 3


def test_a_call_brings_source_and_tokens_of_the_latest_impression(account: AccountWorld) -> None:
    ask(account, "ann", number_ids=(1,), tokens={"plan": "a"}, traffic_source_id=4)
    ask(account, "ann", after=9, number_ids=(1,), tokens={"plan": "b"}, traffic_source_id=5)
    answer = attributed(account, 10)
    assert (answer.traffic_source_id, answer.tokens, answer.visitor_id) == (5, {"plan": "b"}, "ann")
