"""What does an update do to a lead's location, plan and contact?"""

from typing import Any

import pytest

from engine.partition.draft import RefusedError
from schemas.instant import DAY, HOUR, SECOND, Instant
from schemas.requests import LeadDeleteRequested, LeadUpdateRequested
from tests.engine.contact.world import KEY, NOON, World, at

CALL = {"id": "call", "kind": "call"}
TEXT = {"id": "text", "kind": "sms", "template": "Hi"}
REST = {"id": "rest", "kind": "wait", "duration": "1h"}
OTHER = "+12125550177"


@pytest.fixture
def world() -> World:
    made = World()
    made.schedule(REST, CALL, REST | {"id": "rest-2"}, TEXT)
    made.schedule(TEXT, record_id=2)
    return made


def test_fields_are_merged_and_null_deletes(world: World) -> None:
    world.submit(data={"a": 1, "b": 2}, columns={"country": "US", "sub_id": "x"})
    lead = world.update(data={"a": None, "c": [3]}, columns={"sub_id": None}, lead_priority=5.0)
    assert (lead.data, lead.columns, lead.lead_priority) == ({"b": 2, "c": [3]}, {"country": "US"}, 5.0)
    assert world.answer is not None
    assert (world.answer.status, world.answer.record_id) == (200, lead.id)


def test_every_change_raises_the_version_by_one(world: World) -> None:
    lead = world.submit()
    assert world.update(lead, data={"a": 1}).version == lead.version + 1


@pytest.mark.parametrize(
    ("moment", "planned"),
    [(NOON + 2 * HOUR, NOON + 2 * HOUR), (at("2026-07-15 22:00"), at("2026-07-16 08:00")), (None, NOON + HOUR)],
)
def test_the_next_action_can_be_moved(world: World, moment: Instant | None, planned: Instant) -> None:
    world.submit()
    assert world.update(next_action_at=moment).next_action_at == planned


def test_a_next_action_in_the_past_is_now(world: World) -> None:
    world.submit()
    world.update(next_action_at=NOON - DAY)
    assert world.steps() == ["call"]


def test_a_next_action_asked_for_during_a_call_is_that_of_the_step_behind_it(world: World) -> None:
    world.submit()
    world.wait(3600)
    world.update(next_action_at=world.now + 600_000)
    world.outcome("no_answer")
    assert (world.lead().step, world.lead().next_action_at) == ("text", world.now + 600_000)


def test_a_wait_behind_the_last_step_is_not_made_twice(world: World) -> None:
    world.schedule(TEXT, REST, version=2)
    world.submit()
    world.outcome("delivered")
    world.wait(1800)
    world.update(data={"a": 1})
    assert world.lead().next_action_at == NOON + HOUR
    world.update(next_action_at=world.now + 60_000)
    world.wait(60)
    assert world.lead().status == "completed_attempted"


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"next_action_at": NOON + 367 * DAY}, "validation_failed", "next_action_at"),
        ({"move_to_another_schedule_id": 99}, "validation_failed", "move_to_another_schedule_id"),
        ({"caller_id": None}, "validation_failed", "caller_id"),
    ],
)
def test_what_cannot_be_is_refused_by_field(world: World, fields: dict[str, Any], code: str, field: str) -> None:
    world.submit()
    with pytest.raises(RefusedError) as refused:
        world.update(**fields)
    assert (refused.value.code, list(refused.value.errors)) == (code, [field])


def test_a_lead_that_has_ended_has_no_next_action(world: World) -> None:
    world.submit()
    world.update(schedule_stop=True)
    assert world.lead().status == "removed"
    with pytest.raises(RefusedError) as refused:
        world.update(next_action_at=NOON + HOUR)
    assert refused.value.code == "lead_not_live"


def test_a_lead_that_was_stopped_can_be_started_again(world: World) -> None:
    world.submit()
    world.update(schedule_stop=True)
    lead = world.update(schedule_start=True)
    assert (lead.status, lead.enrolment, lead.next_action_at) == ("scheduled", 2, NOON + HOUR)


def test_moving_to_another_schedule_begins_it_with_fresh_attempts(world: World) -> None:
    world.submit()
    world.wait(3600)
    world.outcome("no_answer")
    lead = world.update(move_to_another_schedule_id=2)
    assert (lead.schedule_id, lead.enrolment, lead.attempts, world.steps()) == (2, 2, 1, ["call", "text"])
    assert len(world.head().ledger) == 2


def test_moving_to_the_same_schedule_restarts_it(world: World) -> None:
    world.submit()
    world.wait(1800)
    lead = world.update(move_to_another_schedule_id=1)
    assert (lead.enrolment, lead.next_action_at) == (2, world.now + HOUR)


def test_an_outcome_of_an_earlier_run_is_recorded_and_moves_nothing(world: World) -> None:
    world.submit()
    world.wait(3600)
    lead = world.update(move_to_another_schedule_id=2)
    assert (lead.status, lead.step, world.steps()) == ("running", None, ["call"])
    world.outcome("not_placed")
    lead = world.lead()
    assert (world.steps(), lead.attempts, lead.step) == (["call", "text"], 1, "text")


def test_who_opted_out_cannot_be_put_on_a_schedule(world: World) -> None:
    world.submit()
    world.update(opt_out=True)
    with pytest.raises(RefusedError) as refused:
        world.update(schedule_start=True)
    assert refused.value.code == "suppressed_contact"
    assert world.update(opt_out=False, schedule_start=True).status == "scheduled"


def test_new_zones_replan_the_lead(world: World) -> None:
    world.now = at("2026-07-15 20:30")
    world.submit(next_action_at=at("2026-07-15 20:45"))
    lead = world.update(zones=("America/Denver",), zone_source="stated")
    assert lead.next_action_at == at("2026-07-15 20:45")
    lead = world.update(zones=("Europe/Berlin",))
    assert lead.next_action_at == at("2026-07-16 08:00", "Europe/Berlin")


def test_a_conversion_ends_the_schedule_unless_it_says_otherwise(world: World) -> None:
    world.submit()
    assert world.update(buyer_converted=True).status == "completed_converted"
    world.schedule(REST, CALL, record_id=3, on_conversion="continue")
    world.submit(schedule_id=3)
    assert world.update(offer_converted=True).status == "scheduled"


def test_a_lead_moves_to_the_contact_of_its_new_number(world: World) -> None:
    lead = world.submit(data={"a": 1})
    world.ask(LeadUpdateRequested(company_id=1, contact_key=KEY, lead_id=lead.id, caller_id=OTHER))
    moved = world.lead(lead.id)
    assert (moved.contact_key, moved.caller_id, moved.data) == (f"1|{OTHER}", OTHER, {"a": 1})
    assert (moved.status, moved.next_action_at) == ("scheduled", lead.next_action_at)
    assert moved.version > lead.version
    assert (world.head().lead_ids, world.head().moved) == ((), {str(lead.id): f"1|{OTHER}"})
    assert world.head(f"1|{OTHER}").lead_ids == (lead.id,)
    world.wait(3600)
    assert [command.contact_key for command in world.commands] == [f"1|{OTHER}"]


def test_what_still_arrives_at_the_old_contact_is_forwarded(world: World) -> None:
    lead = world.submit()
    world.update(lead, caller_id=OTHER)
    world.ask(LeadUpdateRequested(company_id=1, contact_key=KEY, lead_id=lead.id, data={"late": True}))
    assert world.answer is not None
    assert world.answer.status == 202
    assert world.lead(lead.id).data == {"late": True}
    world.ask(LeadDeleteRequested(company_id=1, contact_key=KEY, lead_id=lead.id))
    assert world.lead_ids() == []


def test_a_lead_that_moves_during_a_call_drops_it_and_the_old_number_keeps_the_attempt(world: World) -> None:
    lead = world.submit()
    world.wait(3600)
    world.update(lead, caller_id=OTHER)
    assert world.fences[-1].lead_ids == (lead.id,)
    first = world.commands[0]
    assert world.hung_up() == [first.command_id]
    world.wait(30)
    assert (world.steps(), world.lead(lead.id).status_wait) == (["call"], "awaiting_outcome")
    assert [entry.command_id for entry in world.head().ledger] == [first.command_id]
    world.outcome("invalid_number", first, call_id=lead.attempted_call_id or 0)
    assert world.steps() == ["call", "call"]
    assert len({command.command_id for command in world.commands}) == 3
    assert world.head(f"1|{OTHER}").disabled_until == {}
    assert world.lead(lead.id).status == "running"


def test_a_lead_that_moves_during_a_call_that_nobody_reports_is_called_once_that_is_given_up(
    world: World,
) -> None:
    lead = world.submit()
    world.wait(3600)
    flight = world.lead(lead.id).flight
    assert flight is not None
    world.update(lead, caller_id=OTHER)
    world.wait((flight.due_at - world.now) // SECOND - 1)
    assert world.steps() == ["call"]
    world.wait(3600)
    assert world.steps() == ["call", "call"]


def test_a_promised_call_waits_for_the_end_of_the_call_to_the_number_before(world: World) -> None:
    lead = world.submit()
    world.wait(3600)
    first = world.commands[0]
    world.update(lead, caller_id=OTHER, schedule_callback_at=world.now + 60 * SECOND)
    world.wait(600)
    assert world.steps() == ["call"]
    world.outcome("no_answer", first, call_id=lead.attempted_call_id or 0)
    world.wait(60)
    assert "(callback)" in world.steps()


def test_a_lead_that_moves_to_somebody_who_opted_out_is_not_contacted(world: World) -> None:
    world.submit(contact_key=f"1|{OTHER}", caller_id=OTHER)
    world.act("opt_out", contact_key=f"1|{OTHER}")
    lead = world.submit()
    world.update(lead, caller_id=OTHER)
    assert world.lead(lead.id).status == "opt_out"


@pytest.mark.parametrize(("stop", "field"), [("opt_out", "opted_out_at"), ("blocked", "blocked_at")])
def test_a_stop_reported_together_with_a_new_number_holds_for_both_numbers(world: World, stop: str, field: str) -> None:
    there = world.submit(contact_key=f"1|{OTHER}", caller_id=OTHER)
    lead = world.submit()
    world.update(lead, caller_id=OTHER, **{stop: True})
    assert (world.lead(lead.id).status, getattr(world.lead(lead.id), stop)) == (stop, True)
    assert (getattr(world.head(), field), getattr(world.head(f"1|{OTHER}"), field)) == (world.now, world.now)
    assert world.lead(there.id).status == stop
    assert world.submit(contact_key=f"1|{OTHER}", caller_id=OTHER).status == stop


def test_a_lead_can_move_there_and_back(world: World) -> None:
    lead = world.submit()
    world.update(lead, caller_id=OTHER)
    world.update(world.lead(lead.id), caller_id="+13055550123")
    assert (world.lead(lead.id).contact_key, world.head().moved, world.head().lead_ids) == (KEY, {}, (lead.id,))


def test_nobody_changes_a_lead_that_is_not_there(world: World) -> None:
    world.submit()
    with pytest.raises(RefusedError) as refused:
        world.ask(LeadUpdateRequested(company_id=1, contact_key=KEY, lead_id=12345, data={"a": 1}))
    assert refused.value.code == "not_found"


MOVES = {"call": {"caller_id": OTHER}, "sms": {"caller_id": OTHER}, "email": {"email": "new@example.com"}}


@pytest.mark.parametrize("kind", MOVES)
def test_a_number_or_address_that_was_corrected_closes_no_channel_of_the_new_one(kind: str) -> None:
    world = World()
    steps = {
        "call": {"kind": "call"},
        "sms": {"kind": "sms", "template": "Hi"},
        "email": {"kind": "email", "template": "Hi", "subject": "Hi"},
    }
    world.schedule({"id": "first", **steps[kind]}, REST, {"id": "second", **steps[kind]})
    lead = world.submit(email="old@example.com")
    command = world.commands[0]
    fields: dict[str, Any] = MOVES[kind]
    world.update(lead, **fields)
    outcome = {"call": "invalid_number", "sms": "invalid_number", "email": "bounced_hard"}[kind]
    world.outcome(outcome, command, **({"call_id": lead.attempted_call_id} if kind == "call" else {}))
    assert world.lead(lead.id).failed_channels == ()
