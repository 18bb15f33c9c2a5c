"""Are excluded buyers never granted, and does no request with other buyers hold up one that could be served?"""

from typing import Any

import pytest

from schemas.account import Slots
from schemas.records import Buyer
from schemas.state import slots_key
from tests.engine.account.conftest import AccountWorld


def test_an_excluded_buyer_is_never_granted(account: AccountWorld) -> None:
    first, second = account.buyer(0), account.buyer(1)
    group_id = account.group(first, second, concurrency_cap_limit=50)
    granted = [
        answer.buyer_id
        for number in range(20)
        for answer in account.want(f"r{number}", buyer_group_id=group_id, excluded_buyer_ids=(first,))
    ]
    assert granted == [second] * 20


def test_a_request_whose_buyer_is_busy_holds_up_none_for_another_buyer(account: AccountWorld) -> None:
    first, second = account.buyer(0, concurrency_cap_limit=1), account.buyer(1, concurrency_cap_limit=1)
    group_id = account.group(first, second)
    (held,) = account.want("a", buyer_group_id=group_id, excluded_buyer_ids=(second,))
    assert held.buyer_id == first
    assert account.want("b", buyer_group_id=group_id, excluded_buyer_ids=(second,), urgency_class=0) == []
    (other,) = account.want("c", buyer_group_id=group_id, excluded_buyer_ids=(first,), urgency_class=5)
    assert other.buyer_id == second
    assert [(answer.request_id, answer.buyer_id) for answer in account.release("a")] == [("b", first)]


def test_the_most_urgent_of_all_queues_gets_the_slot_that_both_wait_for(account: AccountWorld) -> None:
    first, second = account.buyer(0), account.buyer(1)
    group_id = account.group(first, second, concurrency_cap_limit=1)
    account.want("a", buyer_group_id=group_id)
    account.want("calm", buyer_group_id=group_id, urgency_class=5)
    account.want("urgent", buyer_group_id=group_id, excluded_buyer_ids=(first,), urgency_class=0)
    (answer,) = account.release("a")
    assert (answer.request_id, answer.buyer_id) == ("urgent", second)
    assert [answer.request_id for answer in account.release("urgent")] == ["calm"]
    assert account.slots(f"buyer_group/{group_id}").in_use == 1


def test_who_excludes_all_buyers_is_refused(account: AccountWorld) -> None:
    only = account.buyer()
    group_id = account.group(only, concurrency_cap_limit=1)
    (answer,) = account.want("a", buyer_group_id=group_id, excluded_buyer_ids=(only,))
    assert (answer.granted, answer.reason) == (False, "no_buyer_available")


@pytest.mark.parametrize("ended", ["granted", "withdrawn", "refused"])
def test_a_queue_with_excluded_buyers_is_gone_once_it_is_empty(account: AccountWorld, ended: str) -> None:
    first, second = account.buyer(0), account.buyer(1, concurrency_cap_limit=1)
    group_id = account.group(first, second)
    asked: dict[str, Any] = {"buyer_group_id": group_id, "excluded_buyer_ids": (first,)}
    account.want("a", **asked)
    account.want("b", **asked)
    key = slots_key(1, f"buyer_group/{group_id}/without/{first}")
    assert account.state.get(key, Slots) is not None
    if ended == "refused":
        account.changed("buyer", second, attempt_total_limit=0)
    elif ended == "withdrawn":
        account.release("b")
    account.release("a", ended="attempted")
    if ended == "granted":
        account.release("b", ended="attempted")
    assert account.state.get(key, Slots) is None
    counted = account.slots(f"buyer/{second}")
    assert (counted.in_use, counted.wanted_by) == (0, ())


@pytest.mark.parametrize(
    ("filters", "fault"),
    [
        (["state:CA|NY", "loan:>=5000"], None),
        ([], None),
        (None, None),
        ("state:CA", "must be a list of texts"),
        (["no colon"], "must be key:value, such as state:CA|NY, of at most 500 characters"),
        (["loan:>="], "must say what loan is compared with, such as loan:>=10"),
        ([f"k{number}:1" for number in range(51)], "must have at most 50 filters"),
        *(
            ([f"{key}:1"], f"cannot ask for {key}: a buyer's filters look at the lead alone; hours go into business_hours")
            for key in ("fleet", "time", "weekday", "outcome", "disposition", "contact_24h", "contact_7d")
        ),
    ],
)
def test_filters_of_a_buyer_are_checked_when_it_is_saved(account: AccountWorld, filters: Any, fault: str | None) -> None:
    buyer_id = account.buyer()
    answer = account.update("buyer", buyer_id, filters=filters)
    assert answer.errors == ({} if fault is None else {"filters": [fault]})
    body = account.body("buyer", buyer_id)
    assert isinstance(body, Buyer)
    assert body.filters == (tuple(filters or ()) if fault is None else ())
