"""How does a lead go on after the outcome of its command? By trigger, callback, disposition, retry, or to the next step."""

from engine.contact.commands import slots
from engine.contact.facts.person import RECHECK_AFTER, Person, bounded_batch
from engine.contact.lifecycle import callbacks, triggers
from engine.contact.lifecycle.retrying import retry_or_leave
from engine.contact.lifecycle.walk import advance
from engine.contact.requests import dispositions
from engine.contact.schedule.cadence import cadence_for
from engine.contact.timing.holding import SIBLING_CALLED
from engine.contact.timing.plan import schedule_recheck
from schemas.contact import Flight, Lead
from schemas.instant import EPOCH, HOUR, SECOND, Instant
from schemas.outcomes import EXPIRED, GATE_OUTCOMES, HELD, Outcome

GATE_BACKOFF = 30 * SECOND
GATE_BACKOFF_MAX = HOUR
GATE_DROPS_MAX = 20
"""A command that a gate dropped is planned again with exponential backoff; after this many drops (some 14 hours) the lead
leaves the step: a gate that drops everything must neither spin a lead nor hold it for ever."""

RETURNED_MAX = 20
"""So often a step is planned at once whose command was returned for a hold that this partition does not have: released
meanwhile, or not read yet. Further ones count as drops."""

RETURNED = "(returned)"
"""Counts these, as `DROPPED` counts drops."""

RECHECK_DOUBLINGS_MAX = 6
"""A partition that has not read a hold yet looks again after 1 s, 2 s, … 64 s."""

DROPPED = "(dropped)"
"""Counts the drops of a step, beside its retries; in brackets, so that it is no outcome's name."""

LATENESS_RESET = "(late)"
"""Marks a step whose lateness was reset because our own delay expired its command; at most once a step."""

NOT_ATTEMPTED = GATE_OUTCOMES | {"not_placed"}


def slot_use(outcome: str, *, has_agent: bool) -> slots.SlotUse:
    """Return how far a call used its slot; a timed-out outcome counts in full. An agent speaks to the person who answers."""
    if outcome in NOT_ATTEMPTED:
        return "unused"
    if outcome == "unknown":
        return "unknown"
    is_connected = outcome == "connected_buyer" or (has_agent and outcome == "connected_human")
    return "connected" if is_connected else "attempted"


def advance_after(person: Person, lead: Lead, flight: Flight, *, outcome: str, row: Outcome, occurred_at: Instant) -> bool:
    """Let a live lead go on after the outcome of a command that it no longer awaits; return whether a trigger led it."""
    lead.status, lead.status_wait = "queue", None
    is_own_step = flight.enrolment == lead.enrolment and flight.step_id == lead.step
    if flight.enrolment == lead.enrolment and triggers.fire_on_exit(
        person, lead, cadence_for(person, lead), trigger_types(flight, outcome)
    ):
        advance(person, lead)
        return True
    if outcome == HELD and not flight.callback and _count_return(person, lead, flight):
        _wait_for_release(person, lead)
        return False
    if flight.callback:
        if flight.enrolment == lead.enrolment:
            callbacks.retry_callback(person, lead, flight, outcome, row, occurred_at)
        lead.base_at = max(lead.base_at or EPOCH, occurred_at)
    elif is_own_step and outcome in GATE_OUTCOMES and lead.retries.get(DROPPED, 0) < GATE_DROPS_MAX:
        drops = lead.retries.get(DROPPED, 0)
        lead.retries[DROPPED] = drops + 1
        if outcome == EXPIRED and LATENESS_RESET not in lead.retries:
            lead.retries[LATENESS_RESET], lead.planned_at = 1, None
        lead.base_at = person.now + min(GATE_BACKOFF_MAX, GATE_BACKOFF << drops)
    elif is_own_step:
        lead.last_outcome = outcome
        if flight.kind != "call" or not dispositions.await_disposition(person, lead, flight, outcome, occurred_at):
            retry_or_leave(person, lead, outcome, row, occurred_at)
    advance(person, lead)
    return False


def _count_return(person: Person, lead: Lead, flight: Flight) -> bool:
    """Count a command that was returned for a hold; False where that has happened too often without a hold here."""
    if person.rules.contact_hold(lead.company_id, flight.kind) is not None:
        return True
    returned = lead.retries.get(RETURNED, 0)
    lead.retries[RETURNED] = returned + 1
    return returned < RETURNED_MAX


def _wait_for_release(person: Person, lead: Lead) -> None:
    """Plan the step again that a gateway returned for a hold: at once, once this partition has adopted that."""
    lead.planned_at = None
    if person.hold_is_unread:
        doublings = min(lead.retries.get(RETURNED, 1) - 1, RECHECK_DOUBLINGS_MAX)
        schedule_recheck(person, lead, RECHECK_AFTER << doublings)
        person.save(lead)
        return
    advance(person, lead)


def trigger_types(flight: Flight, outcome: str) -> tuple[str, ...]:
    """Return the trigger types that match the outcome of a command."""
    if flight.kind != "call" or outcome in NOT_ATTEMPTED:
        return ()
    return ("dial", "buyer_connected") if outcome == "connected_buyer" else ("dial",)


def decrement_counters(lead: Lead, flight: Flight) -> None:
    """Decrement the counters of a lead for a command that was not attempted."""
    match flight.kind:
        case "call":
            lead.outbound_calls_count = max(0, lead.outbound_calls_count - 1)
        case "sms":
            lead.sms_count = max(0, lead.sms_count - 1)
        case "email":
            lead.emails_count = max(0, lead.emails_count - 1)
            if lead.last_email_at == flight.emitted_at:
                lead.last_email_at = (
                    None  # the earlier one is out of reach of the spacing, else this would not have been sent
                )


def wake_siblings(person: Person, lead: Lead) -> None:
    """Advance the person's leads that waited for the end of this call."""
    if len(person.head.lead_ids) == 1:
        return
    waiting = person.live_leads(lambda other: other.flight is None and other.status_wait == SIBLING_CALLED)
    for other in bounded_batch([other for other in waiting if other.id != lead.id]):
        advance(person, other)
