"""Which of the company's numbers calls and texts this lead? Taken in turn, the offer's own first, and then kept."""

from engine.contact.person import Person
from engine.identity import PARTITIONS_MAX
from engine.rules import Capability
from schemas.contact import Lead


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


def _in_turn(person: Person, lead: Lead, capability: Capability) -> str | None:
    fleet = person.rules.numbers_for(person.company_id, lead.offer_id, capability)
    if not fleet:
        return None
    # Ids of one partition are 1024 apart: both digits take part, so that every partition begins elsewhere.
    return fleet[sum(divmod(lead.id, PARTITIONS_MAX)) % len(fleet)]
