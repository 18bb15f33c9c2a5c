"""Does a reversal give a buyer at its cap its calls back, whatever the other buyer of its group does meanwhile?"""

from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.account.conftest import AccountWorld

REACHED = {"revenue": 120.0, "buyer_conversion": 1.0}


def group_of(account: AccountWorld, *, first: dict[str, Any], other: dict[str, Any], **group: Any) -> tuple[int, int, int]:
    """Return a buyer, another one, and the group of both."""
    dear, friend = account.buyer(1, **first), account.buyer(2, **other)
    return dear, friend, account.group(dear, friend, **group)


def is_busy(account: AccountWorld, group_id: int, friend: int) -> None:
    """The other buyer has a call on its only line."""
    (granted,) = account.want("busy", buyer_group_id=group_id)
    assert granted.buyer_id == friend


def is_used_up(account: AccountWorld, group_id: int, friend: int) -> None:
    """The other buyer has had the only call of its day."""
    is_busy(account, group_id, friend)
    assert account.release("busy", ended="connected") == []


Meanwhile = Callable[[AccountWorld, int, int], None]


@pytest.mark.parametrize(
    ("cap", "taken_back"),
    [
        ({"revenue_daily_limit": 100}, {"revenue": -60.0}),
        ({"buyer_conversion_daily_limit": 1}, {"buyer_conversion": -1.0}),
    ],
    ids=["revenue", "a conversion"],
)
@pytest.mark.parametrize("rings_several", [False, True])
def test_a_lead_that_waits_gets_the_buyer_whose_revenue_is_taken_back_while_the_other_one_is_busy(
    account: AccountWorld,
    cap: dict[str, Any],
    taken_back: dict[str, float],
    rings_several: bool,
) -> None:
    rings = {"dial_buyers_type": "simultaneously"} if rings_several else {}
    dear, friend, group_id = group_of(account, first=cap, other={"concurrency_cap_limit": 1}, **rings)
    account.earned(account.now, **{f"buyer_{dear}": REACHED})
    is_busy(account, group_id, friend)
    assert account.want("waits", buyer_group_id=group_id) == []

    (granted,) = account.earned(account.now, **{f"buyer_{dear}": taken_back})

    assert (granted.request_id, granted.buyer_id) == ("waits", dear)


@pytest.mark.parametrize("meanwhile", [is_busy, is_used_up], ids=["is busy", "is at its cap"])
def test_a_reversal_of_one_buyer_frees_nothing_of_the_other(account: AccountWorld, meanwhile: Meanwhile) -> None:
    other = {"concurrency_cap_limit": 1, "attempt_daily_limit": 1}
    dear, friend, group_id = group_of(account, first={"revenue_daily_limit": 100}, other=other)
    account.earned(account.now, **{f"buyer_{dear}": REACHED})
    meanwhile(account, group_id, friend)
    before = account.slots(f"buyer/{friend}")
    account.earned(account.now, **{f"buyer_{dear}": {"revenue": -60.0}})

    granted = [account.want(name, buyer_group_id=group_id) for name in "abc"]

    assert [[one.buyer_id for one in answers] for answers in granted] == [[dear]] * 3
    assert account.slots(f"buyer/{friend}").tallies == before.tallies


def test_a_reversal_that_leaves_a_buyer_at_its_cap_gives_nothing_back(account: AccountWorld) -> None:
    dear, friend, group_id = group_of(account, first={"revenue_daily_limit": 100}, other={"concurrency_cap_limit": 1})
    account.earned(account.now, **{f"buyer_{dear}": REACHED})
    is_busy(account, group_id, friend)
    assert account.want("waits", buyer_group_id=group_id) == []

    assert account.earned(account.now, **{f"buyer_{dear}": {"revenue": -20.0}}) == []
    (granted,) = account.earned(account.now, **{f"buyer_{dear}": {"revenue": -0.01}})
    assert granted.buyer_id == dear


def test_a_reversal_of_the_group_lets_the_free_buyer_take_the_call(account: AccountWorld) -> None:
    dear, friend, group_id = group_of(
        account, first={"concurrency_cap_limit": 1}, other={"concurrency_cap_limit": 1}, revenue_daily_limit=100
    )
    (first,) = account.want("busy", buyer_group_id=group_id)
    account.earned(account.now, **{f"buyer_group_{group_id}": REACHED})
    (refused,) = account.want("late", buyer_group_id=group_id)
    assert (refused.granted, refused.reason) == (False, "buyer_cap")

    account.earned(account.now, **{f"buyer_group_{group_id}": {"revenue": -60.0}})

    (granted,) = account.want("again", buyer_group_id=group_id)
    assert {first.buyer_id, granted.buyer_id} == {dear, friend}
