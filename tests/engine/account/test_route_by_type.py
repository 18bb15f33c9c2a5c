"""Does the buyer get the call that pays most, by its bid or by what its calls have earned, and the tier still go first?"""

from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from engine.account import epc
from engine.account.epc import EPC_CALLS_MIN, EPC_DAYS, UNKNOWN, epc_of
from schemas.account import Slots
from schemas.instant import DAY, HOUR
from schemas.money import amount
from schemas.requests import CallEarned
from tests.engine.account.conftest import AccountWorld


def taken(account: AccountWorld, name: str, **asked: Any) -> int | None:
    """Let a call be connected at once; return its buyer."""
    (answer,) = account.want(name, **asked)
    account.release(name, ended="connected")
    return answer.buyer_id


def earned(account: AccountWorld, buyer_id: int, revenue: float, *, routed: bool = True) -> None:
    amounts = {f"buyer/{buyer_id}": {"revenue": Decimal(revenue)}}
    account.ask(CallEarned(company_id=1, call_id=1, at=account.now, amounts=amounts, routed_by_epc=routed))


def warmed(account: AccountWorld, *revenues: float) -> list[int]:
    """Create buyers with enough connected calls, who earned so much by each of them."""
    made = []
    for number, revenue in enumerate(revenues):
        buyer_id = account.buyer(number)
        for call in range(EPC_CALLS_MIN):
            assert taken(account, f"{buyer_id}-{call}", buyer_ids=(buyer_id,), route_by_type="epc") == buyer_id
        earned(account, buyer_id, revenue * EPC_CALLS_MIN)
        made.append(buyer_id)
    return made


def test_by_revenue_the_highest_bid_of_the_lowest_tier_that_is_free_gets_the_call(account: AccountWorld) -> None:
    low, high = account.buyer(0, bid_price=12.5, weight=1_000), account.buyer(1, bid_price=40, concurrency_cap_limit=1)
    dear = account.buyer(2, bid_price=900, tier=2)
    nothing = account.buyer(3)
    group_id = account.group(low, high, dear, nothing)
    asked: dict[str, Any] = {"buyer_group_id": group_id, "route_by_type": "revenue"}
    found = [account.want(name, **asked)[0].buyer_id for name in "abc"]
    assert found == [high, low, low]
    account.release("a")
    assert account.want("d", **asked)[0].buyer_id == high
    assert account.want("e", buyer_group_id=group_id, route_by_type="tier")[0].buyer_id != dear


def test_groups_compete_by_the_best_bid_of_their_free_buyers(account: AccountWorld) -> None:
    modest, generous = account.buyer(0, bid_price=10), account.buyer(1, bid_price=20, attempt_total_limit=1)
    groups = account.group(modest, weight=1_000), account.group(generous)
    asked: dict[str, Any] = {"buyer_group_ids": groups, "route_by_type": "revenue"}
    assert [account.want(name, **asked)[0].buyer_id for name in "abc"] == [generous, modest, modest]


def test_equal_bids_share_by_weight(account: AccountWorld) -> None:
    one, other, lower = account.buyer(0, bid_price=5, weight=3), account.buyer(1, bid_price=5), account.buyer(2, bid_price=4)
    group_id = account.group(one, other, lower)
    found = Counter(
        taken(account, f"c{number}", buyer_group_id=group_id, route_by_type="revenue") for number in range(2_000)
    )
    assert lower not in found
    assert abs(found[one] / 2_000 - 0.75) < 0.03


def test_by_epc_the_buyer_that_earned_most_by_each_connected_call_gets_the_call(account: AccountWorld) -> None:
    poor, rich, middling = warmed(account, 1.0, 9.0, 4.0)
    asked: dict[str, Any] = {"buyer_ids": (poor, rich, middling), "route_by_type": "epc"}
    assert {taken(account, f"x{number}", **asked) for number in range(10)} == {rich}
    earned(account, rich, -9.0 * EPC_CALLS_MIN)  # its conversions are taken back
    assert taken(account, "y", **asked) == middling


def test_a_buyer_of_whom_too_little_is_known_is_tried_first(account: AccountWorld) -> None:
    (known,) = warmed(account, 50.0)
    new = account.buyer(7)
    asked: dict[str, Any] = {"buyer_ids": (known, new), "route_by_type": "epc"}
    found = [taken(account, f"n{number}", **asked) for number in range(EPC_CALLS_MIN + 3)]
    assert found == [new] * EPC_CALLS_MIN + [known] * 3


def test_only_connected_calls_that_were_routed_by_epc_count(account: AccountWorld) -> None:
    (buyer_id,) = warmed(account, 2.0)
    slots = account.slots(f"buyer/{buyer_id}")
    for name, ended in (("p", "attempted"), ("q", "unused"), ("r", "unknown")):
        account.want(name, buyer_ids=(buyer_id,), route_by_type="epc")
        account.release(name, ended=ended)
    taken(account, "s", buyer_ids=(buyer_id,))
    earned(account, buyer_id, 100.0, routed=False)
    assert account.slots(f"buyer/{buyer_id}").earned_days == slots.earned_days
    assert epc_of(account.slots(f"buyer/{buyer_id}"), account.now) == 2.0


def test_calls_count_for_seven_days_and_no_more_days_are_kept(account: AccountWorld) -> None:
    (buyer_id,) = warmed(account, 3.0)
    for _ in range(EPC_DAYS - 1):
        account.now += DAY
        taken(account, f"day-{account.now}", buyer_ids=(buyer_id,), route_by_type="epc")
    slots = account.slots(f"buyer/{buyer_id}")
    assert epc_of(slots, account.now) == amount(Decimal(3 * EPC_CALLS_MIN) / (EPC_CALLS_MIN + EPC_DAYS - 1))
    assert epc_of(slots, account.now + DAY) == UNKNOWN
    for _ in range(30):
        account.now += DAY
        taken(account, f"day-{account.now}", buyer_ids=(buyer_id,), route_by_type="epc")
    assert len(account.slots(f"buyer/{buyer_id}").earned_days) == EPC_DAYS


def test_what_a_call_earns_later_counts_on_the_day_of_the_call_and_an_old_one_no_more(account: AccountWorld) -> None:
    slots = Slots(resource="buyer/7", company_id=1)
    for _ in range(EPC_CALLS_MIN):
        epc.add_call(slots, account.now, account.now)
    epc.add_revenue(slots, account.now, account.now + 2 * DAY, Decimal("40.0"))
    assert epc_of(slots, account.now + 2 * DAY) == 40.0 / EPC_CALLS_MIN
    epc.add_revenue(slots, account.now - 8 * DAY, account.now, Decimal("1_000.0"))
    assert epc_of(slots, account.now + HOUR) == 40.0 / EPC_CALLS_MIN


def test_requests_that_are_routed_in_different_ways_wait_in_queues_of_their_own(account: AccountWorld) -> None:
    one, other = account.buyer(0, bid_price=1, tier=1), account.buyer(1, bid_price=9)
    group_id = account.group(one, other, concurrency_cap_limit=1)
    account.want("a", buyer_group_id=group_id)
    assert account.want("b", buyer_group_id=group_id, route_by_type="revenue") == []
    (answer,) = account.release("a")
    assert (answer.request_id, answer.buyer_id) == ("b", other)


@pytest.mark.parametrize(
    ("record_type", "fields", "field"),
    [
        ("offer", {"lead_token": "0123456789abcdef", "route_by_type": "luck"}, "route_by_type"),
        ("buyer", {"number": "+12125550100", "bid_price": -1}, "bid_price"),
        ("buyer", {"number": "+12125550100", "bid_price": 1_000_001}, "bid_price"),
        ("buyer", {"number": "+12125550100", "bid_price": "much"}, "bid_price"),
    ],
)
def test_bad_fields_are_refused_by_name(account: AccountWorld, record_type: str, fields: dict[str, Any], field: str) -> None:
    answer = account.change("create", record_type, name="x", **fields)
    assert (answer.code, list(answer.errors)) == ("validation_failed", [field])
