"""Which submissions are kept beside a person's leads? What came without a key for a stored lead, until a user decides."""

from contextlib import suppress
from typing import Any

from engine.contact.facts.person import Person
from engine.partition.draft import RefusedError
from engine.tokens import CALL_BYTES_MAX, check_tokens
from schemas.contact import Call, KeptSubmission
from schemas.instant import MINUTE
from schemas.state import kept_key

KEPT_MAX = 10
"""Kept submissions of one person: the oldest makes room, and is counted."""

HANDED_WITHIN = 30 * MINUTE
"""A call centre transfers within minutes of what it sends; later data is about another talk."""

UNPROVED = "unproved"
"""The token of a call that holds what came for its lead without a key."""


def kept_of(person: Person) -> list[KeptSubmission]:
    """Return the kept submissions of a person, oldest first."""
    found = (kept_submission(person, kept_id) for kept_id in person.head.kept_ids)
    return [kept for kept in found if kept is not None]


def kept_submission(person: Person, submission_id: int) -> KeptSubmission | None:
    """Return a kept submission of the person, or None."""
    return person.draft.get(kept_key(submission_id), KeptSubmission) if submission_id in person.head.kept_ids else None


def keep(person: Person, kept: KeptSubmission) -> None:
    """Keep a submission; the oldest makes room."""
    head = person.head
    for oldest in head.kept_ids[: max(0, len(head.kept_ids) - KEPT_MAX + 1)]:
        drop(person, oldest)
        head.kept_dropped += 1
    head.kept_ids = (*head.kept_ids, kept.id)
    person.save_head()
    person.draft.put(kept_key(kept.id), kept)


def hand_to_call(person: Person, call: Call) -> None:
    """Give an inbound call what came for its lead by the offer's token shortly before, marked as unproved.

    A call centre sends data before it transfers a call. What the lead has stays as it is: a value that only the submission
    has becomes a token too, and the token `unproved` holds all of them.
    """
    since = person.now - HANDED_WITHIN
    unproved: dict[str, Any] = {}
    for kept in kept_of(person) if person.head.kept_ids else ():
        if kept.by_offer_token and kept.lead_id == call.lead_id and kept.created_at > since:
            unproved |= {name: value for name, value in kept.data.items() if value is not None}
    if not unproved:
        return
    tokens = {**unproved, **call.token_values, UNPROVED: unproved}
    with suppress(RefusedError):  # too many tokens for a call: it has those of its lead
        check_tokens(tokens, "call", CALL_BYTES_MAX)
        call.token_values = tokens


def drop(person: Person, submission_id: int) -> None:
    """Drop a kept submission."""
    person.head.kept_ids = tuple(kept for kept in person.head.kept_ids if kept != submission_id)
    person.save_head()
    person.draft.remove(kept_key(submission_id))


def drop_of_lead(person: Person, lead_id: int) -> None:
    """Drop the kept submissions of a lead that is deleted."""
    for kept in kept_of(person) if person.head.kept_ids else ():
        if kept.lead_id == lead_id:
            drop(person, kept.id)
