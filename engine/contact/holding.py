"""What holds a lead back that is due? A pause, requests that are unread, a call of the same person."""

from engine.contact.cadence import CONTACTS
from engine.contact.earliest import CALLED
from engine.contact.person import RECHECK_AFTER, Person
from engine.contact.plan import SCHEDULE_PAUSED, hold, look_again, paused
from schemas.contact import Lead
from schemas.schedule import CallStep, Step

SIBLING_CALLED = "awaiting_outcome"


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
