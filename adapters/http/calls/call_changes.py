"""How are calls changed over HTTP? One by its id, or all of a number and an offer: money, conversions, disposition, tokens.

The contact decides; references are checked here first, so that one answer lists every bad field.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec import UNSET, UnsetType

from adapters.http.agents.own_agent import own_agent_id
from adapters.http.calls import transcriptions
from adapters.http.calls.call_lists import LIST_TYPES, SERIALIZER, SERIALIZERS
from adapters.http.calls.calls import CALL_ANSWER, live_call, read_tokens, render
from adapters.http.exchange.answers import PAGING_PARAMETERS, read_columns_of_serializer
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.hidden_fields import sees_whole_leads
from adapters.http.exchange.parameters import Parameters, read_id
from adapters.http.exchange.people import find_contact_key
from adapters.http.exchange.problems import ProblemError
from adapters.http.exchange.references import is_own, read_with_references
from adapters.http.exchange.writes import submit_change
from adapters.http.leads.lead_changes import OWNER, OWNER_PARAMETERS, read_owner
from adapters.http.leads.submissions import SUBMISSION_PARAMETERS
from adapters.http.schema.inputs import NOTES_LENGTH_MAX, whole
from engine.account.contact_fields import check_value
from engine.submission.fields import FieldError, is_blank, parse_amount, parse_id, parse_integer, parse_text
from engine.submission.reading import AHEAD_MAX, Reading
from schemas.contact import CallbackOwner
from schemas.instant import MINUTE, SECOND
from schemas.money import NOTHING
from schemas.records import Buyer, ContactFieldType, TrafficSource
from schemas.requests import CallUpdateRequested

TIMEFRAME_MINUTES_MAX = 527_040
"""366 days: older calls cannot be changed by number."""

FIRED_MAX = 20
"""Most webhooks that one request can fire for a call."""

_MONEY: Mapping[str, str] = {
    "revenue": "what the buyer pays for the call; negative where more is given back than it earned",
    "add_revenue": "amount to add to the revenue; negative subtracts",
    "add_payout": "amount to add to the payout; negative subtracts",
}
_DISPOSITION: Mapping[str, str] = {
    "call_disposition_id": "disposition: how the call went; replaces the earlier one, blank removes it",
    "agent_call_disposition_notes": f"up to {NOTES_LENGTH_MAX} characters; blank removes them",
    "schedule_callback_at": "when to call back, for a disposition that needs a time",
    "schedule_callback_in_seconds": SUBMISSION_PARAMETERS["schedule_callback_in_seconds"],
    **OWNER_PARAMETERS,
}
UPDATE_PARAMETERS: Mapping[str, str] = {
    "post_call_tokens": "object of tokens; merged into those of the call, null removes one",
    **_MONEY,
    "payout": "what the traffic source is paid for the call; may be negative, as revenue",
    "buyer_converted": "true or false; the lead converts with it",
    "svc_buyer_id": "internal id or user_buyer_id of the buyer that replaces the present one",
    "offer_converted": "true or false: the traffic source converted",
    "svc_traffic_source_id": "internal id or user_traffic_source_id of the traffic source that replaces the present one",
    "contact_field_type": "id of a contact field type: its fields say which post_call_tokens fit",
    "fire_outgoing_webhook_ids": f"outgoing webhooks to fire again for the call, at most {FIRED_MAX}",
    "manual_transcribe": "true: what its recording holds is written down, once; see /calls/:id/transcription",
    **_DISPOSITION,
}
UPDATE_BY_CALLER_PARAMETERS: Mapping[str, str] = {
    "offer_token": "lead token of the offer whose calls are changed",
    "call_timeframe": "only calls that began within the last so many minutes",
    **_MONEY,
    "buyer_converted": "true or false; the lead converts with it",
    **_DISPOSITION,
}


async def update(exchange: Exchange) -> Reply:
    """Change one call."""
    company_id = exchange.company_id
    row = await live_call(exchange)

    def read(parameters: Parameters) -> tuple[tuple[str, ...] | None, bool | None, dict[str, Any]]:
        fields = _changes(exchange, parameters)
        named = row["contact_field_type"] if fields["contact_field_type"] is UNSET else fields["contact_field_type"]
        _check_filled_in(exchange, parameters, named, fields["data"])
        return read_columns_of_serializer(parameters, SERIALIZERS), parameters.flag(transcriptions.FIELD), fields

    columns, transcribes, fields = await read_with_references(exchange, read)
    recording = await transcriptions.find_untranscribed(exchange, row) if transcribes else None
    if recording is not None:
        fields |= {"transcribed_recording_url": recording.recording_url, "transcription_status": "pending"}
    message = CallUpdateRequested(company_id=company_id, contact_key=row["contact_key"], call_id=row["id"], **fields)
    reply = await submit_change(exchange, message, partial(render, columns=columns))
    if recording is not None:  # not before: where the log is away, nothing is transcribed
        await transcriptions.ask(exchange, recording)
    return reply


async def update_by_caller_id(exchange: Exchange) -> Reply:
    """Change a person's calls of an offer."""
    company_id = exchange.company_id  # a lead token alone may not change money
    target = await exchange.target(exchange.fields.get("offer_token"), field="offer_token")
    if target.offer_id is None:
        raise ProblemError("unknown_lead_token", "No offer has this offer_token.")
    contact_key = await find_contact_key(exchange, exchange.path["id"], target)

    def read(parameters: Parameters) -> tuple[int | None, dict[str, Any]]:
        minutes = parameters.whole("call_timeframe", least=1, most=TIMEFRAME_MINUTES_MAX)
        return minutes, _changes(exchange, parameters)

    minutes, fields = await read_with_references(exchange, read)
    message = CallUpdateRequested(
        company_id=company_id,
        contact_key=contact_key,
        offer_id=target.offer_id,
        since=None if minutes is None else exchange.now - minutes * MINUTE,
        **{name: value for name, value in fields.items() if name not in _OF_ONE_CALL},
    )
    return await submit_change(exchange, message, render)


_OF_ONE_CALL = frozenset(
    {"data", "payout", "offer_converted", "buyer_id", "traffic_source_id", "contact_field_type", "outgoing_webhook_ids"}
)
"""Fields that can be changed only by the id of a call, not by number."""


def _changes(exchange: Exchange, parameters: Parameters) -> dict[str, Any]:
    """Read the changes of a call; faults are collected in the parameters."""
    given: dict[str, Any] = {
        "revenue": parameters.read("revenue", parse_amount),
        "payout": parameters.read("payout", parse_amount),
        "buyer_converted": parameters.flag("buyer_converted"),
        "offer_converted": parameters.flag("offer_converted"),
        "buyer_id": _named(exchange, parameters, "svc_buyer_id"),
        "traffic_source_id": _named(exchange, parameters, "svc_traffic_source_id"),
        "contact_field_type": parameters.text("contact_field_type"),
    }
    blank_clears = {
        "call_disposition_id": _disposition(exchange, parameters),
        "agent_call_disposition_notes": parameters.read(
            "agent_call_disposition_notes", partial(parse_text, most=NOTES_LENGTH_MAX)
        ),
    }
    return {
        **{name: _unless_missing(value) for name, value in given.items()},
        **{name: value for name, value in blank_clears.items() if name in exchange.fields},
        "add_revenue": parameters.read("add_revenue", parse_amount) or NOTHING,
        "add_payout": parameters.read("add_payout", parse_amount) or NOTHING,
        "data": read_tokens(exchange, parameters, "post_call_tokens"),
        "outgoing_webhook_ids": _webhooks(exchange, parameters),
        **_callback(exchange, parameters),
    }


def _check_filled_in(exchange: Exchange, parameters: Parameters, named: str | None, tokens: Mapping[str, Any]) -> None:
    """Check tokens that the contact field type of the call declares; a name that is no id of the company's declares none."""
    type_id = None if named is None else read_id(named)
    if not isinstance(type_id, int) or not is_own(exchange, "contact_field_type", type_id):
        return
    body = exchange.services.source.rules.body(ContactFieldType, "contact_field_type", type_id)
    for field in () if body is None else body.fields:
        try:
            check_value(field, tokens.get(field.key))
        except FieldError as error:
            parameters.refuse(f"post_call_tokens.{field.key}", str(error))


def _unless_missing(value: Any) -> Any | UnsetType:
    return UNSET if value is None else value


def _named(exchange: Exchange, parameters: Parameters, field: str) -> int | None:
    """Return the buyer or traffic source with this internal id, else with this external id."""
    text = parameters.text(field)
    if text is None:
        return None
    record_type, kind, own = _NAMED[field]
    rules, company_id = exchange.services.source.rules, exchange.company_id
    internal_id = read_id(text)
    if isinstance(internal_id, int) and is_own(exchange, record_type, internal_id):
        return internal_id
    for record in rules.records(record_type, company_id):
        if getattr(rules.body(kind, record_type, record.id), own, None) == text:
            return record.id
    parameters.refuse(field, f"names no {record_type.replace('_', ' ')}: {text[:100]}")
    return None


_NAMED: Mapping[str, tuple[str, type[Buyer | TrafficSource], str]] = {
    "svc_buyer_id": ("buyer", Buyer, "user_buyer_id"),
    "svc_traffic_source_id": ("traffic_source", TrafficSource, "user_traffic_source_id"),
}


def _disposition(exchange: Exchange, parameters: Parameters) -> int | None:
    found = parameters.read("call_disposition_id", parse_id)
    if found is not None and not is_own(exchange, "call_disposition", found):
        parameters.refuse("call_disposition_id", f"names no call disposition: {found}")
    return found


def _webhooks(exchange: Exchange, parameters: Parameters) -> tuple[int, ...]:
    name = "fire_outgoing_webhook_ids"
    found = tuple(dict.fromkeys(parameters.ids(name) or ()))
    missing = [webhook_id for webhook_id in found if not is_own(exchange, "outgoing_webhook", webhook_id)]
    if missing:
        parameters.refuse(name, f"names no outgoing webhook: {', '.join(map(str, missing[:FIRED_MAX]))}")
    if len(found) > FIRED_MAX:
        parameters.refuse(name, f"must name at most {FIRED_MAX}")
    if found and not sees_whole_leads(exchange):
        detail = "Your teams hide fields of leads or calls; POST /api/v1/webhook_manual_fires leaves them out."
        raise ProblemError("forbidden", detail, {name: ["would post what your teams hide"]})
    return found


def _callback(exchange: Exchange, parameters: Parameters) -> dict[str, Any]:
    """Read when to call back, and who does."""
    reading = Reading(exchange.fields, exchange.now)
    at = reading.callback(partial(parse_integer, least=0, most=AHEAD_MAX // SECOND))
    owner = read_owner(exchange, reading)
    if at is None and isinstance(owner, CallbackOwner):
        field = next(name for name in OWNER if not is_blank(exchange.fields.get(name)))
        reading.fault(field, "goes with schedule_callback_at or schedule_callback_in_seconds")
    for field, sentences in reading.errors.items():
        for sentence in sentences:
            parameters.refuse(field, sentence)
    agent_id = None if at is None else own_agent_id(exchange)  # it is searched among all agents
    return {"callback_at": at, "callback_owner": owner, "promised_agent_id": agent_id}


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="update_calls_by_caller_id",
        methods=("POST",),
        path="/api/v1/calls/update_by_caller_id/{id}",
        summary="Update a person's calls of an offer",
        handler=update_by_caller_id,
        auth_token=True,
        scope="call:update",
        rate="write",
        safe=False,
        parameters=UPDATE_BY_CALLER_PARAMETERS,
        types={"call_timeframe": whole(1, TIMEFRAME_MINUTES_MAX)},
        required=("offer_token",),
        answer=CALL_ANSWER,
        problems=("unknown_lead_token", "lead_not_live"),
    ),
    Operation(
        name="update_call",
        leads="visible",
        methods=("POST",),
        path="/api/v1/calls/{id}",
        summary="Update a call",
        handler=update,
        auth_token=True,
        scope="call:update",
        rate="write",
        safe=False,
        parameters={"serializer": SERIALIZER, "columns": PAGING_PARAMETERS["columns"], **UPDATE_PARAMETERS},
        types={"serializer": LIST_TYPES["serializer"]},
        answer=CALL_ANSWER,
        problems=("not_supported", "lead_not_live"),
    ),
)
