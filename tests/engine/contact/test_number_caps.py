"""Does a call from a number with caps ask for its use, wait for its reset, and count where it may not wait?"""

from typing import Any

import pytest

from schemas.commands import PlaceCall
from schemas.instant import HOUR
from schemas.records import Number
from schemas.requests import CallStartRequested, SlotAnswered, SlotReleased, SlotRequested
from tests.engine.contact.test_slots import to_account
from tests.engine.contact.world import KEY, NEW_YORK, NOON, NUMBER, World

OURS, OTHER = "+12125550150", "+12125550151"
CAPS: dict[str, Any] = {"caps": {"attempt_daily": 10}}
CALL = {"id": "call", "kind": "call"}


def world_with(*steps: dict[str, Any], submits: bool = True, **number: Any) -> World:
    world = World()
    world.add("number", 5, Number(number=OURS, **{**CAPS, **number}))
    world.schedule(*(steps or (CALL,)))
    if submits:
        world.submit()
    return world


def asked(world: World) -> SlotRequested:
    found = next(message for message in reversed(to_account(world)) if isinstance(message, SlotRequested))
    assert isinstance(found, SlotRequested)
    return found


def answer(world: World, *, number_id: int | None = 5, granted: bool = True, **fields: Any) -> None:
    about: dict[str, Any] = {"lead_id": asked(world).lead_id, "request_id": asked(world).request_id, **fields}
    given = SlotAnswered(company_id=1, contact_key=KEY, granted=granted, number_id=number_id, **about)
    world.ask(given, stream="accounts/0")


def ends(world: World) -> list[str]:
    return [message.ended for message in to_account(world) if isinstance(message, SlotReleased)]


@pytest.mark.parametrize("caps", [CAPS, {"caps": {}, "concurrency_cap_limit": 1}])
def test_a_step_asks_before_it_calls_from_a_number_with_a_cap(caps: dict[str, Any]) -> None:
    world = world_with(**caps)
    request = asked(world)
    assert (request.number_id, request.is_promised, request.is_placed, world.commands) == (5, False, False, [])
    answer(world)
    (command,) = world.commands
    assert isinstance(command, PlaceCall)
    assert (command.from_number, command.buyer_id) == (OURS, None)
    world.outcome("no_answer")
    assert ends(world) == ["attempted"]


def test_a_number_without_caps_asks_nobody() -> None:
    world = world_with(caps={})
    assert (to_account(world), len(world.commands)) == ([], 1)


def test_the_number_of_the_step_counts_where_it_names_one() -> None:
    world = world_with({**CALL, "from_number": OTHER}, submits=False)
    world.add("number", 6, Number(number=OTHER))
    world.submit()
    assert (to_account(world), len(world.commands)) == ([], 1)


def test_a_lead_whose_number_is_used_up_waits_for_its_reset() -> None:
    world = world_with()
    answer(world, granted=False, reason="number_cap", until=NOON + HOUR)
    lead = world.lead()
    assert (lead.status, lead.status_wait, lead.next_action_at) == ("waiting", "number_cap", NOON + HOUR)
    world.wait(3600)
    assert asked(world).request_id != to_account(world)[0].request_id


def test_a_changed_cap_wakes_the_leads_that_wait_for_it() -> None:
    world = world_with()
    answer(world, granted=False, reason="number_cap", until=NOON + HOUR)
    world.add("number", 5, Number(number=OURS), version=2)
    world.wait(1)
    assert len(world.commands) == 1


def test_a_grant_for_a_number_that_no_longer_calls_is_given_back_and_the_new_number_asked_for() -> None:
    world = world_with()
    world.add("number", 6, Number(number=OTHER, **CAPS))
    world.add("number", 5, Number(number=OURS, paused=True, **CAPS), version=2)
    first = asked(world)
    answer(world)
    assert (asked(world).number_id, asked(world).request_id != first.request_id, world.commands) == (6, True, [])
    assert ends(world) == ["unused"]
    answer(world, number_id=6)
    (command,) = world.commands
    assert isinstance(command, PlaceCall)
    assert command.from_number == OTHER


def test_a_promised_call_is_counted_and_does_not_wait() -> None:
    world = world_with({"id": "rest", "kind": "wait", "duration": "1d"})
    world.update(schedule_callback_at=NOON + HOUR)
    world.wait(3600)
    assert len(world.commands) == 1
    request = asked(world)
    assert (request.number_id, request.is_placed, request.request_id) == (5, True, world.commands[0].command_id)
    world.outcome("connected_human")
    assert ends(world) == ["attempted"]


def test_a_call_by_hand_is_counted_and_does_not_wait() -> None:
    world = world_with({"id": "rest", "kind": "wait", "duration": "1d"}, submits=False)
    start = CallStartRequested(company_id=1, contact_key=KEY, caller_id=NUMBER, from_number=OURS, zones=(NEW_YORK,))
    world.ask(start)
    request = asked(world)
    assert (request.number_id, request.is_placed, request.agent_ids) == (5, True, ())
    assert request.request_id == world.commands[0].command_id
    world.outcome("busy")
    assert ends(world) == ["attempted"]
