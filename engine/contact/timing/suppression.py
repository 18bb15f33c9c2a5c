"""Is a person on a suppression list that holds for a lead? One of the company, of the lead's offer, or of its schedule."""

from collections.abc import Iterable

from engine.contact.facts.person import Person
from schemas.records import Company, Offer, Schedule


def is_suppressed(person: Person, offer_id: int | None, schedule_id: int | None) -> bool:
    """Return whether a list of the company, of this offer or of this schedule has the person."""
    if not person.head.suppressed_by:  # so for almost every contact
        return False
    rules = person.rules
    holders: tuple[Company | Offer | Schedule | None, ...] = (
        rules.body(Company, "company", person.company_id),
        rules.body(Offer, "offer", offer_id),
        rules.body(Schedule, "schedule", schedule_id),
    )
    return any(is_on(person, holder.suppression_list_ids) for holder in holders if holder is not None)


def is_on(person: Person, list_ids: Iterable[int]) -> bool:
    """Return whether one of these lists has the person."""
    listed = person.head.suppressed_by
    return bool(listed) and not set(listed).isdisjoint(list_ids)
