"""Does a call of a group that is dialled simultaneously ring several buyers, and is it the winner's from its answer on?"""

from decimal import Decimal
from typing import Any

import pytest

from schemas.commands import BUYER_LEGS_MAX, BuyerLeg, PlaceCall
from schemas.records import Buyer, BuyerGroup
from schemas.requests import CallProgressed, SlotAnswered, SlotReleased, SlotRequested
from tests.engine.contact.test_slots import to_account
from tests.engine.contact.world import KEY, World

CALL = {"id": "call", "kind": "call", "connect": {"buyer_group_id": 7}}
TEXT = {"id": "text", "kind": "sms", "template": "Hi"}
BUYERS = (70, 71, 72)


def ringing(*, granted: bool = True, **group: Any) -> World:
    """Return a world whose call rings three buyers: by a slot, or of a group without any cap."""
    world = World()
    for buyer_id in BUYERS:
        world.add("buyer", buyer_id, Buyer(name="Bob", number=f"+121255501{buyer_id}", timeout_seconds=20, dtmf_tones="1#"))
    fields: dict[str, Any] = {"dial_buyers_type": "simultaneously", "buyer_ids": BUYERS, **group}
    if granted:
        fields["concurrency_cap_limit"] = 2
    world.add("buyer_group", 7, BuyerGroup(name="Solar", **fields))
    world.schedule(CALL, TEXT)
    world.submit()
    if granted:
        answer(world)
    return world


def answer(world: World) -> None:
    asked = next(message for message in reversed(to_account(world)) if isinstance(message, SlotRequested))
    given = SlotAnswered(
        company_id=1,
        contact_key=KEY,
        lead_id=asked.lead_id,
        request_id=asked.request_id,
        granted=True,
        buyer_ids=BUYERS,
        buyer_group_id=7,
    )
    world.ask(given, stream="accounts/0")


def command_of(world: World) -> PlaceCall:
    command = world.commands[0]
    assert isinstance(command, PlaceCall)
    return command


def answered(world: World, buyer_id: int) -> None:
    command = command_of(world)
    progress = CallProgressed(
        company_id=1,
        contact_key=KEY,
        lead_id=command.lead_id,
        command_id=command.command_id,
        call_id=command.call_id,
        state="established",
        occurred_at=world.now,
        buyer_id=buyer_id,
    )
    world.ask(progress)


def releases(world: World) -> list[tuple[str, int | None, bool]]:
    found = [message for message in to_account(world) if isinstance(message, SlotReleased)]
    return [(message.ended, message.buyer_id, message.goes_on) for message in found]


@pytest.mark.parametrize("granted", [True, False])
def test_the_command_has_a_leg_for_each_buyer(granted: bool) -> None:
    world = ringing(granted=granted)
    command = command_of(world)
    legs = [
        BuyerLeg(buyer_id=buyer_id, number=f"+121255501{buyer_id}", timeout_seconds=20, dtmf_tones="1#")
        for buyer_id in BUYERS
    ]
    assert list(command.buyer_legs) == legs
    assert (command.buyer_id, command.buyer_number, command.buyer_group_id) == (70, "+12125550170", 7)
    assert world.call(command.call_id).buyer_id is None


def test_from_its_answer_on_the_call_is_the_winners_and_the_losers_are_released() -> None:
    world = ringing()
    answered(world, 71)
    call = world.call(command_of(world).call_id)
    assert (call.buyer_id, call.buyer_answered_at, call.ended_at) == (71, world.now, None)
    answered(world, 71)
    answered(world, 72)  # too late: the call is another's
    assert world.call(call.id).buyer_id == 71
    assert releases(world) == [("attempted", 71, True)]
    world.outcome("connected_buyer", buyer_id=71)
    assert releases(world)[1:] == [("connected", None, False)]
    assert (world.lead().buyer_id, world.call(call.id).buyer_id) == (71, 71)


def test_an_outcome_alone_names_the_winner_too() -> None:
    world = ringing()
    world.outcome("connected_buyer", buyer_id=72)
    assert releases(world) == [("connected", 72, False)]
    assert (world.lead().buyer_id, world.call(command_of(world).call_id).buyer_id) == (72, 72)


def test_a_call_that_no_buyer_answered_is_no_buyers() -> None:
    world = ringing()
    world.outcome("abandoned_by_us", buyer_id=70)
    assert releases(world) == [("attempted", None, False)]
    assert world.call(command_of(world).call_id).buyer_id is None


def test_a_buyer_that_was_not_rung_cannot_answer() -> None:
    world = ringing()
    answered(world, 4711)
    assert (world.call(command_of(world).call_id).buyer_id, releases(world)) == (None, [])


def test_where_one_of_them_takes_the_call_no_more_the_slot_is_asked_for_again() -> None:
    world = World()
    for buyer_id in BUYERS:
        world.add("buyer", buyer_id, Buyer(name="Bob", number=f"+121255501{buyer_id}"))
    world.add(
        "buyer_group",
        7,
        BuyerGroup(name="S", buyer_ids=BUYERS, dial_buyers_type="simultaneously", caps={"x": Decimal("1.0")}),
    )
    world.schedule(CALL, TEXT)
    world.submit()
    world.add("buyer", 72, Buyer(name="Bob", number="+12125550172", filters=("state:FL",)), version=2)
    answer(world)
    assert world.commands == []
    assert releases(world) == [("unused", None, False)]


def test_a_single_buyer_needs_no_legs_and_a_large_group_is_rung_in_part() -> None:
    assert command_of(ringing(granted=False, buyer_ids=(71,))).buyer_legs == ()
    world = World()
    ids = tuple(range(100, 100 + BUYER_LEGS_MAX + 5))
    for buyer_id in ids:
        world.add("buyer", buyer_id, Buyer(name="Bob", number=f"+12125550{buyer_id}"))
    world.add("buyer_group", 7, BuyerGroup(name="Solar", buyer_ids=ids, dial_buyers_type="simultaneously"))
    world.schedule(CALL, TEXT)
    world.submit()
    assert len({leg.buyer_id for leg in command_of(world).buyer_legs}) == BUYER_LEGS_MAX
