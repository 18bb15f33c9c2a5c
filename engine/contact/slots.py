"""How is the right to use a limited resource asked for and given back? By message; only the contact ends a slot.

The account keeps the most urgent requests of a resource waiting and refuses the others, which are asked again later. Still
to come (design.md section 1): that a partition itself holds back all but the 200 most urgent requests of a company.
"""

from engine.contact.orders import next_command_id, present_command_id
from engine.contact.person import Person
from schemas.contact import LIVE_STATUSES, Lead
from schemas.instant import MINUTE, Instant
from schemas.requests import SlotAnswered, SlotReleased, SlotRequested
from schemas.schedule import CallStep
from schemas.topics import ACCOUNTS_REQUESTS

ANSWER_AWAITED = 5 * MINUTE
"""After this long without an answer the same request is sent again: the account knows it by its id."""

WAITS_FOR_SLOT = "concurrency_cap"


def ask(person: Person, lead: Lead, step: CallStep) -> None:
    """Ask for a slot. The request's id is that of the command to be, so that every attempt asks under its own."""
    lead.slot_id = next_command_id(lead, step.id)
    lead.status, lead.status_wait = "waiting", WAITS_FOR_SLOT
    person.draft.fact("slot.requested", lead_id=lead.id, request_id=lead.slot_id, step_id=step.id)
    ask_again(person, lead, step)


def ask_again(person: Person, lead: Lead, step: CallStep) -> None:
    """Send the open request, for the first time or because no answer came."""
    assert lead.slot_id is not None  # noqa: S101 - asked for above
    lead.slot_due_at = person.now + ANSWER_AWAITED
    request = SlotRequested(
        company_id=lead.company_id,
        contact_key=person.key,
        lead_id=lead.id,
        request_id=lead.slot_id,
        buyer_group_id=step.connect.buyer_group_id,
        buyer_ids=step.connect.buyer_ids,
        urgency_class=lead.urgency_class,
        priority=lead.lead_priority,
        due_at=lead.next_action_at or person.now,
        aging=_aging(person, lead),
    )
    person.draft.send(ACCOUNTS_REQUESTS.name, str(lead.company_id), request)
    person.keep(lead)


def _aging(person: Person, lead: Lead) -> float:
    if lead.schedule_id is None or lead.schedule_version is None:
        return 0.0
    schedule = person.rules.schedule(lead.schedule_id, lead.schedule_version)
    return 0.0 if schedule is None else schedule.priority_aging


def withdraw(person: Person, lead: Lead) -> None:
    """Take back a request that is still open; whatever answer is under way finds another id, or none."""
    if lead.slot_id is not None:
        release(person, lead.id, lead.slot_id)
        lead.slot_id = lead.slot_due_at = None
        person.keep(lead)


def release(person: Person, lead_id: int, request_id: str) -> None:
    """Give a slot, or the request for one, back."""
    message = SlotReleased(company_id=person.company_id, contact_key=person.key, lead_id=lead_id, request_id=request_id)
    person.draft.send(ACCOUNTS_REQUESTS.name, str(person.company_id), message)
    person.draft.fact("slot.released", lead_id=lead_id, request_id=request_id)


def take(person: Person, answer: SlotAnswered) -> Lead | None:
    """Return the lead that an answer is for, its request closed; None where the answer is old, its slot then given back."""
    lead = person.lead(answer.lead_id)
    if lead is not None and lead.slot_id == answer.request_id and lead.status in LIVE_STATUSES:
        lead.slot_id = lead.slot_due_at = None
        person.keep(lead)
        return lead
    flown = lead is not None and lead.flight is not None and lead.flight.slot_id == answer.request_id
    if answer.granted and not flown:
        release(person, answer.lead_id, answer.request_id)
    return None


def grant_for(person: Person, lead: Lead, step: CallStep) -> SlotAnswered | None:
    """Return the slot that was just granted, where it was asked for by this very attempt."""
    grant = person.grant
    return grant if grant is not None and grant.request_id == present_command_id(lead, step.id) else None


def is_used(lead: Lead, request_id: str) -> bool:
    """Tell whether a call of the lead took the slot."""
    return lead.flight is not None and lead.flight.slot_id == request_id


def overdue(lead: Lead, now: Instant) -> bool:
    """Tell whether the answer has stayed out."""
    return lead.slot_due_at is not None and lead.slot_due_at <= now
