"""What holds a lead back that is due? A pause, requests that are unread, a call of the same person."""

from engine.contact.facts.person import RECHECK_AFTER, Person
from engine.contact.schedule.cadence import CONTACTS, cadence_for
from engine.contact.timing.earliest import CALLED, first_allowed
from engine.contact.timing.plan import SCHEDULE_PAUSED, hold, look_again, paused
from schemas.contact import Lead
from schemas.instant import HOUR, Instant
from schemas.schedule import CallStep, Step

SIBLING_CALLED = "awaiting_outcome"

CAPS_USED_UP = ("buyer_cap", "traffic_source_cap")
"""The account refuses a slot for these reasons until a cap is reset or its record changes (see `lifecycle/replan.py`)."""

NO_RESET_AFTER = 6 * HOUR
"""A cap that no clock resets is looked at again so rarely: a change of its record wakes the leads, this is for revenue or a
conversion that is taken back."""


def is_held(person: Person, lead: Lead, step: Step) -> bool:
    """Hold a due lead back where it must not act now: a pause, unread requests, a call of the same person."""
    reason = paused(person, lead.offer_id, lead.schedule_id)
    if reason is not None:
        hold(person, lead, reason)
        return True
    if not isinstance(step, CONTACTS):
        return False
    if person.draft.behind:
        look_again(person, lead, RECHECK_AFTER)
        return True
    if is_on_the_line(person, lead):
        return True
    return isinstance(step, CallStep) and waits_for_sibling(person, lead)


def wait_for_reset(person: Person, lead: Lead, reason: str, until: Instant | None) -> None:
    """Hold a lead whose buyers have used up their caps, until the first instant behind the reset that is allowed."""
    hold(person, lead, reason)
    if lead.callback_asks:
        return  # a promise goes from its owner to the next within minutes
    base = max(until or person.now + NO_RESET_AFTER, person.now)
    cadence = cadence_for(person, lead)
    found = first_allowed(person, lead, cadence, cadence.step(lead.step or ""), base)
    lead.recheck_at = found.at or base
    is_in_time = lead.ending or lead.expires_at is None or lead.recheck_at < lead.expires_at
    lead.next_action_at = lead.recheck_at if is_in_time else None
    lead.reasons = (reason, *found.codes)


def is_on_the_line(person: Person, lead: Lead) -> bool:
    """Hold every contact while the person is calling us; whoever ends that call wakes the lead."""
    until = person.head.inbound_until
    if until is None or until <= person.now:
        return False
    hold(person, lead, CALLED)
    return True


def waits_for_sibling(person: Person, lead: Lead) -> bool:
    """Hold the call while another lead of the same person is being called: one telephone, one call."""
    flights = (other.flight for other in person.leads() if other.id != lead.id)
    due_at = max((flight.due_at for flight in flights if flight is not None and flight.kind == "call"), default=None)
    if due_at is None:
        return False
    hold(person, lead, SIBLING_CALLED)
    # Whoever goes on with the other lead wakes this one; this is for the case that nobody does.
    lead.recheck_at = max(due_at, person.now) + RECHECK_AFTER
    return True


def is_paused_for_callbacks(person: Person, lead: Lead) -> bool:
    """A promise outlives the pause of a schedule, not that of the offer or the company."""
    reason = paused(person, lead.offer_id, lead.schedule_id)
    if reason is None or reason == SCHEDULE_PAUSED:
        return False
    hold(person, lead, reason)
    return True
