"""Does a step that names agents wait for one, and is the call that agent's until its outcome?"""

from typing import Any

import pytest

from schemas.commands import PlaceCall
from schemas.records import Agent
from schemas.requests import SlotAnswered, SlotReleased, SlotRequested
from tests.engine.contact.test_slots import to_account
from tests.engine.contact.world import KEY, World

CALL = {"id": "call", "kind": "call", "connect": {"agents": {"agent_ids": [70], "call_center_ids": [5]}}}
TEXT = {"id": "text", "kind": "sms", "template": "Hi"}


def asking(**agent: Any) -> World:
    world = World()
    world.add("agent", 70, Agent(name="Ada", **agent))
    world.schedule(CALL, TEXT)
    world.submit()
    return world


def answer(world: World, *, granted: bool = True) -> None:
    asked = next(message for message in reversed(to_account(world)) if isinstance(message, SlotRequested))
    given = SlotAnswered(
        company_id=1,
        contact_key=KEY,
        lead_id=asked.lead_id,
        request_id=asked.request_id,
        granted=granted,
        agent_id=70 if granted else None,
    )
    world.ask(given, stream="accounts/0")


def releases(world: World) -> list[str]:
    return [message.ended for message in to_account(world) if isinstance(message, SlotReleased)]


def test_the_lead_waits_until_an_agent_is_reserved() -> None:
    world = asking()
    (asked,) = to_account(world)
    assert isinstance(asked, SlotRequested)
    assert (asked.agent_ids, asked.call_center_ids, asked.buyer_ids) == ((70,), (5,), ())
    assert world.commands == []
    lead = world.lead()
    assert (lead.status, lead.status_wait) == ("waiting", "concurrency_cap")


@pytest.mark.parametrize("number", ["+12125550170", None])
def test_the_command_names_the_agent_and_the_agents_telephone(number: str | None) -> None:
    world = asking(number=number)
    answer(world)
    (command,) = world.commands
    assert isinstance(command, PlaceCall)
    assert (command.agent_id, command.buyer_number, command.buyer_id) == (70, number, None)
    call = world.call(command.call_id)
    assert (call.agent_id, call.buyer_id) == (70, None)


@pytest.mark.parametrize(
    ("outcome", "ended"),
    [
        ("connected_human", "connected"),
        ("connected_buyer", "connected"),
        ("busy", "attempted"),
        ("no_answer", "attempted"),
        ("not_placed", "unused"),
    ],
)
def test_the_outcome_says_whether_the_agent_spoke_to_somebody(outcome: str, ended: str) -> None:
    world = asking()
    answer(world)
    world.outcome(outcome)
    assert releases(world) == [ended]


def test_an_agent_who_was_deleted_since_gets_no_call_and_the_slot_is_given_back() -> None:
    world = asking()
    world.add("agent", 70, Agent(name="Ada"), version=2, deleted=True)
    answer(world)
    assert world.commands == []
    assert releases(world) == ["unused"]


def test_a_lead_that_stops_while_it_waits_withdraws_its_request() -> None:
    world = asking()
    world.act("opt_out")
    assert releases(world) == ["unused"]
    answer(world)
    assert world.commands == []
    assert releases(world) == ["unused", "unused"]
