"""Does each operation change a lead as its row of the table below says, column by column, in the sequence of precedence?

The lead was called once: it waits for a text that is due in two hours, or its call does not ring yet.
"""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Struct

from engine.contact.facts.person import Person
from engine.contact.requests import reactions
from schemas.contact import Call, Lead
from schemas.instant import HOUR, MINUTE
from schemas.records import Body, Company, Offer, OutgoingWebhook
from schemas.requests import LeadDeleteRequested, SmsReceived
from tests.engine.contact.world import KEY, NEW_YORK, NOON, NUMBER, World

START = {"id": "start", "kind": "wait", "duration": "10m"}
CALL = {"id": "call", "kind": "call"}
REST = {"id": "rest", "kind": "wait", "duration": "2h"}
TEXT = {"id": "text", "kind": "sms", "template": "Hi"}
BYE = {"id": "bye", "kind": "sms", "template": "Bye"}
HOOK = {"id": "hook", "kind": "webhook", "outgoing_webhook_id": 3}
OTHER = "+13055550199"


class Row(Struct, frozen=True):
    """One row of the table.

    `step`, `status`, `attempts` and `ends` (the end steps carried out by then) are those of a waiting lead without a
    callback; `callback`: a callback is kept; `fenced`: the open command is fenced; `after`: the step of a lead whose call
    was open, once its outcome has come (None: it has ended).
    """

    do: Callable[[World], Any]
    step: str | None
    status: str
    attempts: int
    ends: tuple[str, ...]
    callback: bool
    fenced: bool
    after: str | None


def expire(world: World) -> None:
    world.submit(hours_to_expire=1)
    world.wait(3600)


def reply(world: World) -> None:
    world.ask(SmsReceived(company_id=1, contact_key=KEY, body="yes", received_at=world.now))


def talk(world: World) -> None:
    draft = world._draft()
    person = Person(draft, 1, KEY)
    call = Call(id=7, uuid="c", company_id=1, contact_key=KEY, created_at=NOON, updated_at=NOON, number_called=NUMBER)
    reactions.start_inbound(person, call)
    reactions.end_inbound(person, call, connected=True)
    person.put()
    world._apply(draft)


def publish(world: World, **fields: Any) -> None:
    world.schedule(TEXT, end_steps=[], version=2, **fields)


def pause(world: World) -> None:
    publish(world, paused=True)
    world.update(data={"seen": True})


ROWS: dict[str, Row] = {
    "restart_schedule": Row(
        lambda world: world.submit(restart_schedule=True), "call", "scheduled", 0, (), True, False, "call"
    ),
    "move to another schedule": Row(
        lambda world: world.update(move_to_another_schedule_id=2), "other", "scheduled", 0, (), True, False, "other"
    ),
    "move to the same schedule": Row(
        lambda world: world.update(move_to_another_schedule_id=1), "call", "scheduled", 0, (), True, False, "call"
    ),
    "caller_move_to_end": Row(
        lambda world: world.act("move_to_end"), "bye", "running", 2, ("bye",), False, False, "bye"
    ),
    "schedule_stop": Row(lambda world: world.update(schedule_stop=True), None, "removed", 1, (), False, True, None),
    "caller_remove": Row(lambda world: world.act("remove"), None, "removed", 1, (), False, True, None),
    "expiry": Row(expire, "hook", "running", 1, ("hook",), True, False, "hook"),
    "attempts limit": Row(
        lambda world: world.submit(max_contact_attempts=1), "hook", "running", 1, ("hook",), True, False, "hook"
    ),
    "opt_out": Row(lambda world: world.act("opt_out"), None, "opt_out", 1, ("hook",), False, True, None),
    "blocked": Row(lambda world: world.update(blocked=True), None, "blocked", 1, ("hook",), False, True, None),
    "opted in again": Row(lambda world: world.update(opt_out=False), "text", "scheduled", 1, (), True, False, "text"),
    "unblocked": Row(lambda world: world.update(blocked=False), "text", "scheduled", 1, (), True, False, "text"),
    "conversion": Row(
        lambda world: world.update(buyer_converted=True), "bye", "running", 2, ("bye",), True, False, "bye"
    ),
    "inbound call": Row(talk, "text", "waiting", 1, (), False, True, "call"),
    "SMS reply": Row(reply, "text", "waiting", 1, (), True, False, "text"),
    "caller_id changed": Row(
        lambda world: world.update(caller_id=OTHER), "text", "scheduled", 1, (), True, True, "call"
    ),
    "schedule paused": Row(pause, "text", "scheduled", 1, (), True, False, "text"),
    "schedule version published": Row(publish, "text", "scheduled", 1, (), True, False, "text"),
}  # fmt: skip


def flying() -> World:
    """A lead whose call command is open."""
    world = World()
    world.add("outgoing_webhook", 3, OutgoingWebhook(name="crm", url="https://example.com"))
    world.schedule({**START, "duration": "5h"}, {**TEXT, "id": "other"}, record_id=2)
    world.schedule(START, CALL, REST, TEXT, end_steps=[BYE, HOOK])
    world.submit()
    world.wait(600)
    assert world.steps() == ["call"]
    return world


HELD = "schedule paused"
"""An operation that keeps a promise, and holds its call."""

PAUSES: dict[str, tuple[str, Callable[[bool], Body]]] = {
    "company_paused": ("company", lambda paused: Company(name="Sunny", time_zone=NEW_YORK, paused=paused)),
    "offer_paused": ("offer", lambda paused: Offer(name="Solar", lead_token="offer", time_zone=NEW_YORK, paused=paused)),
}


@pytest.mark.parametrize("reason", [*PAUSES, "schedule_paused"])
def test_each_pause_holds_a_promised_callback_which_is_made_once_it_ends(reason: str) -> None:
    world = standing()
    world.update(schedule_callback_at=world.now + HOUR)
    for paused in (True, False):
        if reason in PAUSES:
            record_type, body = PAUSES[reason]
            world.add(record_type, 1, body(paused), version=2 + (not paused))
        else:
            world.schedule(CALL, REST, TEXT, paused=paused, version=2 + (not paused))
        world.wait(3 * 3600)
        assert ("(callback)" in world.steps()) is not paused
        if paused:
            assert world.lead().status_wait == reason


def standing() -> World:
    """A lead that waits for its text, due in two hours."""
    world = flying()
    world.outcome("no_answer")
    world.wait(40)
    assert (world.lead().step, world.lead().attempts) == ("text", 1)
    return world


@pytest.mark.parametrize("name", ROWS)
def test_where_a_lead_stands_after_an_operation(name: str) -> None:
    row, world = ROWS[name], standing()
    row.do(world)
    lead = world.lead()
    assert (lead.step, lead.status, lead.attempts) == (row.step, row.status, row.attempts)
    assert tuple(world.steps()[1:]) == row.ends
    assert len(world.head().ledger) == 1 + row.ends.count("bye")  # the law forgets no contact


@pytest.mark.parametrize("name", ROWS)
def test_whether_a_promise_outlives_an_operation(name: str) -> None:
    row, world = ROWS[name], standing()
    world.update(schedule_callback_at=world.now + 3 * HOUR)
    row.do(world)
    assert (world.lead().callback_at is not None) == row.callback
    reported = {"callback.cancelled", "callback.fulfilled"} & set(world.fact_types())
    assert bool(reported) is not row.callback
    world.wait(4 * 3600)
    assert ("(callback)" in world.steps()) == (row.callback and name != HELD)


@pytest.mark.parametrize("name", ROWS)
def test_what_becomes_of_a_call_that_is_on_its_way(name: str) -> None:
    row, world = ROWS[name], flying()
    command = world.commands[0]
    row.do(world)
    assert bool(world.fences) == row.fenced
    ended = world.lead().status not in {"running", "queue", "scheduled", "waiting"}
    assert ended == (row.after is None)
    world.outcome("rejected_at_gate" if row.fenced else "no_answer", command)
    lead = world.lead()
    assert (lead.flight is not None and lead.flight.command_id == command.command_id, lead.step) == (False, row.after)
    assert len(world.head().ledger) == (0 if row.fenced else 1 + world.steps().count("bye"))
    if row.after is None:
        world.wait(30 * 86400)
        assert set(world.steps()[1:]) <= {"hook"}


def test_a_lead_that_is_deleted_is_gone_with_its_promise_and_the_ledger_stays() -> None:
    world = standing()
    world.update(schedule_callback_at=world.now + HOUR)
    world.ask(LeadDeleteRequested(company_id=1, contact_key=KEY, lead_id=world.lead().id))
    assert (world.lead_ids(), len(world.head().ledger), bool(world.fences)) == ([], 1, True)
    assert "callback.cancelled" in world.fact_types()


def test_a_moved_number_is_counted_by_its_own_ledger() -> None:
    world = standing()
    lead = world.update(caller_id=OTHER)
    assert (lead.contact_key, lead.attempts, len(world.head().ledger)) == (f"1|{OTHER}", 1, 1)
    assert world.head(f"1|{OTHER}").ledger == ()


def test_a_paused_schedule_holds_what_is_due_and_goes_on_where_it_was() -> None:
    world = standing()
    pause(world)
    world.wait(3 * 3600)
    assert (world.steps(), world.lead().status, world.lead().status_wait) == (["call"], "waiting", "schedule_paused")


def test_a_lead_on_its_way_stays_on_its_version() -> None:
    world = standing()
    publish(world)
    assert (world.lead().schedule_version, world.lead().step) == (1, "text")


# -- 3.8: the first line that applies decides --------------------------------------------------------------------------


def test_a_stop_goes_before_everything() -> None:
    world = standing()
    world.update(schedule_callback_at=world.now + MINUTE, next_action_at=world.now + MINUTE)
    world.act("opt_out")
    world.wait(86400)
    assert world.steps() == ["call", "hook"]


def test_what_is_on_its_way_goes_before_expiry_and_promise() -> None:
    world = flying()
    world.update(schedule_callback_at=world.now + MINUTE)
    expire(world)
    assert (world.steps(), world.lead().status) == (["call"], "running")


def test_expiry_ends_the_steps_and_a_promise_stands_alone() -> None:
    world = standing()
    world.update(schedule_callback_at=world.now + 2 * HOUR)
    expire(world)
    assert (world.lead().end_status, world.lead().status_wait) == ("expired", "callback_pending")
    world.wait(3600)
    world.outcome("unknown")
    world.outcome("accepted")
    assert (world.steps(), world.lead().status) == (["call", "(callback)", "hook"], "expired")


def test_a_promise_behind_the_expiry_is_shown_before_it_and_kept_after_it() -> None:
    world = standing()
    promised = world.now + 2 * HOUR
    world.submit(hours_to_expire=1)
    lead = world.update(schedule_callback_at=promised)

    assert lead.expires_at == promised - HOUR
    assert lead.next_action_at == promised, "a promised callback is shown, also behind the expiry"
    world.wait(3600)
    assert (world.lead().next_action_at, world.lead().end_status) == (promised, "expired")


def test_a_promise_goes_before_an_explicit_time_and_that_before_the_step_s_own() -> None:
    world = standing()
    world.update(schedule_callback_at=world.now + 5 * MINUTE, next_action_at=world.now + 2 * MINUTE)
    world.wait(300)
    assert world.steps() == ["call", "(callback)"]
    alone = standing()
    lead: Lead = alone.update(next_action_at=alone.now + 2 * MINUTE)
    assert (lead.next_action_at, lead.requested_next_action_at) == (alone.now + 2 * MINUTE, alone.now + 2 * MINUTE)
    alone.wait(120)
    assert (alone.steps(), alone.lead().requested_next_action_at) == (["call", "text"], None)


def test_an_explicit_time_is_for_the_next_step_only_and_forgotten_by_a_new_run() -> None:
    world = standing()
    world.update(next_action_at=world.now + 2 * HOUR)
    assert world.submit(restart_schedule=True).requested_next_action_at is None
