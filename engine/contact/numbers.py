"""Which of the company's numbers calls and texts this lead? Taken in turn, the offer's own first, and then kept."""

from engine.contact.person import Person
from engine.identity import PARTITIONS_MAX
from schemas.contact import Lead
from schemas.records import Number, Record


def dialing_number(person: Person, lead: Lead) -> str | None:
    """Return the number that the lead is called from, giving it one if it has none; None where the company has none."""
    if lead.svc_number is None:
        lead.svc_number = _in_turn(person, lead, "voice")
    return lead.svc_number


def texting_number(person: Person, lead: Lead) -> str | None:
    """Return the number that the lead is texted from, giving it one if it has none; None where the company has none."""
    if lead.sms_number is None:
        lead.sms_number = _in_turn(person, lead, "sms")
    return lead.sms_number


def _in_turn(person: Person, lead: Lead, capability: str) -> str | None:
    numbers = [_body(person, record) for record in person.rules.records("number", person.company_id)]
    able = [number for number in numbers if number is not None and getattr(number, capability) and not number.paused]
    own = [number for number in able if number.offer_id is not None and number.offer_id == lead.offer_id]
    fleet = own or [number for number in able if number.offer_id is None]
    if not fleet:
        return None
    # Ids of one partition are 1024 apart: both digits take part, so that every partition begins elsewhere.
    return fleet[sum(divmod(lead.id, PARTITIONS_MAX)) % len(fleet)].number


def _body(person: Person, record: Record) -> Number | None:
    return person.rules.body(Number, "number", record.id)
