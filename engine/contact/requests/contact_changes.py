"""How is a contact itself changed by request? A company blocks a person, also one without leads, or lifts the block."""

from engine.contact.commands.hanging_up import hang_up_all
from engine.contact.facts.person import Person
from engine.contact.lifecycle.stop import block, unblock
from engine.identity import contact_id
from engine.partition.draft import RefusedError
from schemas.decisions import Answer
from schemas.requests import ContactBlockRequested

BLOCKED_BY_REQUEST = "contact_block"
"""The source of a block by this request."""


def change_block(person: Person, request: ContactBlockRequested) -> None:
    """Block or unblock the person, and answer with the contact. Raises `RefusedError` where there is no block to lift.

    Both are idempotent; lifting a block resumes nothing.
    """
    if request.blocked:
        block(person, BLOCKED_BY_REQUEST)
        if request.hangup_live:
            hang_up_all(person)
    elif is_unknown(person):
        raise RefusedError("not_found", "There is no such contact.")
    else:
        unblock(person)
    answer_with_contact(person)


def is_unknown(person: Person) -> bool:
    """Return whether nothing was ever decided about this person."""
    return person.head.version == 0


def answer_with_contact(person: Person) -> None:
    """Answer a request with the contact itself."""
    person.draft.answer = Answer(status=200, record_type="contact", record_id=contact_id(person.key))
