"""Of a group that is dialled simultaneously, who is rung, what do the caps count, and what is given back when?"""

from decimal import Decimal
from random import Random
from typing import Any

import pytest

from engine.account.choice import Candidate, choose_several
from schemas.commands import BUYER_LEGS_MAX
from schemas.requests import SlotAnswered
from tests.engine.account.conftest import AccountWorld

CAPS: dict[str, Any] = {"attempt_daily_limit": 100, "connection_daily_limit": 100, "concurrency_cap_limit": 9}


def together(account: AccountWorld, *buyer_ids: int, **fields: Any) -> int:
    return account.group(*buyer_ids, dial_buyers_type="simultaneously", **fields)


def used(account: AccountWorld, resource: str) -> tuple[int, Decimal | int, Decimal | int]:
    """Return how many calls are under way, and the attempts and connections of the day, reserved ones included."""
    slots = account.slots(resource)
    day = slots.tallies["daily"]
    counts = [day.used.get(name, 0) + day.open.get(name, 0) for name in ("attempt", "connection")]
    return slots.in_use, counts[0], counts[1]


def rung(answers: list[SlotAnswered]) -> tuple[int, ...]:
    (answer,) = answers
    assert answer.granted
    return answer.buyer_ids or (() if answer.buyer_id is None else (answer.buyer_id,))


@pytest.fixture
def buyers(account: AccountWorld) -> list[int]:
    return [account.buyer(number, **CAPS) for number in range(3)]


def test_all_buyers_of_the_lowest_tier_are_rung(account: AccountWorld, buyers: list[int]) -> None:
    later = account.buyer(4, tier=2)
    group_id = together(account, *buyers, later, **CAPS)
    assert rung(account.want("a", buyer_group_id=group_id)) == tuple(buyers)
    for buyer_id in buyers:
        account.update("buyer", buyer_id, paused=True)
    assert rung(account.want("b", buyer_group_id=group_id)) == (later,)


def test_while_they_ring_each_counts_an_attempt_and_the_group_one(account: AccountWorld, buyers: list[int]) -> None:
    group_id = together(account, *buyers, **CAPS)
    account.want("a", buyer_group_id=group_id)
    assert [used(account, f"buyer/{buyer_id}") for buyer_id in buyers] == [(1, 1, 1)] * 3
    assert used(account, f"buyer_group/{group_id}") == (1, 1, 1)


def test_once_one_answers_the_others_are_free_and_keep_their_attempt_alone(account: AccountWorld, buyers: list[int]) -> None:
    group_id = together(account, *buyers, **CAPS)
    account.want("a", buyer_group_id=group_id)
    first, winner, last = buyers

    account.release("a", buyer_id=winner, ended="attempted", goes_on=True)
    assert [used(account, f"buyer/{one}") for one in (first, winner, last)] == [(0, 1, 0), (1, 1, 1), (0, 1, 0)]
    assert used(account, f"buyer_group/{group_id}") == (1, 1, 1)
    account.release("a", buyer_id=winner, ended="attempted", goes_on=True)  # a repeat
    account.release("a", ended="connected")
    assert [used(account, f"buyer/{one}") for one in (first, winner, last)] == [(0, 1, 0), (0, 1, 1), (0, 1, 0)]
    assert used(account, f"buyer_group/{group_id}") == (0, 1, 1)


@pytest.mark.parametrize(
    ("ended", "winner", "counts"),
    [
        ("connected", 1, [(0, 1, 0), (0, 1, 1), (0, 1, 0), (0, 1, 1)]),
        ("unknown", 1, [(0, 1, 0), (0, 1, 1), (0, 1, 0), (0, 1, 1)]),
        ("attempted", None, [(0, 1, 0), (0, 1, 0), (0, 1, 0), (0, 1, 0)]),
        ("unused", None, [(0, 0, 0), (0, 0, 0), (0, 0, 0), (0, 0, 0)]),
        pytest.param("unknown", None, [(0, 1, 1)] * 4, id="where nobody knows who answered, all counts in full"),
    ],
)
def test_the_end_counts_a_connection_of_the_winner_alone(
    account: AccountWorld, buyers: list[int], ended: str, winner: int | None, counts: list[tuple[int, float, float]]
) -> None:
    group_id = together(account, *buyers, **CAPS)
    account.want("a", buyer_group_id=group_id)
    account.release("a", buyer_id=None if winner is None else buyers[winner], ended=ended)
    resources = [*(f"buyer/{buyer_id}" for buyer_id in buyers), f"buyer_group/{group_id}"]
    assert [used(account, resource) for resource in resources] == counts


def test_who_is_full_is_not_rung_and_who_waits_gets_the_losers(account: AccountWorld, buyers: list[int]) -> None:
    full, *others = buyers
    account.update("buyer", full, attempt_total_limit=0)
    for buyer_id in others:
        account.update("buyer", buyer_id, concurrency_cap_limit=1)
    group_id = together(account, *buyers)
    assert rung(account.want("a", buyer_group_id=group_id)) == tuple(others)
    assert account.want("b", buyer_group_id=group_id) == []
    assert rung(account.release("a", buyer_id=others[0], goes_on=True)) == (others[1],)


def test_a_stranger_that_is_said_to_have_answered_frees_nobody(account: AccountWorld, buyers: list[int]) -> None:
    group_id = together(account, *buyers, **CAPS)
    account.want("a", buyer_group_id=group_id)
    account.release("a", buyer_id=4711, goes_on=True)
    assert [used(account, f"buyer/{buyer_id}") for buyer_id in buyers] == [(1, 1, 1)] * 3


def test_an_inbound_call_rings_one_of_them(account: AccountWorld, buyers: list[int]) -> None:
    group_id = together(account, *buyers, **CAPS)
    assert len(rung(account.want("a", buyer_group_id=group_id, call_id=31))) == 1


def test_no_more_are_rung_than_a_call_may_have_legs_and_weights_choose(account: AccountWorld) -> None:
    many = [Candidate(number, 1, 1 if number < 5 else 100) for number in range(BUYER_LEGS_MAX + 10)]
    found = [choose_several(many, f"call-{number}", BUYER_LEGS_MAX) for number in range(200)]
    assert {len(set(chosen)) for chosen in found} == {BUYER_LEGS_MAX}
    light = sum(number < 5 for chosen in found for number in chosen)
    assert light < 200, "those of weight 1 are rung about as seldom as their weights say"
    group_id = together(account, *(account.buyer(number) for number in range(BUYER_LEGS_MAX + 2)), concurrency_cap_limit=1)
    assert len(rung(account.want("a", buyer_group_id=group_id))) == BUYER_LEGS_MAX


@pytest.mark.parametrize("seed", range(5))
def test_whatever_the_order_no_cap_is_passed_and_all_is_given_back(account: AccountWorld, seed: int) -> None:
    dice = Random(seed)
    limits = {account.buyer(number, attempt_total_limit=40, concurrency_cap_limit=1 + number % 3): 40 for number in range(6)}
    ids = list(limits)
    groups = [
        together(account, *ids[:4], concurrency_cap_limit=3, weight=2),
        together(account, *ids[2:], concurrency_cap_limit=2, connection_total_limit=30),
        account.group(*ids, concurrency_cap_limit=2, tier=2),
    ]
    live: dict[str, tuple[int, ...]] = {}
    for number in range(400):
        sent = account.want(f"c{number}", buyer_group_ids=tuple(groups))
        if live and dice.random() < 0.8:
            name = dice.choice(list(live))
            rang = live[name]
            if len(rang) > 1 and dice.random() < 0.5:
                live[name] = (dice.choice(rang),)
                sent += account.release(name, buyer_id=live[name][0], goes_on=True)
            else:
                del live[name]
                ended = dice.choice(["connected", "attempted", "unused", "unknown"])
                sent += account.release(name, buyer_id=dice.choice(rang) if ended == "connected" else None, ended=ended)
        for answer in sent:
            if answer.granted:
                live[answer.request_id] = answer.buyer_ids or (answer.buyer_id or 0,)
        for place, buyer_id in enumerate(ids):
            slots = account.slots(f"buyer/{buyer_id}") if any(buyer_id in rang for rang in live.values()) else None
            assert slots is None or slots.in_use == sum(buyer_id in rang for rang in live.values()) <= 1 + place % 3
            total = None if slots is None else slots.tallies["total"]
            assert total is None or total.used.get("attempt", 0) + total.open.get("attempt", 0) <= 40
    while live:
        name, rang = live.popitem()
        sent = account.release(name, buyer_id=rang[0], ended="connected")
        live |= {answer.request_id: answer.buyer_ids or (answer.buyer_id or 0,) for answer in sent if answer.granted}
    assert [account.slots(f"buyer/{buyer_id}").in_use for buyer_id in ids] == [0] * 6
    assert account.slots(f"buyer_group/{groups[1]}").tallies["total"].used.get("connection", 0) <= 30


def test_an_inbound_call_rings_several_only_where_its_gateway_can(account: AccountWorld, buyers: list[int]) -> None:
    group_id = together(account, *buyers, **CAPS)
    assert len(rung(account.want("a", buyer_group_id=group_id, call_id=5))) == 1
    assert rung(account.want("b", buyer_group_id=group_id, call_id=6, rings_several=True)) == tuple(buyers)


def test_while_all_ring_for_one_inbound_call_another_one_is_refused_until_one_answers(
    account: AccountWorld, buyers: list[int]
) -> None:
    for buyer_id in buyers:
        account.update("buyer", buyer_id, concurrency_cap_limit=1)
    group_id = together(account, *buyers, **CAPS)
    about: dict[str, Any] = {"buyer_group_id": group_id, "rings_several": True}
    assert rung(account.want("a", call_id=1, **about)) == tuple(buyers)
    (refused,) = account.want("b", call_id=2, **about)
    assert (refused.granted, refused.reason) == (False, "concurrency_cap")
    assert used(account, f"buyer_group/{group_id}") == (1, 1, 1), "who is refused counts nothing"

    account.release("a", buyer_id=buyers[1], goes_on=True)
    assert rung(account.want("c", call_id=3, **about)) == (buyers[0], buyers[2])
    (refused,) = account.want("d", call_id=4, **about)
    assert (refused.granted, refused.reason) == (False, "concurrency_cap")


@pytest.mark.parametrize(
    ("limits", "calls"),
    [
        ((1, 1, 1), [(0, 1, 2), ()]),
        ((2, 2, 1), [(0, 1, 2), (0, 1), ()]),
        ((3, 1, 2), [(0, 1, 2), (0, 2), (0,), ()]),
        ((0, 0, 1), [(2,), ()]),
    ],
)
def test_a_buyer_whose_attempts_are_used_up_is_left_out_and_the_others_ring(
    account: AccountWorld, limits: tuple[int, ...], calls: list[tuple[int, ...]]
) -> None:
    ids = [account.buyer(number, attempt_total_limit=limit) for number, limit in enumerate(limits)]
    group_id = together(account, *ids)
    found: list[tuple[int, ...]] = []
    for number in range(len(calls)):
        name = f"c{number}"
        (answer,) = account.want(name, buyer_group_id=group_id, call_id=number + 1, rings_several=True)
        found.append(tuple(ids.index(buyer_id) for buyer_id in rung([answer])) if answer.granted else ())
        account.release(name, ended="attempted")
    assert found == calls
