"""How is a contact changed by request? It is blocked, unblocked, unsubscribed, put on a suppression list or taken off it."""

from engine.contact.commands.hanging_up import hang_up_all
from engine.contact.facts.person import Person
from engine.contact.lifecycle.stop import block, company_scope, opt_out, unblock
from engine.contact.lifecycle.suppressing import add, remove
from engine.partition.draft import RefusedError
from schemas.decisions import Answer
from schemas.requests import ContactBlockRequested, SuppressionChangeRequested, UnsubscribeRequested

BLOCKED_BY_REQUEST = "contact_block"
"""The source of a block by this request."""

UNSUBSCRIBED = "unsubscribe_link"
"""The source of an opt-out by the link of an e-mail."""


def change_block(person: Person, request: ContactBlockRequested) -> None:
    """Block or unblock the person, and answer with the contact. Raises `RefusedError` where there is no block to lift.

    Both are idempotent; lifting a block resumes nothing.
    """
    if request.blocked:
        if request.hangup_live:
            hang_up_all(person)
        block(person, BLOCKED_BY_REQUEST)
    elif is_unknown(person):
        raise RefusedError("not_found", "There is no such contact.")
    else:
        unblock(person)
    answer_with_contact(person)


def change_suppression(person: Person, request: SuppressionChangeRequested) -> None:
    """Put the person on a suppression list or take them off it, and answer with the contact.

    Whether the list is there is looked up where the request is made: an entry of one that is not suppresses nothing.
    Raises `RefusedError` where the list has not got them, or where they are on too many.
    """
    if request.listed:
        add(person, request.list_id, source=request.source, expires_at=request.expires_at)
    elif not remove(person, request.list_id):
        raise RefusedError("not_found", "This suppression list does not have the contact.")
    answer_with_contact(person)


def unsubscribe(person: Person, request: UnsubscribeRequested) -> None:
    """Opt the person out of everything, where the company's scope is that, else of the channel; answer with the contact.

    Never of one offer: the sender says that no more e-mails come. Idempotent.
    """
    scope = company_scope(person)
    opt_out(person, UNSUBSCRIBED, channel=request.channel, scope="channel" if scope == "offer" else scope)
    answer_with_contact(person)


def is_unknown(person: Person) -> bool:
    """Return whether nothing was ever decided about this person."""
    return person.head.version == 0


def answer_with_contact(person: Person) -> None:
    """Answer a request with the contact itself."""
    person.draft.answer = Answer(status=200, record_type="contact", record_id=person.draft.rules.contact_id(person.key))
