"""Does a buyer or group get its next call no sooner than its spacing says, and then at once?"""

from collections.abc import Callable
from typing import Any

import pytest

from schemas.instant import SECOND
from tests.engine.account.conftest import AccountWorld

SPACED: dict[str, Any] = {"spacing_seconds": 90}


@pytest.mark.parametrize("whose", ["buyer", "group"])
def test_the_next_call_waits_until_the_spacing_is_over_to_the_second(account: AccountWorld, whose: str) -> None:
    buyer_id = account.buyer(**(SPACED if whose == "buyer" else {}))
    group_id = account.group(buyer_id, **(SPACED if whose == "group" else {}))
    resource, began_at = f"buyer_group/{group_id}", account.now
    assert account.want("a", buyer_group_id=group_id)[0].granted
    account.release("a", ended="connected")
    account.now = began_at + 30 * SECOND
    assert account.want("b", buyer_group_id=group_id) == []
    assert account.want("c", buyer_group_id=group_id) == []
    assert account.slots(resource).wake_at == began_at + 90 * SECOND

    account.now = began_at + 90 * SECOND
    assert [answer.request_id for answer in account.tick(f"slots/1/{resource}")] == ["b"]
    assert account.slots(resource).wake_at == began_at + 180 * SECOND
    account.now = began_at + 180 * SECOND
    assert [answer.request_id for answer in account.tick(f"slots/1/{resource}")] == ["c"]


def test_another_buyer_takes_the_call_meanwhile(account: AccountWorld) -> None:
    spaced, other = account.buyer(0, tier=1, **SPACED), account.buyer(1, tier=2)
    group_id = account.group(spaced, other)
    taken = [account.want(name, buyer_group_id=group_id)[0].buyer_id for name in "abc"]
    assert taken == [spaced, other, other]


def test_an_inbound_call_is_answered_when_the_spacing_is_over(account: AccountWorld) -> None:
    group_id = account.group(account.buyer(**SPACED))
    account.want("a", buyer_group_id=group_id)
    (answer,) = account.want("b", buyer_group_id=group_id, call_id=31)
    assert (answer.granted, answer.until) == (False, account.now + 90 * SECOND)


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda account, buyer_id: account.changed("buyer", buyer_id, spacing_seconds=0), id="taken away"),
        pytest.param(lambda account, buyer_id: account.changed("buyer", buyer_id, spacing_seconds=10), id="shortened"),
    ],
)
def test_a_changed_spacing_holds_for_who_waits_at_once(account: AccountWorld, act: Callable[..., Any]) -> None:
    buyer_id = account.buyer(**SPACED)
    group_id = account.group(buyer_id)
    account.want("a", buyer_group_id=group_id)
    assert account.want("b", buyer_group_id=group_id) == []
    account.now += 20 * SECOND
    assert [answer.request_id for answer in act(account, buyer_id)] == ["b"]


@pytest.mark.parametrize("seconds", [-1, 86_401, "soon", 1.5])
def test_a_bad_spacing_is_refused_by_name(account: AccountWorld, seconds: Any) -> None:
    cases: tuple[tuple[str, dict[str, Any]], ...] = (("buyer", {"number": "+12125550100"}), ("buyer_group", {}))
    for record_type, fields in cases:
        answer = account.change("create", record_type, name="x", spacing_seconds=seconds, **fields)
        assert (answer.code, list(answer.errors)) == ("validation_failed", ["spacing_seconds"])
