"""Has the person consented to texts? The lead's token says so, or a text of theirs; a step may demand that one does."""

from engine.contact.facts.person import Person
from schemas.contact import Lead

CONSENT_MISSING = "consent_missing"

OPT_IN = "opt_in"
"""The token of a lead that says whether the person has consented."""

YES = frozenset({"true", "1", "yes"})


def is_consent_missing(person: Person, lead: Lead) -> bool:
    """Tell whether nothing says that the person has consented to texts."""
    return person.head.opted_in_at is None and str(lead.data.get(OPT_IN)).casefold() not in YES


def wait_for_consent(person: Person, lead: Lead) -> None:
    """Stand before a text that needs consent: whatever gives it wakes the lead, and lateness is measured from then."""
    before = lead.status_wait
    lead.status, lead.status_wait = "waiting", CONSENT_MISSING
    lead.next_action_at, lead.planned_at, lead.reasons, lead.zone_deciding = None, None, (), None
    if before != CONSENT_MISSING:
        person.draft.fact("lead.waiting", lead_id=lead.id, step_id=lead.step, reason=CONSENT_MISSING)
