"""Has the person consented? By a fact of the lead, its `opt_in` token or a text; a step or the law may require it."""

from engine.contact.facts.person import Person
from engine.submission.consents import CONSENT, has_consent, has_contract
from schemas.contact import Lead

CONSENT_MISSING = "consent_missing"

OPT_IN = "opt_in"
"""The token of a lead that holds whether the person has consented."""

YES = frozenset({"true", "1", "yes"})


def is_consented(lead: Lead) -> bool:
    """Return whether the sender of a lead states a consent: as a fact, or as the token `opt_in`."""
    return has_consent(lead.data.get(CONSENT)) or str(lead.data.get(OPT_IN)).casefold() in YES


def is_customer(lead: Lead) -> bool:
    """Return whether the sender of a lead states a contract in progress."""
    return has_contract(lead.data.get(CONSENT))


def is_consent_missing(person: Person, lead: Lead) -> bool:
    """Return whether no consent to texts is known."""
    return person.head.opted_in_at is None and not is_consented(lead)


def wait_for_consent(person: Person, lead: Lead) -> None:
    """Let a lead wait at a text that needs consent. Consent wakes it, and lateness counts from then."""
    before = lead.status_wait
    lead.status, lead.status_wait = "waiting", CONSENT_MISSING
    lead.next_action_at, lead.planned_at, lead.reasons, lead.zone_deciding = None, None, (), None
    if before != CONSENT_MISSING:
        person.draft.fact("lead.waiting", lead_id=lead.id, step_id=lead.step, reason=CONSENT_MISSING)
