"""Is no cap ever exceeded, for any outcomes, and is a slot counted in the period in which it was granted?"""

from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.account import Claim, Slots
from schemas.instant import HOUR, MINUTE, Instant
from schemas.records import Buyer, BuyerGroup, TrafficSource
from schemas.requests import SlotAnswered
from schemas.state import claim_key
from schemas.wire import to_pack
from tests.engine.account.conftest import AccountWorld
from tests.engine.contact.world import NEW_YORK, at


def slot_answers(sent: list[SlotAnswered]) -> list[tuple[str, bool, str | None, Instant | None]]:
    return [(answer.request_id, answer.granted, answer.reason, answer.until) for answer in sent]


def used(account: AccountWorld, resource: str) -> dict[str, dict[str, Any]]:
    return {period: tally.used for period, tally in account.slots(resource).tallies.items() if tally.used}


@pytest.mark.parametrize("whose", ["buyer", "buyer_group", "traffic_source"])
def test_the_cap_of_every_kind_of_record_stops_the_call_that_would_pass_it(account: AccountWorld, whose: str) -> None:
    account.now = at("2026-07-15 14:20")
    cap: dict[str, Any] = {"time_zone": NEW_YORK, "connection_daily_limit": 2}
    buyer_id = account.buyer(**(cap if whose == "buyer" else {}))
    group_id = account.group(buyer_id, **(cap if whose == "buyer_group" else {}))
    source = account.create("traffic_source", name="Ads", **cap) if whose == "traffic_source" else None
    asked = {"buyer_group_id": group_id, "traffic_source_id": source}

    for request_id in "ab":
        assert account.want(request_id, **asked)[0].granted
        account.release(request_id, ended="connected")

    reason = "traffic_source_cap" if source else "buyer_cap"
    assert slot_answers(account.want("c", **asked)) == [("c", False, reason, at("2026-07-16 00:00"))]
    account.now = at("2026-07-16 00:00")
    assert account.want("d", **asked)[0].granted


def test_what_calls_under_way_have_reserved_is_used_and_what_they_give_back_is_granted(account: AccountWorld) -> None:
    group_id = account.group(account.buyer(), attempt_daily_limit=2, connection_daily_limit=2)
    asked = {"buyer_group_id": group_id}
    assert [account.want(request_id, **asked)[0].granted for request_id in "ab"] == [True, True]
    assert account.want("c", **asked) == account.want("d", **asked) == []

    assert [answer.request_id for answer in account.release("a", ended="unused")] == ["c"]
    account.release("b", ended="connected")
    assert used(account, f"buyer_group/{group_id}")["daily"] == {"attempt": 1, "connection": 1}
    # The attempt of `c` is the last: nobody may go on waiting for it to be given back once it is made.
    assert [(answer.request_id, answer.reason) for answer in account.release("c", ended="attempted")] == [("d", "buyer_cap")]


@pytest.mark.parametrize(
    ("ended", "counted"),
    [
        ("unused", {}),
        ("attempted", {"attempt": 1}),
        ("connected", {"attempt": 1, "connection": 1}),
        ("unknown", {"attempt": 1, "connection": 1}),
    ],
)
def test_a_slot_counts_what_its_call_used_and_all_of_it_where_that_is_unknown(
    account: AccountWorld, ended: str, counted: dict[str, Any]
) -> None:
    group_id = account.group(account.buyer(), attempt_daily_limit=9)
    account.want("a", buyer_group_id=group_id)
    assert account.slots(f"buyer_group/{group_id}").tallies["daily"].open == {"attempt": 1, "connection": 1}
    account.release("a", ended=ended)
    tallies = account.slots(f"buyer_group/{group_id}").tallies
    assert {period: (tally.used, tally.open) for period, tally in tallies.items()} == dict.fromkeys(tallies, (counted, {}))


def test_a_call_counts_in_the_period_of_its_grant_however_late_its_end_is_reported(account: AccountWorld) -> None:
    account.now = at("2026-07-15 14:59")
    group_id = account.group(account.buyer(), time_zone=NEW_YORK, attempt_hourly_limit=1)
    account.want("a", buyer_group_id=group_id)
    account.now = at("2026-07-15 15:00")
    assert account.want("b", buyer_group_id=group_id)[0].granted
    account.release("a", ended="unknown")
    account.release("b", ended="attempted")
    tallies = account.slots(f"buyer_group/{group_id}").tallies
    assert tallies["hourly"].used == {"attempt": 1}
    assert tallies["daily"].used == {"attempt": 2, "connection": 1}


def test_who_waits_for_a_call_under_way_goes_on_at_the_reset_as_well(account: AccountWorld) -> None:
    account.now = at("2026-07-15 14:59")
    group_id = account.group(account.buyer(), time_zone=NEW_YORK, attempt_hourly_limit=1)
    account.want("a", buyer_group_id=group_id)
    assert account.want("b", buyer_group_id=group_id) == []
    assert account.slots(f"buyer_group/{group_id}").wake_at == at("2026-07-15 15:00")
    account.now = at("2026-07-15 15:00")
    assert [answer.request_id for answer in account.tick(f"slots/1/buyer_group/{group_id}")] == ["b"]
    assert account.slots(f"buyer_group/{group_id}").wake_at is None


def test_conversions_and_revenue_stop_grants_once_reached_and_calls_under_way_may_pass_them(account: AccountWorld) -> None:
    group_id = account.group(account.buyer(), revenue_daily_limit=100, buyer_conversion_total_limit=3)
    for request_id in "abc":
        account.want(request_id, buyer_group_id=group_id)
    for _ in range(3):
        account.earned(account.now, **{f"buyer_group_{group_id}": {"revenue": 40.0, "buyer_conversion": 1}})
    assert used(account, f"buyer_group/{group_id}")["daily"] == {"revenue": 120.0, "buyer_conversion": 3}
    assert [answer.reason for answer in account.want("d", buyer_group_id=group_id)] == ["buyer_cap"]

    account.earned(account.now, **{f"buyer_group_{group_id}": {"revenue": -40.0, "buyer_conversion": -1}})
    assert account.want("e", buyer_group_id=group_id)[0].granted


def test_a_reset_of_the_total_caps_starts_them_over_and_leaves_the_others(account: AccountWorld) -> None:
    group_id = account.group(account.buyer(), attempt_total_limit=1, attempt_daily_limit=9)
    account.want("a", buyer_group_id=group_id)
    account.release("a", ended="attempted")
    assert slot_answers(account.want("b", buyer_group_id=group_id)) == [("b", False, "buyer_cap", None)]
    account.now += MINUTE
    account.update("buyer_group", group_id, reset_total_caps=True)
    assert account.want("c", buyer_group_id=group_id)[0].granted
    account.release("c", ended="attempted")
    tallies = account.slots(f"buyer_group/{group_id}").tallies
    assert (tallies["total"].used["attempt"], tallies["daily"].used["attempt"]) == (Decimal(1), Decimal(2))


def test_a_slot_of_before_a_reset_is_not_counted_after_it(account: AccountWorld) -> None:
    group_id = account.group(account.buyer(), attempt_total_limit=2)
    account.want("a", buyer_group_id=group_id)
    account.update("buyer_group", group_id, reset_total_caps=True)  # at the same instant
    account.release("a", ended="attempted")
    assert account.slots(f"buyer_group/{group_id}").tallies["total"].used == {}


def test_another_zone_counts_from_the_next_period_on(account: AccountWorld) -> None:
    account.now = at("2026-07-15 14:20")
    group_id = account.group(account.buyer(), time_zone=NEW_YORK, attempt_daily_limit=1)
    account.want("a", buyer_group_id=group_id)
    account.release("a", ended="attempted")
    account.update("buyer_group", group_id, time_zone="Asia/Tokyo")
    assert slot_answers(account.want("b", buyer_group_id=group_id)) == [("b", False, "buyer_cap", at("2026-07-16 00:00"))]


@pytest.mark.parametrize(
    ("day", "hours"), [("2026-03-08", 23), ("2026-11-01", 25)], ids=["the clock goes forward", "the clock goes back"]
)
def test_a_day_on_which_the_clock_changes_is_one_period(account: AccountWorld, day: str, hours: int) -> None:
    account.now = at(f"{day} 00:00")
    group_id = account.group(account.buyer(), time_zone=NEW_YORK, attempt_daily_limit=1)
    account.want("a", buyer_group_id=group_id)
    account.release("a", ended="attempted")
    ends_at = account.now + hours * HOUR
    account.now = ends_at - 1
    assert slot_answers(account.want("b", buyer_group_id=group_id)) == [("b", False, "buyer_cap", ends_at)]
    account.now = ends_at
    assert account.want("c", buyer_group_id=group_id)[0].granted


def test_the_first_of_several_buyers_that_opens_says_until_when_a_request_is_refused(account: AccountWorld) -> None:
    account.now = at("2026-07-15 14:20")
    hourly = account.buyer(0, time_zone=NEW_YORK, attempt_hourly_limit=0.5)
    daily = account.buyer(1, time_zone=NEW_YORK, attempt_daily_limit=1)
    account.want("a", buyer_ids=(daily,))
    account.release("a", ended="attempted")
    assert slot_answers(account.want("b", buyer_ids=(hourly, daily))) == [("b", False, "buyer_cap", at("2026-07-15 15:00"))]


def test_the_groups_of_an_offer_go_before_its_buyers_and_lower_tiers_before_higher(account: AccountWorld) -> None:
    buyers = [account.buyer(number) for number in range(3)]
    low, high = (
        account.group(buyers[0], tier=1, attempt_total_limit=1),
        account.group(buyers[1], tier=2, attempt_total_limit=1),
    )
    asked = {"buyer_group_ids": (high, low), "buyer_ids": (buyers[2],)}
    answers = [account.want(request_id, **asked)[0] for request_id in "abc"]
    assert [(answer.buyer_group_id, answer.buyer_id) for answer in answers] == [
        (low, buyers[0]),
        (high, buyers[1]),
        (None, buyers[2]),
    ]


def test_a_traffic_source_limits_calls_that_no_buyer_takes(account: AccountWorld) -> None:
    source_id = account.create("traffic_source", name="Ads", concurrency_cap_limit=1)
    (answer,) = account.want("a", traffic_source_id=source_id)
    assert (answer.granted, answer.buyer_id) == (True, None)
    assert account.want("b", traffic_source_id=source_id) == []
    assert [answer.request_id for answer in account.release("a", ended="attempted")] == ["b"]


def test_a_slot_that_was_granted_before_caps_were_counted_ends_as_it_did(account: AccountWorld) -> None:
    buyer_id = account.buyer()
    group_id = account.group(buyer_id, concurrency_cap_limit=1)
    account.want("a", buyer_group_id=group_id)
    claim = account.state.get(claim_key(1, "a"), Claim)
    assert claim is not None
    claim.holds = ()
    account.state.set(claim_key(1, "a"), to_pack(claim))
    account.state.commit()
    account.update("buyer_group", group_id, attempt_daily_limit=5)
    account.release("a")
    assert account.slots(f"buyer_group/{group_id}").in_use == account.slots(f"buyer/{buyer_id}").in_use == 0


@pytest.mark.parametrize(
    ("record_type", "kind"), [("buyer", Buyer), ("buyer_group", BuyerGroup), ("traffic_source", TrafficSource)]
)
def test_periods_of_a_new_record_end_by_the_clock_of_the_company(
    account: AccountWorld, record_type: str, kind: type
) -> None:
    account.update("company", 1, time_zone="America/Chicago")
    fields: dict[str, Any] = {"name": "Ann", "number": "+13055550100"} if record_type == "buyer" else {"name": "Ann"}
    bodies = [
        account.body(record_type, account.create(record_type, **{**fields, **more}))
        for more in (
            {},
            {"number": "+13055550101", "time_zone": NEW_YORK} if record_type == "buyer" else {"time_zone": NEW_YORK},
        )
    ]
    assert all(isinstance(body, kind) for body in bodies)
    assert [getattr(body, "time_zone", None) for body in bodies] == ["America/Chicago", NEW_YORK]


# -- laws --------------------------------------------------------------------------------------------------------------

LIMITS = {"attempt_hourly": 3, "attempt_daily": 5, "connection_hourly": 2, "connection_total": 6, "attempt_total": 9}

steps_of_caps = st.lists(
    st.one_of(
        st.tuples(st.just("want"), st.integers(0, 2)),
        st.tuples(st.just("release"), st.integers(0, 30), st.sampled_from(["unused", "attempted", "connected", "unknown"])),
        st.tuples(st.just("wait"), st.sampled_from([MINUTE, 20 * MINUTE, HOUR, 9 * HOUR])),
        st.tuples(st.just("reset"), st.integers(0, 1)),
        st.tuples(st.just("zone"), st.sampled_from([NEW_YORK, "Asia/Tokyo", "Asia/Kolkata"])),
    ),
    max_size=60,
)


def capacity_of(slots: Slots, limits: Mapping[str, float]) -> list[str]:
    """Return the caps that are passed in a period that still stands."""
    return [
        cap
        for cap, limit in limits.items()
        for metric, period in [cap.rsplit("_", 1)]
        if period in slots.tallies
        and slots.tallies[period].used.get(metric, 0) + slots.tallies[period].open.get(metric, 0) > limit
    ]


@settings(max_examples=100, deadline=None)
@given(steps_of_caps)
def test_no_cap_is_passed_at_any_instant_and_whatever_is_reserved_is_confirmed_or_given_back(  # noqa: C901 - one case for each kind of step
    steps: list[tuple[Any, ...]],
) -> None:
    account = AccountWorld()
    account.now = at("2026-10-31 12:10")  # the clock of New York changes in the night after
    limits = {f"{cap}_limit": limit for cap, limit in LIMITS.items()}
    buyer_id = account.buyer(time_zone=NEW_YORK, **limits)
    group_id = account.group(buyer_id, time_zone=NEW_YORK, **limits)
    targets: list[dict[str, Any]] = [
        {"buyer_group_id": group_id},
        {"buyer_ids": (buyer_id,)},
        {"buyer_group_ids": (group_id,), "buyer_ids": (buyer_id,)},
    ]
    granted: list[str] = []
    asked, given_out, ended = 0, Counter[str](), Counter[str]()

    def take(sent: list[SlotAnswered]) -> None:
        for answer in sent:
            if answer.granted:
                granted.append(answer.request_id)
                given_out.update(["attempt", "connection"])

    for what, *how in steps:
        match what:
            case "want":
                asked += 1
                take(account.want(f"r{asked}", **targets[how[0]]))
            case "release" if granted:
                take(account.release(granted.pop(how[0] % len(granted)), ended=how[1]))
                ended[how[1]] += 1
            case "wait":
                account.now += how[0]
                queues = [key for key, _ in account.state.items() if key.startswith("slots/")]
                for key in queues:
                    slots = account.state.get(key, Slots)
                    if slots is not None and slots.wake_at is not None and slots.wake_at <= account.now:
                        take(account.tick(key))
            case "reset":
                take(account.changed(*(("buyer_group", group_id), ("buyer", buyer_id))[how[0]], reset_total_caps=True))
            case "zone":
                take(account.changed("buyer_group", group_id, time_zone=how[0]))
        for resource in (f"buyer/{buyer_id}", f"buyer_group/{group_id}"):
            key = f"slots/1/{resource}"
            slots = account.state.get(key, Slots)
            assert slots is None or not capacity_of(slots, LIMITS), (what, how, slots)

    # Each period's own account: what it reserved was confirmed, given back, or is open.
    assert given_out["attempt"] == sum(ended.values()) + len(granted)
    buyer = account.state.get(f"slots/1/buyer/{buyer_id}", Slots)
    assert buyer is None or buyer.in_use == len(granted)
    assert buyer is None or all(tally.open.get("attempt", 0) <= len(granted) for tally in buyer.tallies.values())
    for request_id in granted[:]:
        granted.remove(request_id)
        take(account.release(request_id, ended="unused"))


@pytest.mark.parametrize(
    ("known", "counted"),
    [("unused", {}), ("attempted", {"attempt": 1}), ("connected", {"attempt": 1, "connection": 1})],
)
def test_an_unknown_end_that_is_known_later_counts_as_that_says_and_once(
    account: AccountWorld, known: str, counted: dict[str, Any]
) -> None:
    group_id = account.group(account.buyer(), attempt_daily_limit=9)
    account.want("a", buyer_group_id=group_id)
    account.release("a", ended="unknown")
    for _ in range(2):
        account.release("a", ended=known)
        tallies = account.slots(f"buyer_group/{group_id}").tallies
        found = {metric: used for metric, used in tallies["daily"].used.items() if used}
        assert (found, tallies["daily"].open, account.slots(f"buyer_group/{group_id}").in_use) == (counted, {}, 0)


def test_a_cap_that_an_unknown_end_had_filled_goes_on_once_it_is_known(account: AccountWorld) -> None:
    group_id = account.group(account.buyer(), connection_daily_limit=1)
    account.want("a", buyer_group_id=group_id)
    account.want("b", buyer_group_id=group_id)
    assert account.release("a", ended="unknown")[0].granted is False, "all that it had reserved counts as used"
    account.want("c", buyer_group_id=group_id)
    account.release("a", ended="attempted")
    assert account.want("d", buyer_group_id=group_id)[0].granted


def test_a_known_end_opens_no_period_that_is_over(account: AccountWorld) -> None:
    account.now = at("2026-07-15 14:20")
    group_id = account.group(account.buyer(), time_zone=NEW_YORK, connection_hourly_limit=5, connection_daily_limit=5)
    account.want("a", buyer_group_id=group_id)
    account.release("a", ended="unknown")
    account.now += HOUR
    account.want("b", buyer_group_id=group_id)
    account.release("b", ended="connected")
    account.release("a", ended="attempted")
    found = used(account, f"buyer_group/{group_id}")
    assert (found["hourly"]["connection"], found["daily"]["connection"]) == (1, 1)


def test_of_several_buyers_a_connection_moves_to_the_one_that_is_known_to_have_answered(account: AccountWorld) -> None:
    first, second = (account.buyer(connection_daily_limit=9) for _ in range(2))
    group_id = account.group(first, second, dial_buyers_type="simultaneously")
    (answer,) = account.want("a", buyer_group_id=group_id)
    assert set(answer.buyer_ids) == {first, second}
    account.release("a", ended="unknown")
    assert {used(account, f"buyer/{one}")["daily"]["connection"] for one in (first, second)} == {1}
    account.release("a", ended="connected", buyer_id=second)
    counts = [used(account, f"buyer/{one}")["daily"].get("connection") for one in (first, second)]
    assert counts == [0, 1]


def test_an_unknown_end_is_forgotten_after_a_week(account: AccountWorld) -> None:
    group_id = account.group(account.buyer(), attempt_daily_limit=9)
    account.want("a", buyer_group_id=group_id)
    account.release("a", ended="unknown")
    claim = account.state.get(claim_key(1, "a"), Claim)
    assert claim is not None
    assert claim.wake_at == account.now + 7 * 24 * HOUR
    account.now = claim.wake_at
    account.tick(claim_key(1, "a"))
    assert account.state.get(claim_key(1, "a"), Claim) is None
