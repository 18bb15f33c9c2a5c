"""What does a lead cost? What the providers of its calls charge: each change of a call's cost changes its lead's."""

from decimal import Decimal

from engine.contact.facts.person import Person
from engine.contact.lifecycle.moving import forward
from schemas.contact import Call
from schemas.money import amount
from schemas.requests import LeadUpdateRequested


def charge_lead(person: Person, call: Call, added: Decimal) -> None:
    """Add what a call costs more, or less, than before to its lead, also at another contact."""
    if not added or call.lead_id is None:
        return
    lead = person.lead(call.lead_id)
    if lead is not None:
        lead.cost = amount(lead.cost + added)
        person.save(lead)
        return
    message = LeadUpdateRequested(
        company_id=person.company_id, contact_key=person.key, lead_id=call.lead_id, call_id=call.id, add_cost=added
    )
    forward(person, message, call.lead_id)
