"""What holds a lead back that is due? A pause, requests that are unread, a call of the same person."""

from engine.contact.facts.person import RECHECK_AFTER, Person
from engine.contact.schedule.cadence import CONTACTS, cadence_for
from engine.contact.timing.earliest import INBOUND_PAUSE, first_allowed
from engine.contact.timing.plan import SCHEDULE_PAUSED, hold, pause_reason, schedule_recheck
from schemas.contact import Lead
from schemas.instant import HOUR, Instant
from schemas.schedule import CallStep, Step

SIBLING_CALLED = "awaiting_outcome"

CAPS_USED_UP = ("buyer_cap", "traffic_source_cap")
"""The account refuses a slot for these reasons until a cap is reset or its record changes (see `lifecycle/replan.py`)."""

RECHECK_WITHOUT_RESET = 6 * HOUR
"""A cap that no clock resets is looked at again so rarely: a change of its record wakes the leads, this is for revenue or a
conversion that is taken back."""


def hold_step(person: Person, lead: Lead, step: Step) -> bool:
    """Hold a due lead back where it must not act now: a pause, unread requests, a call of the same person."""
    reason = pause_reason(person, lead.offer_id, lead.schedule_id)
    if reason is not None:
        hold(person, lead, reason)
        return True
    if not isinstance(step, CONTACTS):
        return False
    if person.draft.behind:
        schedule_recheck(person, lead, RECHECK_AFTER)
        return True
    if hold_during_inbound_call(person, lead):
        return True
    return isinstance(step, CallStep) and hold_for_sibling_call(person, lead)


def hold_until_reset(person: Person, lead: Lead, reason: str, until: Instant | None) -> None:
    """Hold a lead whose buyers have used up their caps, until the first instant behind the reset that is allowed."""
    hold(person, lead, reason)
    if lead.callback_asks:
        return  # a promise goes from its owner to the next within minutes
    base = max(until or person.now + RECHECK_WITHOUT_RESET, person.now)
    cadence = cadence_for(person, lead)
    found = first_allowed(person, lead, cadence, cadence.step(lead.step or ""), base)
    lead.recheck_at = found.at or base
    is_in_time = lead.ending or lead.expires_at is None or lead.recheck_at < lead.expires_at
    lead.next_action_at = lead.recheck_at if is_in_time else None
    lead.reasons = (reason, *found.codes)


def hold_during_inbound_call(person: Person, lead: Lead) -> bool:
    """Hold every contact while the person is calling us; whoever ends that call wakes the lead."""
    until = person.head.inbound_until
    if until is None or until <= person.now:
        return False
    hold(person, lead, INBOUND_PAUSE)
    return True


def hold_for_sibling_call(person: Person, lead: Lead) -> bool:
    """Hold the call while another lead of the same person is being called: one telephone, one call."""
    flights = (other.flight for other in person.leads() if other.id != lead.id)
    due_at = max((flight.due_at for flight in flights if flight is not None and flight.kind == "call"), default=None)
    if due_at is None:
        return False
    hold(person, lead, SIBLING_CALLED)
    # Whoever goes on with the other lead wakes this one; this is for the case that nobody does.
    lead.recheck_at = max(due_at, person.now) + RECHECK_AFTER
    return True


def hold_callback(person: Person, lead: Lead) -> bool:
    """Hold a due callback during a pause, an inbound call, or a call to the same person; return whether it was held."""
    return (
        hold_callback_while_paused(person, lead)
        or hold_during_inbound_call(person, lead)
        or hold_for_sibling_call(person, lead)
    )


def hold_callback_while_paused(person: Person, lead: Lead) -> bool:
    """A promise outlives the pause of a schedule, not that of the offer or the company."""
    reason = pause_reason(person, lead.offer_id, lead.schedule_id)
    if reason is None or reason == SCHEDULE_PAUSED:
        return False
    hold(person, lead, reason)
    return True
