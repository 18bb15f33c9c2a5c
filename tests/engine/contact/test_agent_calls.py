"""Does a step that names agents wait for one, and is the call that agent's until its outcome?"""

from typing import Any

import pytest

from schemas.commands import PlaceCall
from schemas.contact import CallbackOwner
from schemas.instant import HOUR, MINUTE, SECOND
from schemas.records import Agent, Buyer
from schemas.requests import SlotAnswered, SlotReleased, SlotRequested
from tests.engine.contact.test_slots import to_account
from tests.engine.contact.world import KEY, NOON, World

CALL = {"id": "call", "kind": "call", "connect": {"agents": {"agent_ids": [70], "call_center_ids": [5]}}}
TEXT = {"id": "text", "kind": "sms", "template": "Hi"}
EXIT = {"id": "exit", "kind": "exit"}


def asking(**agent: Any) -> World:
    world = World()
    world.add("agent", 70, Agent(name="Ada", **agent))
    world.schedule(CALL, TEXT)
    world.submit()
    return world


def answer(world: World, *, granted: bool = True, agent_id: int = 70) -> None:
    asked = next(message for message in reversed(to_account(world)) if isinstance(message, SlotRequested))
    given = SlotAnswered(
        company_id=1,
        contact_key=KEY,
        lead_id=asked.lead_id,
        request_id=asked.request_id,
        granted=granted,
        agent_id=agent_id if granted else None,
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


def promised(*, owner: CallbackOwner | None = None, **buyer: Any) -> World:
    """Return a world in which a call was promised for one o'clock, on a schedule that connects to agents."""
    world = World()
    world.add("agent", 70, Agent(name="Ada"))
    world.add("buyer", 1, Buyer(name="Bob", number="+13055550171", **buyer))
    world.schedule({"id": "rest", "kind": "wait", "duration": "1d"}, CALL)
    world.submit()
    world.update(schedule_callback_at=NOON + HOUR, callback_owner=owner)
    return world


def test_a_callback_waits_until_an_agent_of_its_schedule_is_reserved() -> None:
    world = promised()
    world.wait(3600)
    asked = to_account(world)[-1]
    assert isinstance(asked, SlotRequested)
    assert (asked.agent_ids, asked.call_center_ids, world.commands) == ((70,), (5,), [])
    answer(world)
    (command,) = world.commands
    assert isinstance(command, PlaceCall)
    assert (command.step_id, command.agent_id) == ("(callback)", 70)
    assert (world.call(command.call_id).origin, world.call(command.call_id).agent_id) == ("callback", 70)
    world.outcome("connected_human")
    assert releases(world) == ["connected"]


@pytest.mark.parametrize("steps", [[EXIT], [EXIT, CALL]], ids=["fewer steps than end steps", "a call among the steps"])
def test_a_callback_among_end_steps_goes_to_the_agents_of_the_end_step(steps: list[dict[str, Any]]) -> None:
    world = World()
    last = {"id": "last", "kind": "call", "await_disposition": "2h", "connect": {"agents": {"agent_ids": [72]}}}
    world.add("agent", 72, Agent(name="Cyd"))
    world.schedule(*steps, end_steps=[{"id": "rest", "kind": "wait", "duration": "1m"}, last])
    world.submit()
    world.wait(60)
    answer(world, agent_id=72)
    world.outcome("connected_human")
    assert (world.lead().ending, world.lead().status_wait) == (True, "awaiting_disposition")
    before = len(to_account(world))
    world.update(schedule_callback_at=NOON + HOUR)
    world.wait(3600)
    asked = to_account(world)[before:]
    assert [one.agent_ids for one in asked if isinstance(one, SlotRequested)] == [(72,)]


def test_a_callback_of_an_owner_goes_to_agents_once_the_owners_minutes_are_over() -> None:
    world = promised(owner=CallbackOwner(buyer_id=1), paused=True)
    world.wait_until(NOON + HOUR + 15 * MINUTE - SECOND)
    assert (to_account(world), world.commands) == ([], [])
    world.wait(1)
    asked = to_account(world)[-1]
    assert isinstance(asked, SlotRequested)
    assert asked.agent_ids == (70,)
    answer(world)
    (command,) = world.commands
    assert isinstance(command, PlaceCall)
    assert (command.agent_id, command.buyer_id) == (70, None)


def test_a_callback_of_an_owner_who_is_there_asks_no_agent() -> None:
    world = promised(owner=CallbackOwner(buyer_id=1))
    world.wait(3600)
    (command,) = world.commands
    assert isinstance(command, PlaceCall)
    assert (command.buyer_id, command.agent_id, to_account(world)) == (1, None, [])


def test_a_callback_that_was_cancelled_gives_its_agent_back() -> None:
    world = promised()
    world.wait(3600)
    world.update(opt_out=True)
    assert world.commands == []
    assert [type(message) for message in to_account(world)] == [SlotRequested, SlotReleased]
