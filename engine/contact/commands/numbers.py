"""Which of the company's numbers calls and texts this lead? Round robin, the offer's own first; then the lead keeps it.

The lead gets another one when its number is paused, deleted, or no longer has the capability.
"""

from engine.contact.facts.person import Person
from engine.contact.schedule.round_robin import pick_index
from engine.rules import Capability
from schemas.contact import Lead
from schemas.records import Number


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


def _is_usable(person: Person, number: str | None, capability: Capability) -> bool:
    record = person.rules.number(person.company_id, number)
    body = None if record is None else person.rules.body(Number, "number", record.id)
    return body is not None and not body.paused and bool(getattr(body, capability))


def _next_number(person: Person, lead: Lead, capability: Capability) -> str | None:
    fleet = person.rules.numbers_for(person.company_id, lead.offer_id, capability)
    return fleet[pick_index(lead, len(fleet))] if fleet else None
