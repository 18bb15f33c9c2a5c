"""What does the record of a call hold? Its lead at the start, how it compares to earlier calls, what was reported since."""

from collections.abc import Iterator
from hashlib import blake2b
from itertools import islice
from typing import Any

from engine.contact.facts.person import Person, bounded_batch
from engine.identity import uuid_of
from engine.tokens import CALL_BYTES_MAX, check_tokens
from schemas.commands import PlaceCall
from schemas.contact import Call, Lead
from schemas.instant import SECOND, Instant
from schemas.records import Buyer, BuyerGroup, Number
from schemas.requests import CallReceived, OutcomeRecorded
from schemas.wire import to_json

CALLS_LISTED_MAX = 100
"""Calls that a contact's head lists. More would make every decision about the contact larger; find older ones by id."""

CALLS_COMPARED_MAX = 50
"""Earlier calls that a new one is compared with, to mark repeat callers."""

DELETED_REFS_MAX = 20
"""Gateway names of deleted calls that a head keeps, newest last: a gateway reports a call again within minutes."""

REPEAT_FLAGS = (
    "buyer_repeat_caller",
    "offer_repeat_caller",
    "buyer_conversion_duplicated_call",
    "offer_conversion_duplicated_call",
)
"""What earlier calls of the person say of a call."""

TEXT_LENGTH_MAX = 500
"""Characters kept of a free text."""


def new_outbound_call(person: Person, lead: Lead, command: PlaceCall, *, origin: str, step_id: str | None) -> Call:
    """Return the record of a call whose command is being emitted."""
    number = person.rules.number(person.company_id, command.from_number)
    # Of several buyers that are rung at once nobody knows yet who answers.
    buyer_id = None if command.buyer_legs else command.buyer_id
    return Call(
        **_new_call_fields(person, command.call_id),
        **_fields_of_lead(lead),
        schedule_action_id=step_id,
        command_id=command.command_id,
        origin=origin,
        number_called=command.to,
        from_number=command.from_number,
        number_id=None if number is None else number.id,
        buyer_id=buyer_id,
        buyer_group_id=command.buyer_group_id,
        agent_id=command.agent_id,
        attempt_number=lead.attempts,
        scheduled_callback_id=lead.scheduled_callback_id if origin == "callback" else None,
        dial_tier=None if command.buyer_id is None else tier_of(person, command.buyer_group_id, command.buyer_id),
    )


def new_inbound_call(person: Person, lead: Lead | None, *, from_number: str, number_called: str) -> Call:
    """Return the record of an inbound call to one of the company's numbers."""
    number = person.rules.number(person.company_id, number_called)
    own = None if number is None else person.rules.body(Number, "number", number.id)
    fields: dict[str, Any] = {} if lead is None else _fields_of_lead(lead)
    # The number that was called says which offer it is for, whatever else the person was sent to.
    fields["offer_id"] = fields.get("offer_id") if own is None or own.offer_id is None else own.offer_id
    return Call(
        **_new_call_fields(person, person.draft.next_id()),
        **fields,
        direction="inbound",
        origin="inbound",
        status="ringing",
        number_called=number_called,
        from_number=from_number,
        number_id=None if number is None else number.id,
        attempt_number=0,
    )


def add_call(person: Person, call: Call) -> None:
    """Add a call to the contact's list, compared with the earlier ones."""
    mark_repeat_caller(person, call)
    person.head.call_ids = (*person.head.call_ids[-CALLS_LISTED_MAX + 1 :], call.id)
    person.save_head()
    person.save_call(call)


def delete_call(person: Person, call: Call) -> None:
    """Delete a call for good; later reports of its gateway are ignored."""
    if call.gateway_ref is not None:
        person.head.deleted_refs = (*person.head.deleted_refs, _hash(call.gateway_ref))[-DELETED_REFS_MAX:]
    person.head.call_ids = tuple(call_id for call_id in person.head.call_ids if call_id != call.id)
    person.save_head()
    person.remove_call(call)


def is_deleted(person: Person, gateway_ref: str) -> bool:
    """Return whether a gateway's name of a call is that of a deleted one."""
    refs = person.head.deleted_refs
    return bool(refs) and _hash(gateway_ref) in refs


def _hash(gateway_ref: str) -> str:
    return blake2b(gateway_ref.encode(), digest_size=8).hexdigest()


def detach_call(person: Person, lead: Lead) -> None:
    """Give the open call of a lead that goes away its own timeout: no lead awaits its outcome any more."""
    flight = lead.flight
    call = None if flight is None else person.call(flight.call_id)
    if flight is not None and call is not None and call.ended_at is None:
        call.give_up_at = flight.due_at
        person.save_call(call)


def listed_calls(person: Person) -> Iterator[Call]:
    """Iterate over the listed calls of the person, newest first."""
    for call_id in reversed(person.head.call_ids):
        call = person.call(call_id)
        if call is not None:
            yield call


def mark_repeat_caller(person: Person, call: Call) -> None:
    """Mark whether an earlier call of the contact was for the same buyer or offer, and whether it converted there.

    The same offer means the same traffic source as well: that source would be paid twice.
    """
    earlier = list(islice((other for other in listed_calls(person) if other.id < call.id), CALLS_COMPARED_MAX))
    same_buyer = [other for other in earlier if call.buyer_id is not None and other.buyer_id == call.buyer_id]
    offer = call.offer_id, call.traffic_source_id
    same_offer = [other for other in earlier if (other.offer_id, other.traffic_source_id) == offer and offer[0] is not None]
    call.buyer_repeat_caller = bool(same_buyer)
    call.offer_repeat_caller = bool(same_offer)
    call.buyer_conversion_duplicated_call = any(other.buyer_converted for other in same_buyer)
    call.offer_conversion_duplicated_call = any(other.offer_converted for other in same_offer)


def tier_of(person: Person, buyer_group_id: int | None, buyer_id: int | None) -> int | None:
    """Return the tier that a call is connected to: the group's, else the buyer's own."""
    group = person.rules.body(BuyerGroup, "buyer_group", buyer_group_id)
    found = group or person.rules.body(Buyer, "buyer", buyer_id)
    return None if found is None else found.tier


def copy_handling(call: Call, request: OutcomeRecorded | CallReceived) -> None:
    """Copy who and what handled the call, as far as this report says."""
    call.provider = request.provider or call.provider
    call.provider_ref = request.provider_ref or call.provider_ref
    call.agent_id = request.agent_id or call.agent_id
    call.provider_configuration_id = request.provider_configuration_id or call.provider_configuration_id
    call.transcription_status = request.transcription_status or call.transcription_status


def merge_tokens(call: Call, data: dict[str, Any], *, field: str = "data") -> None:
    """Merge tokens, sent as `field`, into those of a call; None deletes. Raises `RefusedError` where they are too many."""
    call.token_values = {name: value for name, value in {**call.token_values, **data}.items() if value is not None}
    check_tokens(call.token_values, "call", CALL_BYTES_MAX, field=field)


def copy_data_to_calls(person: Person, lead: Lead, data: dict[str, Any]) -> None:
    """Copy the data of a lead to its newest calls, as many as one decision may change."""
    if not data:
        return
    for call in bounded_batch([call for call in listed_calls(person) if call.lead_id == lead.id], growth=len(to_json(data))):
        merge_tokens(call, data)
        person.save_call(call)
        person.draft.fact("call.updated", lead_id=lead.id, call_id=call.id, fields=["token_values"])


def put_on_hold(call: Call, at: Instant) -> None:
    """Put the call on hold."""
    call.status, call.placed_on_hold = "on-hold", True
    call.held_at = at if call.held_at is None else call.held_at


def take_off_hold(call: Call, at: Instant) -> None:
    """End the hold of the call, if there is one."""
    if call.held_at is None:
        return
    call.hold_seconds += max(0, at - call.held_at) // SECOND
    call.held_at = None
    call.status = "established"


def _new_call_fields(person: Person, call_id: int) -> dict[str, Any]:
    return {
        "id": call_id,
        "uuid": uuid_of("call", call_id),
        "company_id": person.company_id,
        "contact_key": person.key,
        "version": 0,
        "created_at": person.now,
        "updated_at": person.now,
    }


def _fields_of_lead(lead: Lead) -> dict[str, Any]:
    columns = lead.columns
    return {
        "lead_id": lead.id,
        "offer_id": lead.offer_id,
        "schedule_id": lead.schedule_id,
        "traffic_source_id": _id(columns.get("traffic_source_id")),
        "country": _text(columns.get("country")),
        "state": _text(columns.get("state_province")) or next(iter(lead.states), None),
        "city": _text(lead.data.get("city")),
        "zip": _text(columns.get("zip_postal_code")),
        "time_zone": _text(columns.get("time_zone")) or next(iter(lead.zones), None),
        "contact_field_type": _text(columns.get("contact_field_type")),
        "token_values": _tokens_of(lead),
    }


def _tokens_of(lead: Lead) -> dict[str, Any]:
    """Return the first tokens of a call: those of its lead, and the lead's id in the sender's system."""
    named = lead.columns.get("external_record_id")
    return dict(lead.data) if named is None else {"external_record_id": named, **lead.data}


def _id(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: Any) -> str | None:
    return value[:TEXT_LENGTH_MAX] if isinstance(value, str) else None
