"""Does an inbound call hold back outbound contacts, fulfil a callback, and move the schedule on?"""

from typing import Any

import pytest

from engine.contact.facts.person import Person
from engine.contact.requests import reactions
from schemas.contact import Call
from schemas.instant import HOUR, MINUTE, SECOND
from schemas.requests import CallProgressed
from tests.engine.contact.world import KEY, NOON, NUMBER, World

CALL = {"id": "call", "kind": "call"}
TEXT = {"id": "text", "kind": "sms", "template": "Hi"}
REST = {"id": "rest", "kind": "wait", "duration": "1h"}
EXIT = {"id": "exit", "kind": "exit"}


def ring(world: World, *, lead_id: int | None = None) -> None:
    """Let the person call one of our numbers."""
    _tell(world, reactions.start_inbound, lead_id)


def hang_up(world: World, *, connected: bool, lead_id: int | None = None) -> None:
    _tell(world, lambda person, call: reactions.end_inbound(person, call, connected=connected), lead_id)


def _tell(world: World, what: Any, lead_id: int | None) -> None:
    draft = world._draft()
    person = Person(draft, 1, KEY)
    call = Call(id=7, uuid="c", company_id=1, contact_key=KEY, created_at=world.now, updated_at=world.now,
        lead_id=lead_id or world.lead_ids()[-1], direction="inbound", number_called=NUMBER)  # fmt: skip
    what(person, call)
    person.put()
    world._apply(draft)


def on_schedule(*steps: dict[str, Any], **fields: Any) -> World:
    world = World()
    world.schedule(*(steps or (REST, CALL)), **fields)
    world.submit()
    return world


@pytest.mark.parametrize("step", [CALL, TEXT, {"id": "mail", "kind": "email", "subject": "S", "template": "B"}])
def test_nothing_goes_out_while_the_person_is_on_the_line(step: dict[str, Any]) -> None:
    world = World()
    world.schedule(REST, step)
    world.submit(email="ann@example.com")
    world.wait(3599)
    ring(world)
    world.wait(1200)
    assert (world.steps(), world.lead().status, world.lead().status_wait) == ([], "waiting", "inbound_pause")
    hang_up(world, connected=False)
    world.wait(60)
    assert world.steps() == [step["id"]]


def test_who_rang_in_vain_is_called_back_after_a_minute_before_others() -> None:
    world = on_schedule()
    world.wait(3590)
    ring(world)
    world.wait(20)
    hang_up(world, connected=False)
    lead = world.lead()
    assert (lead.status_wait, lead.next_action_at, lead.urgency_class) == ("inbound_missed", world.now + MINUTE, 1)
    world.wait(60)
    assert (world.steps(), world.commands[0].urgency_class) == (["call"], 1)


def test_who_rang_in_vain_long_before_the_next_step_is_not_called_sooner() -> None:
    world = on_schedule()
    ring(world)
    hang_up(world, connected=False)
    assert (world.lead().next_action_at, world.lead().urgency_class) == (NOON + HOUR, 2)


def test_after_a_talk_contacts_rest_for_four_hours() -> None:
    world = on_schedule()
    ring(world)
    world.wait(120)
    hang_up(world, connected=True)
    lead = world.lead()
    assert (lead.status, lead.status_wait, lead.next_action_at) == ("waiting", "inbound_pause", world.now + 4 * HOUR)
    assert (lead.connected, lead.connected_call_id, lead.attempts) == (True, 7, 0)
    assert world.update(next_action_at=world.now + MINUTE).status_wait is None
    world.wait(60)
    assert world.steps() == ["call"]


@pytest.mark.parametrize(
    ("reaction", "status", "schedule_id"),
    [
        ({"action": "exit"}, "completed_connected", 1),
        ({"action": "move", "schedule_id": 2}, "scheduled", 2),
        ({"action": "move", "schedule_id": 99}, "completed_connected", 1),
        ({"delay": "30m"}, "scheduled", 1),
    ],
)
def test_a_schedule_says_what_a_talk_does(reaction: dict[str, Any], status: str, schedule_id: int) -> None:
    world = World()
    world.schedule({**REST, "duration": "2h"}, TEXT, record_id=2)
    world.schedule(REST, CALL, on_inbound_connected=reaction)
    world.submit()
    ring(world)
    hang_up(world, connected=True)
    assert (world.lead().status, world.lead().schedule_id) == (status, schedule_id)


def test_a_talk_keeps_the_promise_of_a_call() -> None:
    world = World()
    world.schedule(REST, CALL)
    world.submit(schedule_callback_at=NOON + 30 * MINUTE)
    ring(world)
    hang_up(world, connected=True)
    assert "callback.fulfilled" in world.fact_types()
    assert world.lead().callback_at is None
    world.wait(5 * 3600)
    assert world.steps() == ["call"]


def test_a_promise_is_held_while_the_person_is_on_the_line_and_kept_when_they_reached_nobody() -> None:
    world = World()
    world.schedule(REST, CALL)
    world.submit(schedule_callback_at=NOON + 5 * MINUTE)
    ring(world)
    world.wait(400)
    assert world.steps() == []
    hang_up(world, connected=False)
    assert world.lead().next_action_at == world.now + MINUTE
    world.wait(59)
    assert world.steps() == []
    world.wait(1)
    assert world.steps() == ["(callback)"]


def test_a_call_that_does_not_ring_yet_is_called_off_and_made_later() -> None:
    world = on_schedule(CALL)
    ring(world)
    assert [fence.lead_ids for fence in world.fences] == [(world.lead().id,)] * 4
    world.outcome("rejected_at_gate")
    lead = world.lead()
    assert (lead.attempts, world.head().ledger) == (0, ())
    world.wait(600)
    assert len(world.commands) == 1
    hang_up(world, connected=False)
    world.wait(60)
    assert world.steps() == ["call", "call"]


def test_a_call_that_rings_is_let_be() -> None:
    world = on_schedule(CALL)
    lead = world.lead()
    command = world.commands[0]
    world.ask(CallProgressed(company_id=1, contact_key=KEY, lead_id=lead.id, command_id=command.command_id, state="ringing",
        occurred_at=world.now, call_id=lead.attempted_call_id))  # fmt: skip
    ring(world)
    assert world.fences == []


def test_a_call_of_whose_end_nobody_tells_holds_for_four_hours_at_most() -> None:
    world = on_schedule()
    ring(world)
    world.wait(4 * 3600 + 16 * 60)
    assert world.steps() == ["call"]


def test_a_trigger_or_a_step_reacts_to_the_call_itself() -> None:
    row = {"on": "exit", "type": "inbound_connected", "goto": "text"}
    world = on_schedule({**REST, "duration": "9h"}, EXIT, TEXT, triggers=[row])
    ring(world)
    hang_up(world, connected=True)
    assert (world.steps(), world.lead().schedule_trigger_type) == (["text"], "inbound_connected")
    ask = {"id": "ask", "kind": "wait_for", "event": "call.inbound_received", "timeout": "1d", "on_timeout": "exit"}
    waiting = on_schedule(ask, {"id": "tag", "kind": "tag", "add": ["called"]}, TEXT, EXIT)
    ring(waiting)
    assert waiting.lead().data == {"tags": ["called"]}
    assert (waiting.steps(), waiting.lead().status_wait) == ([], "inbound_pause")
    hang_up(waiting, connected=False)
    waiting.wait(60)
    assert waiting.steps() == ["text"]


def test_an_opted_out_person_may_call_and_nothing_goes_out() -> None:
    world = on_schedule()
    world.act("opt_out")
    ring(world)
    hang_up(world, connected=True)
    world.wait(30 * 86400)
    assert (world.lead().status, world.commands) == ("opt_out", [])


def test_every_lead_of_the_person_rests_and_none_of_anybody_else() -> None:
    world = World()
    world.schedule(REST, CALL, duplicate_policy="create")
    first, second = world.submit(), world.submit()
    other = world.submit(contact_key="1|+13055550199", caller_id="+13055550199")
    ring(world, lead_id=first.id)
    hang_up(world, connected=True, lead_id=first.id)
    assert [world.lead(one.id).status_wait for one in (first, second, other)] == ["inbound_pause"] * 2 + [None]
    assert [world.lead(one.id).connected for one in (first, second)] == [True, False]
    world.wait(4 * 3600 + 30)
    assert world.steps().count("call") == 2
    assert world.commands[-1].decided_at >= NOON + 4 * HOUR - SECOND
