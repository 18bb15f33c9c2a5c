"""What holds back a lead that is due? A pause, a hold, unread requests, a call of the same person."""

from engine.contact.facts.person import ON_HOLD, RECHECK_AFTER, Person
from engine.contact.schedule.cadence import CONTACTS, cadence_for, channel_of
from engine.contact.timing.earliest import INBOUND_PAUSE, first_allowed
from engine.contact.timing.plan import hold, pause_reason, schedule_recheck
from schemas.contact import Lead
from schemas.instant import HOUR, Instant
from schemas.schedule import CallStep, Step

SIBLING_CALLED = "awaiting_outcome"

BUYER_CAP = "buyer_cap"
CAPS_USED_UP = (BUYER_CAP, "traffic_source_cap", "number_cap")
"""Reasons for which the account refuses a slot until a cap resets or its record changes (`lifecycle/replan.py`)."""

RECHECK_WITHOUT_RESET = 6 * HOUR
"""How often a cap without a reset time is checked. A change of its record wakes the leads; this covers revenue or a
conversion that is subtracted."""


def hold_step(person: Person, lead: Lead, step: Step) -> bool:
    """Hold a due lead during a pause, a hold, unread requests, or a call of the same person; return whether it was held."""
    reason = pause_reason(person, lead.offer_id, lead.schedule_id)
    if reason is not None:
        hold(person, lead, reason)
        return True
    if person.rules.contact_hold(person.company_id, channel_of(step)) is not None:
        hold(person, lead, ON_HOLD)
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
    """Hold a lead whose buyers have used up their caps until the first allowed instant after the reset."""
    hold(person, lead, reason)
    if lead.callback_asks:
        return  # a callback passes to the next owner within minutes
    lead.recheck_at = show_reset(person, lead, reason, until)


def show_reset(person: Person, lead: Lead, reason: str, until: Instant | None) -> Instant:
    """Show the first allowed instant after a reset as the next action of a lead, and return it."""
    base = max(until or person.now + RECHECK_WITHOUT_RESET, person.now)
    cadence = cadence_for(person, lead)
    found = first_allowed(person, lead, cadence, cadence.step(lead.step or ""), base)
    at = found.at or base
    is_in_time = lead.ending or lead.expires_at is None or at < lead.expires_at
    lead.next_action_at = at if is_in_time else None
    lead.reasons = (reason, *found.codes)
    return at


def hold_during_inbound_call(person: Person, lead: Lead) -> bool:
    """Hold every contact while the person is calling us; the end of that call wakes the lead."""
    until = person.head.inbound_until
    if until is None or until <= person.now:
        return False
    hold(person, lead, INBOUND_PAUSE)
    return True


def hold_for_sibling_call(person: Person, lead: Lead) -> bool:
    """Hold the call while the person is called for another lead, or the lead at an earlier number of its."""
    flights = (other.flight for other in person.outlines() if other.id != lead.id)
    due_at = max((flight.due_at for flight in flights if flight is not None and flight.kind == "call"), default=None)
    if due_at is None and lead.left_until is not None and lead.left_until > person.now:
        due_at = lead.left_until
    if due_at is None:
        return False
    hold(person, lead, SIBLING_CALLED)
    # The end of the other call wakes this lead; the timer is a fallback.
    lead.recheck_at = max(due_at, person.now) + RECHECK_AFTER
    return True


def hold_callback(person: Person, lead: Lead) -> bool:
    """Hold a due callback during an inbound call, or a call to the same person; return whether it was held."""
    return hold_during_inbound_call(person, lead) or hold_for_sibling_call(person, lead)


def hold_callback_while_paused(person: Person, lead: Lead) -> bool:
    """Hold a callback while its schedule, offer or company is paused, or calls are on hold."""
    reason = pause_reason(person, lead.offer_id, lead.schedule_id)
    if reason is None:
        reason = None if person.rules.contact_hold(person.company_id, "call") is None else ON_HOLD
    if reason is None:
        return False
    hold(person, lead, reason)
    return True
