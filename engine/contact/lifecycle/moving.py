"""Which contact holds a lead whose number or address changed? The new one; the old one keeps a stub and forwards."""

import msgspec

from engine.contact.commands import slots
from engine.contact.facts.call_record import detach_call
from engine.contact.facts.person import Person
from engine.contact.lifecycle import callbacks
from engine.contact.lifecycle.ending import end
from engine.contact.lifecycle.stop import block, fence_and_hang_up, opt_out, recall
from engine.partition.parts import whole
from schemas.contact import LIVE_STATUSES, Lead
from schemas.requests import ContactRequest, LeadMoved
from schemas.topics import CONTACTS_REQUESTS
from schemas.wire import from_json, to_json

STUBS_MAX = 30
"""Newest stubs of a contact. Once the row of a lead shows its new contact, requests go there directly; a stub serves
those that were already sent."""

TOO_MANY_LEADS = "too_many_leads"
"""Why a lead ends that moved to a contact whose list is full of live leads: no request is left to refuse."""


def move_out(person: Person, lead: Lead, contact_key: str, *, opt_out: bool = False, blocked: bool = False) -> None:
    """Move a lead to the contact of its new number or address. Its open command is fenced; its attempts stay counted.

    A call that rings ends. Until the outcome of its call has come, the lead is not called at the new number.

    With `opt_out` or `blocked` the new contact is stopped as well.
    """
    slots.withdraw(person, lead)
    if lead.flight is not None and lead.flight.slot_id is not None:
        slots.release(person, lead.id, lead.flight.slot_id, "unknown")
    fence_and_hang_up(person, "lead_moved", lead.id)
    recall(person, lead, "lead_moved")
    if lead.flight is not None and lead.flight.kind == "call":
        lead.left_command_id, lead.left_until = lead.flight.command_id, lead.flight.due_at
    callbacks.leave_call(person, lead)
    detach_call(person, lead)
    lead.flight = None
    lead.contact_key = contact_key
    lead.updated_at = person.now
    lead.version += 1
    person.remove_lead(lead)
    moved = person.head.moved
    for oldest in list(moved)[: max(0, len(moved) - STUBS_MAX + 1)]:
        del moved[oldest]
    moved[str(lead.id)] = contact_key
    message = LeadMoved(
        company_id=lead.company_id,
        contact_key=contact_key,
        lead=msgspec.Raw(to_json(whole(lead))),
        from_contact_key=person.key,
        opt_out=opt_out,
        blocked=blocked,
    )
    person.draft.send(CONTACTS_REQUESTS.name, contact_key, message)
    person.draft.fact("lead.sent_away", lead_id=lead.id)


def move_in(person: Person, request: LeadMoved) -> Lead:
    """Add a lead that moved here from another contact; the caller plans it again."""
    lead = from_json(bytes(request.lead), Lead)
    person.head.moved.pop(str(lead.id), None)
    if lead.status in LIVE_STATUSES and lead.status != "captured":
        lead.status, lead.status_wait = "queue", None
    person.draft.fact("lead.taken_in", lead_id=lead.id)
    if person.make_room():
        person.add(lead)
    else:
        end(person, lead, "failure", TOO_MANY_LEADS)
    if request.blocked:
        block(person, "lead_update")
    if request.opt_out:
        opt_out(person, "lead_update", offer_id=lead.offer_id)
    return lead


def forward(person: Person, request: ContactRequest, lead_id: int) -> bool:
    """Forward a request to the contact that its lead moved to; False where there is no stub of it."""
    contact_key = person.head.moved.get(str(lead_id))
    if contact_key is None:
        return False
    person.draft.send(CONTACTS_REQUESTS.name, contact_key, msgspec.structs.replace(request, contact_key=contact_key))
    person.draft.fact("request.forwarded", lead_id=lead_id)
    return True
