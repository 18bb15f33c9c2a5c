"""Is a person on a suppression list that holds for a lead? One of the company, of the lead's offer, or of its schedule."""

from engine.contact.facts.person import Person
from schemas.records import Company, Offer, Schedule


def is_suppressed(person: Person, offer_id: int | None, schedule_id: int | None) -> bool:
    """Return whether a list of the company, of this offer or of this schedule has the person."""
    listed = person.head.suppressed_by
    if not listed:  # so for almost every contact
        return False
    rules = person.rules
    holders: tuple[Company | Offer | Schedule | None, ...] = (
        rules.body(Company, "company", person.company_id),
        rules.body(Offer, "offer", offer_id),
        rules.body(Schedule, "schedule", schedule_id),
    )
    return any(not set(listed).isdisjoint(holder.suppression_list_ids) for holder in holders if holder is not None)
