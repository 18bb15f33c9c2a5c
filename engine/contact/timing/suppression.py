"""Is a person on a suppression list that holds for a lead? One of the company, of the lead's offer, or of its schedule."""

from collections.abc import Iterable, Iterator

from engine.contact.facts.person import Person
from schemas.records import Company, Offer, Schedule


def is_suppressed(person: Person, offer_id: int | None, schedule_id: int | None) -> bool:
    """Return whether a list of the company, of this offer or of this schedule has the person."""
    if not person.head.suppressed_by:  # so for almost every contact
        return False
    return is_on(person, lists_of(person, offer_id, schedule_id))


def lists_of(person: Person, offer_id: int | None, schedule_id: int | None) -> Iterator[int]:
    """Yield the lists that the company, an offer and a schedule name."""
    rules = person.rules
    holders: tuple[Company | Offer | Schedule | None, ...] = (
        rules.body(Company, "company", person.company_id),
        rules.body(Offer, "offer", offer_id),
        rules.body(Schedule, "schedule", schedule_id),
    )
    for holder in holders:
        yield from () if holder is None else holder.suppression_list_ids


def is_on(person: Person, list_ids: Iterable[int]) -> bool:
    """Return whether one of these lists has the person."""
    listed = person.head.suppressed_by
    return bool(listed) and not set(listed).isdisjoint(list_ids)
