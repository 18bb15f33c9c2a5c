"""How is a lead removed from its schedule, or deleted? Open commands are fenced, a ringing call ends; the ledger stays."""

from engine.contact.commands import slots
from engine.contact.facts.call_record import detach_call
from engine.contact.facts.kept_submissions import drop_of_lead
from engine.contact.facts.person import Person
from engine.contact.lifecycle import promises
from engine.contact.lifecycle.ending import end
from engine.contact.lifecycle.stop import fence_and_hang_up, recall
from schemas.contact import LIVE_STATUSES, Lead


def remove(person: Person, lead: Lead, source: str) -> None:
    """Remove a lead from its schedule or offer: no further action, no end steps. Idempotent."""
    if lead.status not in LIVE_STATUSES:
        return
    fence_and_hang_up(person, "removed", lead.id)
    recall(person, lead, "removed")
    end(person, lead, "removed", source)


def delete(person: Person, lead: Lead, *, calls_too: bool = True) -> None:
    """Delete a lead; its calls and the ledger of its number stay.

    Without `calls_too` the record of a call in progress is not changed: it stays open until its gateway reports its end.
    """
    slots.withdraw(person, lead)
    if lead.flight is not None and lead.flight.slot_id is not None:
        slots.release(person, lead.id, lead.flight.slot_id, "unknown")
    fence_and_hang_up(person, "deleted", lead.id)
    recall(person, lead, "deleted")
    if calls_too:
        detach_call(person, lead)
    if lead.callback_at is not None:
        person.draft.fact("callback.cancelled", lead_id=lead.id, reason="deleted")
    if lead.flight is not None:
        promises.judge_call(person, lead, lead.flight, "unknown")  # its outcome finds no lead
    promises.close(person, lead, "deleted")
    drop_of_lead(person, lead.id)
    person.remove_lead(lead)
    person.draft.fact("lead.deleted", lead_id=lead.id)
