"""Does a lead cost what its calls cost, however and whenever their providers report it?"""

from decimal import Decimal
from typing import Any

import pytest

from schemas.contact import Call
from schemas.instant import SECOND
from schemas.records import Number
from schemas.requests import CallDeleteRequested, CallReceived, CallUpdateRequested
from tests.engine.contact.world import KEY, NEW_YORK, NUMBER, World

OURS = "+12125550150"
CALL = {"id": "call", "kind": "call"}
LATE = {"id": "late", "kind": "wait", "duration": "5d"}


@pytest.fixture
def world() -> World:
    made = World()
    made.schedule(CALL, {"id": "rest", "kind": "wait", "duration": "1h"}, CALL | {"id": "again"}, LATE)
    made.add("number", 5, Number(number=OURS, offer_id=1))
    return made


def called(world: World) -> Call:
    world.submit()
    return world.call(world.lead().attempted_call_id)


def rings(world: World, state: Any, **fields: Any) -> Call:
    world.now += SECOND
    given = {"company_id": 1, "contact_key": KEY, "from_number": NUMBER, "number_called": OURS, "zones": (NEW_YORK,)}
    world.ask(CallReceived(gateway_ref="pbx-1", state=state, occurred_at=world.now, **{**given, **fields}))
    assert world.answer is not None
    return world.call(world.answer.record_id)


def test_the_costs_of_all_calls_of_a_lead_add_up(world: World) -> None:
    called(world)
    world.outcome("no_answer", cost=0.1)
    world.wait(3700)
    world.outcome("connected_human", cost=0.2)
    assert world.lead().cost == Decimal("0.3")


def test_a_cost_that_is_corrected_replaces_the_one_before(world: World) -> None:
    called(world)
    command = world.commands[-1]
    for cost in (0.02, None, 0.02, 0.05, 0.01):
        world.outcome("no_answer", command, cost=cost)
    assert (world.lead().cost, world.call(world.lead().attempted_call_id).cost) == (Decimal("0.01"), Decimal("0.01"))


def test_an_inbound_call_costs_what_its_end_and_what_comes_later_say(world: World) -> None:
    rings(world, "ringing")
    rings(world, "ended", cost=0.04)
    assert world.lead().cost == Decimal("0.04")
    rings(world, "ended", cost=0.12)
    assert world.lead().cost == Decimal("0.12")


def test_the_cost_of_a_deleted_call_leaves_its_lead_with_its_money(world: World) -> None:
    call = called(world)
    world.outcome("no_answer", cost=0.5)
    world.ask(
        CallUpdateRequested(company_id=1, contact_key=KEY, call_id=call.id, revenue=Decimal("45.0"), payout=Decimal("8.0"))
    )
    assert (world.lead().revenue, world.lead().payout, world.lead().cost) == (
        Decimal("45.0"),
        Decimal("8.0"),
        Decimal("0.5"),
    )
    world.ask(CallDeleteRequested(company_id=1, contact_key=KEY, call_id=call.id))
    assert (world.lead().revenue, world.lead().payout, world.lead().cost) == (Decimal("0.0"), Decimal("0.0"), Decimal("0.0"))


def test_a_lead_that_moved_to_another_number_is_charged_there(world: World) -> None:
    call = called(world)
    command = world.commands[-1]
    world.update(caller_id="+13055550199")
    world.outcome("no_answer", command, cost=0.02, call_id=call.id)
    assert (world.lead().contact_key, world.lead().cost) == ("1|+13055550199", Decimal("0.02"))
