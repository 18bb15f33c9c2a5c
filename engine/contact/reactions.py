"""What follows for a person's leads when a call is judged, or when the person calls or writes to us?

Whoever keeps the records of calls writes them first and then tells this page; it decides what the leads do.
"""

from engine.contact.person import Person
from schemas.contact import Call, Lead
from schemas.instant import Instant
from schemas.records import CallDisposition


def dispositioned(
    person: Person,
    lead: Lead | None,
    call: Call,
    disposition: CallDisposition | None,
    *,
    callback_at: Instant | None = None,
) -> None:
    """A call of the lead was given a disposition, another one, or none again (None); the call says so already.

    `lead` is None where the lead was deleted: then only the person is concerned (an opt-out). `callback_at` is the time
    that was agreed on. Raises `RefusedError` where the disposition needs a time to call back and there is none.
    """
    said = None if disposition is None else disposition.code or disposition.name
    about = {} if callback_at is None else {"callback_at": callback_at}
    person.draft.fact(
        "call.dispositioned", lead_id=None if lead is None else lead.id, call_id=call.id, disposition=said, **about
    )


def inbound_started(person: Person, call: Call) -> None:
    """The person is calling us: nothing goes out to them until `inbound_ended`."""
    person.draft.fact("call.inbound_received", lead_id=call.lead_id or None, call_id=call.id)


def inbound_ended(person: Person, call: Call, *, connected: bool) -> None:
    """The person's call is over; `connected` says whether they spoke to somebody (research/domain.md E32)."""
    person.draft.fact("call.inbound_ended", lead_id=call.lead_id or None, call_id=call.id, connected=connected)
