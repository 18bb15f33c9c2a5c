"""Is it stated once that a cap is used up, by what is confirmed, and again after its reset?"""

from typing import Any

from tests.engine.account.conftest import AccountWorld
from tests.engine.contact.world import NEW_YORK, at


def reached(account: AccountWorld) -> list[dict[str, Any]]:
    return [fact.data for fact in account.facts if fact.type == "cap.reached"]


def test_a_cap_that_calls_use_up_is_stated_once_with_its_reset_and_again_in_the_next_period(account: AccountWorld) -> None:
    account.now = at("2026-07-15 14:20")
    buyer_id = account.buyer(time_zone=NEW_YORK, connection_daily_limit=2)
    group_id = account.group(buyer_id)
    for request_id in "ab":
        account.want(request_id, buyer_group_id=group_id)
    assert reached(account) == []  # both are reserved, and may be given back
    account.release("a", ended="connected")
    account.release("b", ended="connected")
    said = {"record_type": "buyer", "record_id": buyer_id, "cap": "connection_daily", "limit": 2, "used": 2}
    assert reached(account) == [{**said, "resets_at": at("2026-07-16 00:00")}]

    account.now = at("2026-07-16 09:00")
    for request_id in "cd":
        account.want(request_id, buyer_group_id=group_id)
        account.release(request_id, ended="connected")
    assert [one["resets_at"] for one in reached(account)] == [at("2026-07-16 00:00"), at("2026-07-17 00:00")]


def test_a_cap_on_revenue_is_stated_when_a_call_earns_it_and_never_for_a_cap_of_nothing(account: AccountWorld) -> None:
    buyer_id = account.buyer(revenue_total_limit=100, buyer_conversion_daily_limit=0)
    for amount in (60.0, 60.0, 5.0):
        account.earned(account.now, **{f"buyer_{buyer_id}": {"revenue": amount, "buyer_conversion": 1.0}})
    (fact,) = reached(account)
    assert (fact["record_id"], fact["cap"], fact["used"], fact["resets_at"]) == (buyer_id, "revenue_total", 120.0, None)
