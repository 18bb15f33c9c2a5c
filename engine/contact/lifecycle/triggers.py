"""What does a schedule do when a lead enters it, or when something becomes true of the lead on its way?"""

from collections.abc import Collection

import msgspec

from engine.contact.commands import slots
from engine.contact.facts.person import Person
from engine.contact.facts.result import COMPLETED
from engine.contact.lifecycle.ending import begin_end
from engine.contact.lifecycle.step_position import enter_step, set_tokens
from engine.contact.schedule.cadence import Cadence
from engine.contact.schedule.filters import all_hold, lookup_for
from schemas.contact import Lead
from schemas.instant import MINUTE
from schemas.schedule import Trigger

LEFT_STEP = "(gone)"
"""The step id of an open command whose lead has left its step: its outcome moves nothing."""

FIRES_ONCE = "tokens_match"
"""This type stays true: it fires once in a run, else a cycle would never end."""


def fire_on_enter(person: Person, lead: Lead, cadence: Cadence) -> bool:
    """Fire the trigger of a lead that enters; True where it moves the lead."""
    trigger = _fire_first(person, lead, cadence, "enter", ("none", "tokens_match"))
    if trigger is None or (trigger.goto is None and trigger.end_result is None):
        return False
    _lead_on(person, lead, cadence, trigger)
    return True


def fire_on_exit(person: Person, lead: Lead, cadence: Cadence, types: Collection[str]) -> bool:
    """Fire the first trigger of what has just become true; True where it moves the lead."""
    if lead.ending:
        return False
    trigger = _fire_first(person, lead, cadence, "exit", types)
    if trigger is None:
        return False
    lead.schedule_trigger_type = trigger.type
    _lead_on(person, lead, cadence, trigger)
    return True


def fire_on_expiry(person: Person, lead: Lead, cadence: Cadence) -> None:
    """End an expired lead, and fire its trigger for that."""
    trigger = _fire_first(person, lead, cadence, "exit", ("expired",))
    if trigger is not None:
        lead.schedule_trigger_type = trigger.type
    begin_end(person, lead, "expired")


def _fire_first(person: Person, lead: Lead, cadence: Cadence, on: str, types: Collection[str]) -> Trigger | None:
    for place, trigger in enumerate(cadence.schedule.triggers):
        matches = trigger.on == on and trigger.type in types and (trigger.type != FIRES_ONCE or place not in lead.fired)
        if matches and all_hold(trigger.filters, lookup_for(person, lead, cadence)):
            lead.fired = tuple(sorted({*lead.fired, place}))
            if trigger.add_tokens:
                set_tokens(person, lead, trigger.add_tokens, step_id=None)
            if trigger.expire_minutes is not None:
                lead.expires_at = person.now + trigger.expire_minutes * MINUTE
            person.draft.fact("trigger.fired", lead_id=lead.id, on=on, trigger=trigger.type, place=place)
            person.save(lead)
            return trigger
    return None


def _lead_on(person: Person, lead: Lead, cadence: Cadence, trigger: Trigger) -> None:
    if trigger.goto is None:
        begin_end(person, lead, trigger.end_result or COMPLETED)
        return
    slots.withdraw(person, lead)
    lead.requested_next_action_at = lead.unknown = None
    if lead.flight is not None:
        lead.flight = msgspec.structs.replace(lead.flight, step_id=LEFT_STEP)
    enter_step(lead, cadence.step(trigger.goto), person.now)
