"""Does a pause keep inbound calls from buyers and agents? That of the company, of the offer, or of the number called does.

Where `inbound` of the paused record is `keep`, only what we begin is paused. A schedule's pause is about what we begin.
"""

from engine.rules import Rules
from schemas.records import Company, Number, Offer

COMPANY_PAUSED = "company_paused"
OFFER_PAUSED = "offer_paused"
NUMBER_PAUSED = "number_paused"


def inbound_pause(rules: Rules, company_id: int, offer_id: int | None, number_id: int | None = None) -> str | None:
    """Return the pause that keeps inbound calls from being put through, None where none does."""
    named = (
        (COMPANY_PAUSED, rules.body(Company, "company", company_id)),
        (OFFER_PAUSED, rules.body(Offer, "offer", offer_id)),
        (NUMBER_PAUSED, rules.body(Number, "number", number_id)),
    )
    return next((reason for reason, body in named if body is not None and body.paused and body.inbound == "pause"), None)
