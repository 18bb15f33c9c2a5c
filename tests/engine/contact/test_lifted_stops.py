"""What resumes once a suppression is lifted or a rule overridden? Only what was requested by name."""

from collections.abc import Callable
from typing import Any

import pytest

from engine.partition.draft import RefusedError
from schemas.commands import HangUp, PlaceCall
from schemas.contact import Lead
from schemas.instant import HOUR
from schemas.records import Company
from schemas.requests import (
    CallProgressed,
    CallStartRequested,
    ContactBlockRequested,
    LeadDeleteRequested,
    SmsReceived,
    UnsubscribeRequested,
)
from tests.engine.contact.world import KEY, NEW_YORK, NOON, NUMBER, World, at

CALL = {"id": "call", "kind": "call"}
TEXT = {"id": "text", "kind": "sms", "template": "Hi"}
REST = {"id": "rest", "kind": "wait", "duration": "1h"}


def stopped(how: str, **fields: Any) -> tuple[World, Lead]:
    """Return a world whose lead was stopped before its second step."""
    world = World()
    world.schedule(TEXT, REST, CALL, **fields)
    world.submit()
    world.outcome("delivered")
    return world, world.update(world.lead(), **{how: True})


@pytest.mark.parametrize("how", ["blocked", "opt_out"])
def test_nothing_resumes_by_itself(how: str) -> None:
    world, _ = stopped(how)
    world.update(world.lead(), **{how: False})
    world.wait(2 * 3600)

    assert (world.lead().status, world.steps()) == (how, ["text"])


@pytest.mark.parametrize("how", ["blocked", "opt_out"])
def test_a_lead_that_is_to_resume_goes_on_where_it_stood(how: str) -> None:
    world, before = stopped(how, max_contact_attempts=5)
    world.wait(600)

    lead = world.update(world.lead(), **{how: False, "resume_on_unblock": True})

    assert (world.steps(), lead.next_action_at) == (["text"], NOON + HOUR)
    assert (lead.status, lead.step, lead.enrolment, lead.attempts) == ("scheduled", "call", before.enrolment, 1)
    world.wait(50 * 60)
    assert (world.steps(), world.lead().attempts) == (["text", "call"], 2)
    assert len({command.command_id for command in world.commands}) == 2


LAST_WAIT = {"id": "last", "kind": "wait", "duration": "9d"}
ANSWER = {"id": "answer", "kind": "wait_for", "event": "call.inbound_received", "timeout": "2d", "on_match": "call"}
PLANS: dict[str, tuple[list[dict[str, Any]], dict[str, Any], int, list[str]]] = {
    "a step behind a wait": ([LAST_WAIT, CALL], {}, 9 * 24, ["call"]),
    "a wait at the end of a schedule": ([TEXT, LAST_WAIT], {}, 9 * 24, ["text"]),
    "an event that is waited for": ([ANSWER, CALL], {}, 48, ["call"]),
    "a retry": ([CALL | {"retry": {"no_answer": {"delay": "5h"}}}], {"outcome": "no_answer"}, 5, ["call", "call"]),
    "a requested instant": ([CALL], {"next_action_at": NOON + 7 * HOUR}, 7, ["call"]),
    "a callback": ([CALL], {"schedule_callback_at": NOON + 6 * HOUR}, 6, ["(callback)"]),
    "a callback before a step": ([LAST_WAIT, CALL], {"schedule_callback_at": NOON + 6 * HOUR}, 6, ["(callback)"]),
}
"""What was planned, the steps, the lead, in how many hours something happens, and which steps were done by then."""


@pytest.mark.parametrize(("steps", "fields", "hours", "done"), PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("how", ["blocked", "opt_out"])
def test_what_was_planned_is_planned_again(
    how: str, steps: list[dict[str, Any]], fields: dict[str, Any], hours: int, done: list[str]
) -> None:
    asked = dict(fields)
    outcome = asked.pop("outcome", None)
    worlds = []
    for is_stopped in (False, True):
        world = World()
        world.schedule(*steps)
        world.submit(**asked)
        if outcome is not None or steps[0] is TEXT:
            world.outcome(outcome or "delivered")
        world.wait(1800)
        if is_stopped:
            world.update(world.lead(), **{how: True})
            world.wait(1800)
            world.update(world.lead(), **{how: False, "resume_on_unblock": True})
        else:
            world.wait(1800)
        worlds.append(world)
    untouched, lifted = (world.lead() for world in worlds)
    same = ("step", "status", "status_wait", "next_action_at", "callback_at", "step_attempts", "retries", "attempts")
    assert [getattr(lifted, name) for name in same] == [getattr(untouched, name) for name in same]
    before = worlds[1].steps()
    worlds[1].wait_until(NOON + hours * HOUR - 1)
    assert worlds[1].steps() == before
    worlds[1].wait_until(NOON + hours * HOUR)
    assert worlds[1].steps() == done


def test_what_was_planned_for_the_time_of_the_stop_happens_at_once() -> None:
    world, _ = stopped("blocked")
    world.wait(2 * 3600)
    world.update(blocked=False, resume_on_unblock=True)
    assert world.steps() == ["text", "call"]


def test_a_callback_whose_time_has_passed_does_not_come_back() -> None:
    world = World()
    world.schedule(LAST_WAIT, CALL)
    world.submit(schedule_callback_at=NOON + HOUR)
    world.update(blocked=True)
    world.wait(2 * 3600)
    world.update(blocked=False, resume_on_unblock=True)
    assert (world.lead().callback_at, world.lead().next_action_at) == (None, NOON + 9 * 24 * HOUR)


def test_who_had_expired_meanwhile_expires_when_it_resumes() -> None:
    world, _ = stopped("blocked", hours_to_expire=5)
    world.wait(6 * 3600)

    assert world.update(blocked=False, resume_on_unblock=True).status == "expired"
    assert world.steps() == ["text"]


def test_a_lead_does_not_resume_while_another_stop_holds() -> None:
    world, _ = stopped("blocked")
    world.update(opt_out=True)

    assert world.update(blocked=False, resume_on_unblock=True).status == "opt_out"


def test_a_lead_that_was_at_its_end_already_stays_there() -> None:
    world = World()
    world.schedule(CALL, end_steps=[REST, TEXT])
    world.submit()
    world.outcome("no_answer")
    assert world.lead().ending

    world.update(blocked=True)

    assert world.update(blocked=False, resume_on_unblock=True).status == "blocked"


def test_resuming_is_refused_where_nothing_is_lifted() -> None:
    world, lead = stopped("blocked")

    with pytest.raises(RefusedError, match="goes with blocked=false or opt_out=false"):
        world.update(lead, resume_on_unblock=True)


@pytest.mark.parametrize(("keeps", "steps"), [(False, []), (True, ["(callback)"])])
def test_a_promised_call_outlives_a_move_to_the_end_where_that_is_asked_for(keeps: bool, steps: list[str]) -> None:
    world = World()
    world.schedule(REST, CALL)
    world.submit(schedule_callback_at=NOON + 2 * HOUR)

    world.act("move_to_end", keep_callback=keeps)
    world.wait(3 * 3600)

    assert world.steps() == steps


# -- the call under way ------------------------------------------------------------------------------------------------


def text_stop(world: World) -> None:
    world.ask(SmsReceived(company_id=1, contact_key=KEY, body="STOP", received_at=world.now))


STOPS: dict[str, Callable[[World], Any]] = {
    "blocked": lambda world: world.update(blocked=True),
    "an opt-out by a user": lambda world: world.update(opt_out=True),
    "an opt-out by the token": lambda world: world.act("opt_out"),
    "a text of STOP": lambda world: world.ask(
        SmsReceived(company_id=1, contact_key=KEY, body="STOP", received_at=world.now)
    ),
    "an unsubscribe link": lambda world: world.ask(UnsubscribeRequested(company_id=1, contact_key=KEY, channel="email")),
    "a block of the contact": lambda world: world.ask(ContactBlockRequested(company_id=1, contact_key=KEY, blocked=True)),
    "removed by the person": lambda world: world.act("remove"),
    "removed by a user": lambda world: world.update(schedule_stop=True),
    "deleted": lambda world: world.ask(LeadDeleteRequested(company_id=1, contact_key=KEY, lead_id=world.lead().id)),
    "another number": lambda world: world.update(caller_id="+13055550199"),
}


@pytest.mark.parametrize("how", STOPS)
@pytest.mark.parametrize(("state", "ends"), [(None, True), ("ringing", True), ("established", False)])
def test_a_stop_ends_a_call_that_is_ordered_or_rings_and_none_that_is_answered(how: str, state: Any, ends: bool) -> None:
    world = World()
    world.schedule(CALL)
    world.submit()
    call = world.commands[0]
    assert isinstance(call, PlaceCall)
    if state is not None:
        about: dict[str, Any] = {"company_id": 1, "contact_key": KEY, "lead_id": call.lead_id, "command_id": call.command_id}
        world.ask(CallProgressed(**about, state=state, occurred_at=world.now, call_id=call.call_id))

    STOPS[how](world)

    ordered = [one for one in world.commands if isinstance(one, HangUp)]
    assert [(one.call_command_id, one.only_unanswered) for one in ordered] == [(call.command_id, True)] * ends


@pytest.mark.parametrize("stop", ["blocked", "opt_out"])
def test_a_stop_ends_an_answered_call_only_where_that_is_asked_for(stop: str) -> None:
    world = World()
    world.schedule(CALL)
    world.submit()
    fields: dict[str, Any] = {stop: True, "hangup_live": True}
    world.update(**fields)
    ordered = [one for one in world.commands if isinstance(one, HangUp)]
    assert [(one.call_command_id, one.only_unanswered) for one in ordered] == [(world.commands[0].command_id, False)]


def test_an_opt_out_of_texts_alone_ends_no_call() -> None:
    world = World()
    world.add("company", 1, Company(name="Sunny", time_zone=NEW_YORK, optout_scope="channel"), version=2)
    world.schedule(CALL)
    world.submit()
    text_stop(world)
    assert world.hung_up() == []


def test_the_outcome_that_opts_out_ends_no_call() -> None:
    world = World()
    world.schedule(CALL)
    world.submit()
    call = world.commands[0]
    assert isinstance(call, PlaceCall)
    world.outcome("opted_out", call, call_id=call.call_id)
    assert world.hung_up() == []


def test_hanging_up_is_refused_where_nobody_is_blocked() -> None:
    world, lead = stopped("blocked")

    with pytest.raises(RefusedError, match="goes with blocked=true or opt_out=true"):
        world.update(lead, blocked=False, hangup_live=True)


# -- past the law ------------------------------------------------------------------------------------------------------

NIGHT = at("2026-07-15 23:00")


def test_a_written_reason_overrides_the_hours_of_the_law_and_is_kept() -> None:
    world = World(now=NIGHT)
    world.schedule(CALL)
    lead = world.submit()
    asked: dict[str, Any] = {"company_id": 1, "contact_key": KEY, "lead_id": lead.id, "caller_id": NUMBER}
    with pytest.raises(RefusedError) as refused:
        world.ask(CallStartRequested(**asked, force=True))
    assert refused.value.code == "quiet_hours"

    why = "She asked to be called at 23:00, see ticket 17"
    world.ask(CallStartRequested(**asked, override_reason=why, override_key_id=4))

    (order,) = world.commands
    assert isinstance(order, PlaceCall)
    assert order.not_after is not None
    assert order.not_after > NIGHT
    (fact,) = [fact for fact in world.facts if fact.type == "law.overridden"]
    assert (fact.call_id, fact.data) == (order.call_id, {"reason": why, "key_id": 4})


def test_no_reason_overrides_an_opt_out() -> None:
    world = World(now=NIGHT)
    world.schedule(CALL)
    lead = world.update(world.submit(), opt_out=True)

    with pytest.raises(RefusedError) as refused:
        world.ask(CallStartRequested(company_id=1, contact_key=KEY, lead_id=lead.id, override_reason="please"))

    assert refused.value.code == "suppressed_contact"
