"""What does a schedule do when a lead enters it, or when something becomes true of the lead on its way?"""

from collections.abc import Collection

import msgspec

from engine.contact.commands import slots
from engine.contact.facts.ledger import attempts_of
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
"""Stands for the step of a command on its way whose lead was led elsewhere: its outcome moves nothing."""

FIRES_ONCE = "tokens_match"
"""Stays true once it is: taken once in a run, or a way back would be taken for ever."""


def fire_on_enter(person: Person, lead: Lead, cadence: Cadence) -> bool:
    """Take the trigger of a lead that enters; True where it says where the lead goes on."""
    trigger = _fire_first(person, lead, cadence, "enter", ("none", "tokens_match"))
    if trigger is None or (trigger.goto is None and trigger.end_result is None):
        return False
    _lead_on(person, lead, cadence, trigger)
    return True


def fire_on_exit(person: Person, lead: Lead, cadence: Cadence, types: Collection[str]) -> bool:
    """Take the first trigger of what has just become true; True where the lead goes elsewhere now."""
    if lead.ending:
        return False
    trigger = _fire_first(person, lead, cadence, "exit", types)
    if trigger is None:
        return False
    lead.schedule_trigger_type = trigger.type
    _lead_on(person, lead, cadence, trigger)
    return True


def fire_on_expiry(person: Person, lead: Lead, cadence: Cadence) -> None:
    """End a lead whose time is over, with what its schedule says of that."""
    trigger = _fire_first(person, lead, cadence, "exit", ("expired",))
    if trigger is not None:
        lead.schedule_trigger_type = trigger.type
    begin_end(person, lead, "expired")


def _fire_first(person: Person, lead: Lead, cadence: Cadence, on: str, types: Collection[str]) -> Trigger | None:
    for place, trigger in enumerate(cadence.schedule.triggers):
        is_meant = trigger.on == on and trigger.type in types and (trigger.type != FIRES_ONCE or place not in lead.fired)
        if is_meant and all_hold(trigger.filters, lookup_for(lead, cadence, person.now, attempts_of(person.head))):
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
    lead.requested_next_action_at = None
    if lead.flight is not None:
        lead.flight = msgspec.structs.replace(lead.flight, step_id=LEFT_STEP)
    enter_step(lead, cadence.step(trigger.goto), person.now)
