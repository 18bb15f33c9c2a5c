"""Is a callback placed for its owner, retried when it reached no one, and never lost at a gate?"""

from typing import Any

import pytest

from engine.contact.lifecycle.callbacks import RETRIED_WITHIN
from engine.partition.draft import RefusedError
from schemas.commands import PlaceCall
from schemas.contact import CallbackOwner
from schemas.instant import HOUR, MINUTE, SECOND
from schemas.records import Buyer, BuyerGroup
from schemas.requests import SlotAnswered, SlotRequested
from schemas.wire import from_json
from tests.engine.contact.world import KEY, NOON, World

REST = {"id": "rest", "kind": "wait", "duration": "1d"}
CALL = {"id": "call", "kind": "call"}


def promised(owner: CallbackOwner | None = None, **buyer: Any) -> World:
    """Return a world in which a call was promised for one o'clock: buyers 1 and 2, of whom 2 is group 7."""
    world = World()
    world.add("buyer", 1, Buyer(name="Ada", number="+13055550171", **buyer))
    world.add("buyer", 2, Buyer(name="Bob", number="+13055550172"))
    world.add("buyer_group", 7, BuyerGroup(name="All", buyer_ids=(2,)))
    world.schedule(REST, CALL)
    world.submit()
    world.update(schedule_callback_at=NOON + HOUR, callback_owner=owner)
    return world


def call_of(world: World) -> PlaceCall:
    (order,) = world.commands
    assert isinstance(order, PlaceCall)
    return order


@pytest.mark.parametrize(
    ("owner", "buyer", "group"),
    [
        (None, None, None),
        (CallbackOwner(buyer_id=1), 1, None),
        (CallbackOwner(buyer_group_id=7), 2, 7),
        (CallbackOwner(buyer_id=1, buyer_group_id=7), 1, None),
    ],
    ids=["anyone", "a buyer", "a group", "a buyer before a group"],
)
def test_the_call_is_connected_to_its_owner(owner: CallbackOwner | None, buyer: int | None, group: int | None) -> None:
    world = promised(owner)
    world.wait(3600)

    assert (call_of(world).step_id, call_of(world).buyer_id, call_of(world).buyer_group_id) == ("(callback)", buyer, group)


@pytest.mark.parametrize(
    ("owner", "minutes", "buyer"),
    [
        (CallbackOwner(buyer_id=1, buyer_group_id=7), 15, 2),
        (CallbackOwner(buyer_id=1), 15, None),
        (CallbackOwner(buyer_id=1, grace_minutes=40), 40, None),
    ],
    ids=["to the group", "to anyone", "after its own minutes"],
)
def test_where_the_owner_is_not_there_others_take_over_after_the_minutes_of_grace(
    owner: CallbackOwner, minutes: int, buyer: int | None
) -> None:
    world = promised(owner, paused=True)
    world.wait_until(NOON + HOUR + minutes * MINUTE - SECOND)
    assert (world.commands, world.lead().status_wait) == ([], "callback_owner_unavailable")

    world.wait(1)

    assert call_of(world).buyer_id == buyer


@pytest.mark.parametrize(
    ("owner", "minute", "buyer"),
    [
        (CallbackOwner(buyer_id=1, buyer_group_id=7), 0, 2),
        (CallbackOwner(buyer_id=1), 0, None),
        (CallbackOwner(buyer_id=1, buyer_group_id=7, grace_minutes=0), 0, 2),
        (CallbackOwner(buyer_id=1, grace_minutes=0), 0, None),
        (CallbackOwner(buyer_id=1, buyer_group_id=99), 0, None),
    ],
    ids=["the group", "anyone", "the group alone", "anyone, though nobody was to take over", "anyone, without the group"],
)
def test_an_owner_who_was_deleted_has_no_minutes(owner: CallbackOwner, minute: int, buyer: int | None) -> None:
    world = promised()
    world.add("buyer_group", 99, BuyerGroup(name="Former", buyer_ids=(2,)))
    world.update(schedule_callback_at=NOON + HOUR, callback_owner=owner)
    world.add("buyer", 1, Buyer(name="Ada", number="+13055550171"), version=2, deleted=True)
    world.add("buyer_group", 99, BuyerGroup(name="Former", buyer_ids=(2,)), version=2, deleted=True)
    world.wait_until(NOON + HOUR + minute * MINUTE)

    assert call_of(world).buyer_id == buyer


@pytest.mark.parametrize(("alone", "team", "passes"), [(5, 40, 45), (40, 5, 45), (5, None, 10)])
def test_the_buyer_and_the_group_have_minutes_of_their_own(alone: int, team: int | None, passes: int) -> None:
    owner = CallbackOwner(buyer_id=1, buyer_group_id=7, grace_minutes=alone, team_grace_minutes=team)
    world = promised(owner, paused=True)
    world.add("buyer", 2, Buyer(name="Bob", number="+13055550172", paused=True), version=2)
    world.wait_until(NOON + HOUR + passes * MINUTE - SECOND)
    assert world.commands == []
    world.wait(1)

    assert call_of(world).buyer_id is None


def test_without_grace_nobody_takes_over() -> None:
    world = promised(CallbackOwner(buyer_id=1, buyer_group_id=7, grace_minutes=0), paused=True)
    world.wait(5 * 3600)
    assert world.commands == []

    world.add("buyer", 1, Buyer(name="Ada", number="+13055550171"), version=2)
    world.wait(3600)

    assert call_of(world).buyer_id == 1


def asked(world: World) -> SlotRequested:
    letter = next(letter for letter in reversed(world.messages) if letter.type == "slot.requested")
    return from_json(letter.body, SlotRequested)


def test_the_line_of_an_owner_with_a_limit_is_asked_for_and_given_back() -> None:
    world = promised(CallbackOwner(buyer_id=1), concurrency_cap_limit=1)
    world.wait(3600)
    request = asked(world)
    assert (world.commands, request.buyer_ids, world.lead().step_attempts) == ([], (1,), world.lead().step_attempts)

    answer = {"company_id": 1, "contact_key": KEY, "lead_id": world.lead().id, "request_id": request.request_id}
    world.ask(SlotAnswered(**answer, granted=True, buyer_id=1))  # type: ignore[arg-type]

    assert call_of(world).buyer_id == 1
    world.outcome("connected_buyer")
    assert [letter.type for letter in world.messages][-1] == "slot.released"


def test_an_owner_whose_line_does_not_come_free_is_waited_for_until_the_grace_is_over() -> None:
    world = promised(CallbackOwner(buyer_id=1), concurrency_cap_limit=1)
    world.wait_until(NOON + HOUR + 15 * MINUTE)

    assert call_of(world).buyer_id is None
    assert [letter.type for letter in world.messages][-1] == "slot.released"


# -- again -------------------------------------------------------------------------------------------------------------


def test_a_call_back_that_reached_nobody_is_made_again_twice() -> None:
    world = promised(CallbackOwner(buyer_id=1))
    for _ in range(4):
        world.wait(2 * 3600)
        if world.lead().flight is not None:
            world.outcome("no_answer")

    assert [command.decided_at for command in world.commands[:2]] == [NOON + 2 * HOUR - HOUR, NOON + 4 * HOUR]
    assert world.steps() == ["(callback)"] * 3
    assert len({command.command_id for command in world.commands}) == 3
    assert world.lead().callback_at is None


@pytest.mark.parametrize("outcome", ["connected_human", "connected_buyer", "caller_hung_up", "unknown", "invalid_number"])
def test_a_promise_that_was_kept_or_cannot_be_is_over(outcome: str) -> None:
    world = promised()
    world.wait(3600)
    world.outcome(outcome)

    assert world.lead().callback_at is None


def test_a_promise_is_not_lost_where_no_gate_lets_the_order_through() -> None:
    world = promised()
    world.wait(3600)
    for _ in range(5):
        world.outcome("rejected_at_gate")
        assert world.lead().callback_at is not None
        world.wait(3600)
    world.outcome("connected_human")

    assert world.steps() == ["(callback)"] * 6
    assert world.lead().callback_at is None


def test_two_days_after_it_was_promised_a_call_back_is_given_up() -> None:
    world = promised()
    world.wait_until(NOON + HOUR + RETRIED_WITHIN + HOUR - HOUR)
    (first, *_) = world.commands
    world.outcome("no_answer", first)

    assert world.lead().callback_at is None


def test_a_newer_promise_replaces_the_one_that_is_tried_again() -> None:
    world = promised(CallbackOwner(buyer_id=1))
    world.wait(3600)
    world.update(schedule_callback_at=NOON + 6 * HOUR)
    world.outcome("no_answer")

    assert (world.lead().callback_at, world.lead().callback_owner) == (NOON + 6 * HOUR, None)


# -- who says so -------------------------------------------------------------------------------------------------------


def test_a_step_promises_a_call_of_a_buyer() -> None:
    world = World()
    world.add("buyer", 1, Buyer(name="Ada", number="+13055550171"))
    world.schedule({"id": "promise", "kind": "schedule_callback", "in": "1h", "buyer_id": 1, "grace_minutes": 5}, REST)
    world.submit()

    assert world.lead().callback_owner == CallbackOwner(buyer_id=1, grace_minutes=5)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"schedule_callback_at": NOON + HOUR, "callback_owner": CallbackOwner(buyer_id=99)}, "callback_buyer_id"),
        (
            {"schedule_callback_at": NOON + HOUR, "callback_owner": CallbackOwner(buyer_group_id=99)},
            "callback_buyer_group_id",
        ),
        ({"callback_owner": CallbackOwner(buyer_id=1)}, "callback_buyer_id"),
    ],
)
def test_an_owner_that_is_not_there_or_of_nothing_is_refused(fields: dict[str, Any], field: str) -> None:
    world = promised()

    with pytest.raises(RefusedError) as refused:
        world.update(**fields)

    assert list(refused.value.errors) == [field]
