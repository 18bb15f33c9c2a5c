"""Does an inbound call of an offer with agents reserve one, and go elsewhere where none is there?"""

from typing import Any

import pytest

from engine.contact.requests.inbound_routing import CALLBACK_AFTER
from schemas.commands import PlaceCall
from schemas.contact import Call
from schemas.instant import SECOND
from schemas.records import Agent, Buyer, Number, Offer
from schemas.requests import SlotAnswered, SlotRequested
from tests.engine.contact.test_inbound_routing import OURS, action, rings, routes, uses
from tests.engine.contact.test_slots import to_account
from tests.engine.contact.world import KEY, World

TELEPHONE = "+12125550170"


def world_with(**offer: Any) -> World:
    world = World()
    world.add("agent", 70, Agent(name="Ada", number=TELEPHONE))
    world.add("agent", 71, Agent(name="Grace"))
    world.add("offer", 1, Offer(name="Solar", lead_token="offer", **{"agent_ids": (70,), **offer}), version=2)
    world.add("number", 5, Number(number=OURS, offer_id=1))
    world.wait(1)
    return world


def asked(world: World) -> SlotRequested:
    found = next(message for message in reversed(to_account(world)) if isinstance(message, SlotRequested))
    assert isinstance(found, SlotRequested)
    return found


def give(world: World, agent_id: int | None = 70, **fields: Any) -> None:
    """Answer the newest request for a slot."""
    request = asked(world)
    about: dict[str, Any] = {"lead_id": request.lead_id, "request_id": request.request_id, "call_id": request.call_id}
    about |= {"granted": agent_id is not None, "agent_id": agent_id, **fields}
    world.ask(SlotAnswered(company_id=1, contact_key=KEY, **about), stream="accounts/0")


def answer(world: World, agent_id: int | None = 70, **fields: Any) -> Call:
    """Answer the newest request for a slot of an inbound call; return the call as it is then."""
    call_id = asked(world).call_id
    give(world, agent_id, **fields)
    return world.call(call_id)


def test_a_call_takes_an_agent_of_its_offer_at_once() -> None:
    world = world_with(call_center_ids=(8,))
    call = rings(world)
    request = asked(world)
    assert (request.agent_ids, request.call_center_ids, request.call_id) == ((70,), (8,), call.id)
    assert action(call) == "pending"
    call = answer(world)
    assert (action(call), call.agent_id, call.buyer_id) == ("connect", 70, None)
    (shown,) = routes(world)
    assert (shown["agent_id"], shown["buyer_number"], shown["buyer_id"]) == (70, TELEPHONE, None)


@pytest.mark.parametrize(
    ("reports", "used"),
    [
        ([("connected", {"agent_id": 70}), ("ended", {"talk_seconds": 9})], "connected"),
        ([("ended", {"agent_id": 70, "talk_seconds": 9})], "connected"),
        ([("connected", {}), ("ended", {"hung_up_by": "caller"})], "attempted"),
        ([("ended", {"hung_up_by": "caller"})], "attempted"),
        ([("connected", {"agent_id": 71}), ("ended", {"talk_seconds": 9})], "attempted"),
    ],
)
def test_the_end_of_a_call_says_whether_its_agent_had_it(reports: list[tuple[str, dict[str, Any]]], used: str) -> None:
    world = world_with()
    rings(world)
    answer(world)
    for state, fields in reports:
        call = rings(world, state, after=5, **fields)
    assert uses(world) == [used]
    assert call.outcome in {"connected_human", "caller_hung_up"}
    assert world.lead().buyer_id is None


def test_an_agent_who_does_not_answer_is_left_out_and_the_next_one_is_rung() -> None:
    world = world_with(agent_ids=(70, 71))
    rings(world)
    answer(world)
    rings(world, after=20, unanswered_agent_id=70)
    assert (uses(world), asked(world).excluded_agent_ids) == (["attempted"], (70,))
    call = answer(world, 71)
    assert (action(call), call.agent_id) == ("connect", 71)
    rings(world, after=20, unanswered_agent_id=70)  # a repeat
    assert len(uses(world)) == 1
    rings(world, after=20, unanswered_agent_id=71)
    call = answer(world, None, reason="concurrency_cap")
    assert (action(call), call.agent_id) == ("voicemail", None)


@pytest.mark.parametrize(
    ("offer", "expected"),
    [
        ({}, "voicemail"),
        ({"no_buyer_action": "message"}, "message"),
        ({"no_buyer_action": "hang_up"}, "hang_up"),
        ({"no_buyer_action": "callback"}, "callback"),
    ],
)
def test_a_call_that_no_agent_takes_goes_where_the_offer_says(offer: dict[str, Any], expected: str) -> None:
    world = world_with(**offer)
    rings(world)
    assert action(answer(world, None, reason="concurrency_cap")) == expected


def test_the_callback_of_a_call_that_no_agent_took_waits_for_an_agent() -> None:
    world = world_with(no_buyer_action="callback")
    rings(world)
    answer(world, None, reason="concurrency_cap")
    rings(world, "ended", hung_up_by="us")
    world.wait(CALLBACK_AFTER // SECOND)
    request = asked(world)
    assert (request.agent_ids, request.call_id, world.commands) == ((70,), None, [])
    give(world)
    (command,) = world.commands
    assert isinstance(command, PlaceCall)
    assert (command.agent_id, command.buyer_number) == (70, TELEPHONE)


def test_an_agent_who_was_deleted_since_is_given_back_and_another_one_is_asked_for() -> None:
    world = world_with()
    rings(world)
    world.add("agent", 70, Agent(name="Ada"), version=2, deleted=True)
    assert (action(answer(world)), uses(world)) == ("pending", ["unused"])
    assert asked(world).excluded_agent_ids == (70,)
    assert (action(answer(world, None)), uses(world)) == ("voicemail", ["unused"])


def test_an_agent_granted_for_an_offer_that_has_buyers_by_now_is_given_back() -> None:
    world = world_with()
    rings(world)
    world.add("buyer", 72, Buyer(name="Bob", number="+12125550172"))
    world.add("offer", 1, Offer(name="Solar", lead_token="offer", buyer_ids=(72,)), version=3)
    assert (action(answer(world)), uses(world)) == ("voicemail", ["unused"])


def test_a_step_that_names_nobody_calls_for_the_agents_of_the_offer() -> None:
    world = world_with()
    world.schedule({"id": "call", "kind": "call"}, offer_id=1)
    world.submit()
    assert (asked(world).agent_ids, world.commands) == ((70,), [])
    give(world)
    (command,) = world.commands
    assert isinstance(command, PlaceCall)
    assert command.agent_id == 70
