"""What stops every contact with a person? An opt-out, a block, the do-not-call list: at once, leads end, gates are told."""

from collections.abc import Iterator

from engine.contact.ending import end, tell_webhooks
from engine.contact.person import Person, at_once
from schemas.commands import Fence
from schemas.contact import LIVE_STATUSES, Head, Lead, LeadStatus
from schemas.requests import ReachWithdrawn
from schemas.topics import CONTACTS_REQUESTS


def stop_reason(head: Head) -> LeadStatus | None:
    """Return the status that every live lead of the contact must take, or None."""
    if head.opted_out_at is not None:
        return "opt_out"
    if head.blocked_at is not None:
        return "blocked"
    return "dnc" if head.suppressed_at is not None else None


def opt_out(person: Person, source: str) -> None:
    """Never contact this person again: whatever was ordered is fenced, whatever is planned ends. Idempotent."""
    if person.head.opted_out_at is not None:
        return
    person.head.opted_out_at = person.now
    person.draft.fact("contact.opted_out", source=source)
    _stop_all(person, "opt_out")


def block(person: Person, source: str) -> None:
    """Keep this person away from the company's numbers: no outbound contact, as after an opt-out. Idempotent."""
    if person.head.blocked_at is not None:
        return
    person.head.blocked_at = person.now
    person.draft.fact("contact.blocked", source=source)
    _stop_all(person, "blocked")


def suppress(person: Person, source: str) -> None:
    """Put this person on the do-not-call list: no contact, as after an opt-out, until they opt in. Idempotent."""
    if person.head.suppressed_at is not None:
        return
    person.head.suppressed_at = person.now
    person.draft.fact("contact.suppressed", source=source)
    _stop_all(person, "dnc")


def opt_in(person: Person) -> None:
    """Lift an opt-out, a suppression, and the doubt about one; nothing resumes by itself."""
    if person.head.suppressed_at is not None:
        person.head.suppressed_at = None
        person.keep_head()
        person.draft.fact("contact.unsuppressed")
    if person.head.review_until is not None:
        person.head.review_until = None
        person.keep_head()
        person.draft.fact("contact.optout_reviewed", opted_out=False)
    if person.head.opted_out_at is None:
        return
    person.head.opted_out_at = None
    person.keep_head()
    person.draft.fact("contact.opted_in")
    for lead in at_once(lead for lead in person.leads() if lead.opt_out):
        lead.opt_out = False
        person.keep(lead)


def unblock(person: Person) -> None:
    """Lift a block; nothing resumes by itself."""
    if person.head.blocked_at is None:
        return
    person.head.blocked_at = None
    person.keep_head()
    person.draft.fact("contact.unblocked")
    for lead in at_once(lead for lead in person.leads() if lead.blocked):
        lead.blocked = False
        person.keep(lead)


def stop(person: Person, lead: Lead, reason: LeadStatus) -> None:
    """End one lead of a person who must not be contacted; its webhooks are told, nobody else."""
    was_live = lead.status in LIVE_STATUSES
    mark(lead, reason)
    recall(person, lead, reason)
    end(person, lead, reason)
    if was_live:
        tell_webhooks(person, lead)


def mark(lead: Lead, reason: LeadStatus) -> None:
    """Let the lead read what holds for its contact."""
    lead.opt_out = lead.opt_out or reason == "opt_out"
    lead.blocked = lead.blocked or reason == "blocked"


def sweep(person: Person) -> None:
    """End the next of the leads of a stopped person, a bounded number at a time; the head's timer brings the others."""
    head = person.head
    reason = stop_reason(head)
    last = None
    for lead in at_once(_live_from(person, head.sweep_from)) if reason is not None else ():
        stop(person, lead, reason or "opt_out")
        last = lead.id
    left = None if last is None else next(_live_from(person, head.lead_ids.index(last) + 1), None)
    head.sweep_from = 0 if left is None else head.lead_ids.index(left.id)
    # A tick must leave a later timer: at the same instant it would pass for stuck.
    head.sweep_at = None if left is None else person.now + 1
    person.keep_head()


def _live_from(person: Person, index: int) -> Iterator[Lead]:
    found = (person.lead(lead_id) for lead_id in person.head.lead_ids[index:])
    return (lead for lead in found if lead is not None and lead.status in LIVE_STATUSES)


def fence(person: Person, reason: str, *lead_ids: int) -> None:
    """Tell the gates that what was ordered before must not be carried out: for these leads, or all of the contact."""
    order = Fence(
        company_id=person.company_id,
        contact_key=person.key,
        reason=reason,
        decided_at=person.now,
        lead_ids=lead_ids,
    )
    person.draft.fence(order)


def recall(person: Person, lead: Lead, reason: str) -> None:
    """Withdraw what another contact was asked to emit for this lead: the fences of this one do not reach it."""
    flight = lead.flight
    if flight is None or flight.reached_by is None:
        return
    message = ReachWithdrawn(
        company_id=lead.company_id,
        contact_key=flight.reached_by,
        lead_id=lead.id,
        command_id=flight.command_id,
        reason=reason,
    )
    person.draft.send(CONTACTS_REQUESTS.name, flight.reached_by, message)


def _stop_all(person: Person, reason: LeadStatus) -> None:
    fence(person, reason)
    person.head.sweep_from = 0
    sweep(person)
