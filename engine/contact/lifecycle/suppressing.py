"""How does a person come onto a suppression list, and off it? By request, and off it when the entry expires.

An entry is an entity of its own, whose timer is its expiry; the contact's head names the lists. What the lists end stays
ended when an entry goes: a later submission is accepted again.
"""

from engine.contact.facts.person import Person
from engine.contact.lifecycle.stop import end_reason, stop_some
from engine.partition.draft import RefusedError
from schemas.contact import Suppression
from schemas.instant import Instant
from schemas.state import suppression_key

LISTS_MAX = 100
"""Suppression lists that one person may be on: each is named in the head, which is written with almost every decision."""


def add(person: Person, list_id: int, *, source: str | None, expires_at: Instant | None) -> None:
    """Put the person on a list, or change the terms of the entry; leads for which the list holds end. Idempotent."""
    key = suppression_key(list_id, person.key)
    entry = person.draft.get(key, Suppression)
    if entry is not None and (entry.source, entry.expires_at) == (source, expires_at):
        return
    if entry is None:
        entry = _new_entry(person, list_id)
    else:
        entry.version += 1
    entry.updated_at, entry.source, entry.expires_at = person.now, source, expires_at
    person.draft.put(key, entry)
    person.draft.fact("contact.suppression_added", list_id=list_id, source=source, expires_at=expires_at)
    leads = person.live_outlines(lambda lead: end_reason(person, lead.offer_id, lead.schedule_id) is not None)
    if leads:
        stop_some(person, leads, "dnc")


def has_room(person: Person, list_id: int) -> bool:
    """Return whether the person is on a list, or can be put on it."""
    return list_id in person.head.suppressed_by or len(person.head.suppressed_by) < LISTS_MAX


def _new_entry(person: Person, list_id: int) -> Suppression:
    head = person.head
    if not has_room(person, list_id):
        raise RefusedError("validation_failed", f"This person is on {LISTS_MAX} suppression lists, which is the most.")
    head.suppressed_by = (*head.suppressed_by, list_id)
    person.save_head()
    return Suppression(
        company_id=person.company_id,
        list_id=list_id,
        contact_key=person.key,
        created_at=person.now,
        updated_at=person.now,
    )


def remove(person: Person, list_id: int) -> bool:
    """Take the person off a list; nothing resumes. Return False where the list has not got them."""
    if list_id not in person.head.suppressed_by:
        return False
    _drop(person, list_id)
    person.draft.fact("contact.suppression_removed", list_id=list_id)
    return True


def expire(person: Person, entry: Suppression) -> None:
    """Take the person off a list because the entry has expired; nothing resumes."""
    _drop(person, entry.list_id)
    person.draft.fact("contact.suppression_expired", list_id=entry.list_id, expires_at=entry.expires_at)


def _drop(person: Person, list_id: int) -> None:
    person.head.suppressed_by = tuple(one for one in person.head.suppressed_by if one != list_id)
    person.save_head()
    person.draft.remove(suppression_key(list_id, person.key))
