"""Which of the company's numbers calls and texts this lead? Round robin, the offer's own first; then the lead keeps it.

The lead gets another one when its number is paused, deleted, or no longer has the capability.
"""

from engine.contact.facts.person import Person
from engine.contact.schedule.round_robin import pick_index
from engine.identity import share_of
from engine.rules import Capability, Rules
from schemas.contact import Lead
from schemas.records import Number
from schemas.requests import LeadSubmitted


def dialing_number(person: Person, lead: Lead) -> str | None:
    """Return the number that calls the lead, assigning one if it has none; None where the company has none."""
    lead.svc_number = next_dialing_number(person, lead)
    return lead.svc_number


def next_dialing_number(person: Person, lead: Lead) -> str | None:
    """Return the number that would call the lead now, without assigning it."""
    if _is_usable(person, lead.svc_number, "voice"):
        return lead.svc_number
    return _next_number(person, lead, "voice")


def texting_number(person: Person, lead: Lead) -> str | None:
    """Return the number that texts the lead, assigning one if it has none; None where the company has none."""
    if not _is_usable(person, lead.sms_number, "sms"):
        lead.sms_number = _next_number(person, lead, "sms")
    return lead.sms_number


def public_number(rules: Rules, request: LeadSubmitted, capability: Capability) -> str | None:
    """Return the number that a submission without a key asks for, by its person alone: its answer names it."""
    if not (request.assign_svc_number if capability == "voice" else request.assign_sms_number):
        return None
    fleet = rules.numbers_for(request.company_id, request.offer_id, capability)
    return fleet[share_of(request.contact_key, len(fleet))] if fleet else None


def _is_usable(person: Person, number: str | None, capability: Capability) -> bool:
    record = person.rules.number(person.company_id, number)
    body = None if record is None else person.rules.body(Number, "number", record.id)
    return body is not None and not body.paused and bool(getattr(body, capability))


def _next_number(person: Person, lead: Lead, capability: Capability) -> str | None:
    fleet = person.rules.numbers_for(person.company_id, lead.offer_id, capability)
    return fleet[pick_index(lead, len(fleet))] if fleet else None
