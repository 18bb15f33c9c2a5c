"""What becomes of an opt-out whose number cannot be read? It holds for each contact that it may mean, else it is reviewed.

It is kept under what was sent, as a contact of its own. Nobody contacts that: the mark is for the list of reviews, where
somebody says which numbers were meant.
"""

from msgspec import structs

from engine.contact.facts.person import Person
from engine.contact.lifecycle.stop import stop_reason
from schemas.instant import DAY
from schemas.requests import CallerActed, ContactRequest, LeadSubmitted, SuppressionChangeRequested, UnreadNumber
from schemas.topics import CONTACTS_REQUESTS

UNREAD_FOR = 3_650 * DAY
"""How long it waits for a review: until somebody has decided it. Ten years is longer than any law lets an opt-out live."""


def follow(person: Person, request: ContactRequest) -> None:
    """Let follow what follows from a request whose number could not be read, where it has stopped the person."""
    unread: UnreadNumber | None = getattr(request, "unread", None)
    if unread is None:
        return
    if isinstance(request, SuppressionChangeRequested):
        for key in unread.keys:
            person.draft.send(CONTACTS_REQUESTS.name, key, structs.replace(request, contact_key=key, unread=None))
    elif stop_reason(person.head) is None and not person.head.opt_outs:
        return  # a text that was no opt-out, or a submission that was none
    else:
        forward(person, unread.keys, request)
    if not unread.keys and person.head.unread_number is None:
        person.head.unread_number, person.head.review_until = unread.text, person.now + UNREAD_FOR
        person.save_head()
        until = person.head.review_until
        person.draft.fact("contact.optout_review", lead_id=None, unread_number=unread.text, until=until)


def forward(person: Person, keys: tuple[str, ...], request: ContactRequest | None = None) -> None:
    """Opt out the contacts of these keys as well."""
    token = request if isinstance(request, LeadSubmitted | CallerActed) else None
    for key in keys:
        message = CallerActed(
            company_id=person.company_id,
            contact_key=key,
            action="opt_out",
            offer_id=None if token is None else token.offer_id,
            schedule_id=None if token is None else token.schedule_id,
        )
        person.draft.send(CONTACTS_REQUESTS.name, key, message)


def settle(person: Person, keys: tuple[str, ...]) -> None:
    """Let the opt-outs of an unread number hold for the contacts that somebody has named; what was sent stays stopped."""
    forward(person, keys)
    for list_id in person.head.suppressed_by:
        for key in keys:
            listed = SuppressionChangeRequested(
                company_id=person.company_id, contact_key=key, list_id=list_id, listed=True, source=REVIEWED
            )
            person.draft.send(CONTACTS_REQUESTS.name, key, listed)


REVIEWED = "review"
"""The source of an entry of a suppression list that somebody has found out about."""
