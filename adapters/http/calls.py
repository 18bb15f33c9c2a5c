"""What can be done with one call over HTTP? Shown, told step by step, changed, given keys, deleted.

Its contact decides; references are checked here first, so that every bad field is told at once.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from msgspec import UNSET, UnsetType

from adapters.http.answers import PAGING_PARAMETERS, one
from adapters.http.call_lists import LIST_TYPES, SERIALIZER, read_shown
from adapters.http.exchange import Exchange, Operation, Reply
from adapters.http.inputs import MONEY_MAX, NOTES_LENGTH_MAX, REFERENCE, TOKENS, whole
from adapters.http.parameters import Parameters, read_id
from adapters.http.people import contact_key_of
from adapters.http.ports import Result, Row
from adapters.http.problems import ProblemError, not_found
from adapters.http.shapes import one_of
from adapters.http.submissions import SUBMISSION_PARAMETERS
from adapters.http.writes import change
from engine.submission.fields import FieldError, is_blank, parse_decimal, parse_id, parse_integer, parse_text
from engine.submission.reading import AHEAD_MAX, TOKENS_MAX, Reading, json_object
from engine.views.call import call_view
from engine.views.call_events import call_events
from engine.views.cells import moment
from schemas.instant import MINUTE, SECOND, Instant
from schemas.records import Buyer, TrafficSource
from schemas.requests import CallDeleteRequested, CallKeysRequested, CallUpdateRequested

T = TypeVar("T")

TIMEFRAME_MINUTES_MAX = 527_040
"""366 days: no call older than that is changed by number."""

FIRED_MAX = 20
"""Webhooks fired for one call in one request."""

DIGITS_LENGTH_MAX = 64
_DIGITS = re.compile(r"[0-9*#A-Da-dwW]{1,64}", re.ASCII)

CALL_ANSWER = one_of("call", "Call", call_ids={"type": "array", "items": {"type": "integer"}})

SHOWN_PARAMETERS: Mapping[str, str] = {
    "serializer": SERIALIZER,
    "columns": PAGING_PARAMETERS["columns"],
    "root": "false: the bare record",
}

_MONEY: Mapping[str, str] = {
    "revenue": "what the buyer pays for the call",
    "add_revenue": "amount on top of the revenue; below zero takes away",
    "add_payout": "amount on top of the payout; below zero takes away",
}
_DISPOSITION: Mapping[str, str] = {
    "call_disposition_id": "how the call went; replaces what was said before, blank takes it back",
    "agent_call_disposition_notes": f"up to {NOTES_LENGTH_MAX} characters; blank takes them back",
    "schedule_callback_at": "when to call back, for a disposition that needs a time",
    "schedule_callback_in_seconds": SUBMISSION_PARAMETERS["schedule_callback_in_seconds"],
}
UPDATE_PARAMETERS: Mapping[str, str] = {
    "post_call_tokens": "object of tokens; merged into those of the call, null takes one away",
    **_MONEY,
    "payout": "what the traffic source is paid for the call",
    "buyer_converted": "true or false; the lead converts with it",
    "svc_buyer_id": "internal id or user_buyer_id of the buyer who takes the place of the present one",
    "offer_converted": "true or false: the traffic source converted",
    "svc_traffic_source_id": "internal id or user_traffic_source_id of the traffic source that takes its place",
    "contact_field_type": "id of an agent script and field type",
    "fire_outgoing_webhook_ids": f"outgoing webhooks to fire again for the call, at most {FIRED_MAX}",
    "manual_transcribe": "true is not supported yet: there is no transcriber",
    **_DISPOSITION,
}
UPDATE_BY_CALLER_PARAMETERS: Mapping[str, str] = {
    "offer_token": "lead token of the offer whose calls are meant; required",
    "call_timeframe": "only calls that began within so many minutes",
    **_MONEY,
    "buyer_converted": "true or false; the lead converts with it",
    **_DISPOSITION,
}


async def show(exchange: Exchange) -> Reply:
    """Answer with one call."""
    row = await live_call(exchange)
    parameters = Parameters(exchange.query)
    columns = read_shown(parameters)
    parameters.finish()
    return one(exchange, "call", call_view(row, columns))


async def events(exchange: Exchange) -> Reply:
    """Answer with what happened to a call, oldest first."""
    row = await live_call(exchange)
    facts = await exchange.services.reads.call_history(exchange.company_id, row["id"])
    shown = {
        "id": row["id"],
        "uuid": str(row["uuid"]),
        "created_at": moment(row["created_at"]),
        "events": call_events(row, facts),
    }
    return one(exchange, "call", shown)


async def update(exchange: Exchange) -> Reply:
    """Change one call."""
    company_id = exchange.company_id
    row = await live_call(exchange)

    def read(parameters: Parameters) -> tuple[tuple[str, ...] | None, dict[str, Any]]:
        return read_shown(parameters), _changes(exchange, parameters)

    columns, fields = await known(exchange, read)
    message = CallUpdateRequested(company_id=company_id, contact_key=row["contact_key"], call_id=row["id"], **fields)
    return await change(exchange, message, partial(render, columns=columns))


async def update_by_caller_id(exchange: Exchange) -> Reply:
    """Change a person's calls of an offer."""
    company_id = exchange.company_id  # a token alone opens no money
    target = await exchange.target(exchange.fields.get("offer_token"), field="offer_token")
    if target.offer_id is None:
        raise ProblemError("unknown_lead_token", "No offer has this offer_token.")
    contact_key = await contact_key_of(exchange, exchange.path["id"], target)

    def read(parameters: Parameters) -> tuple[int | None, dict[str, Any]]:
        minutes = parameters.whole("call_timeframe", least=1, most=TIMEFRAME_MINUTES_MAX)
        return minutes, _changes(exchange, parameters)

    minutes, fields = await known(exchange, read)
    message = CallUpdateRequested(
        company_id=company_id,
        contact_key=contact_key,
        offer_id=target.offer_id,
        since=None if minutes is None else exchange.now - minutes * MINUTE,
        **{name: value for name, value in fields.items() if name not in _OF_ONE_CALL},
    )
    return await change(exchange, message, render)


_OF_ONE_CALL = frozenset(
    {"data", "payout", "offer_converted", "buyer_id", "traffic_source_id", "contact_field_type", "outgoing_webhook_ids"}
)
"""What the interface lets be changed of one call only, not by number."""


async def send_key_press(exchange: Exchange) -> Reply:
    """Have keys pressed on a call in progress."""
    parameters = Parameters(exchange.fields)
    reference = parameters.read("id", _reference)
    digits = parameters.read("digits", _digits)
    for name in ("id", "digits"):
        if is_blank(exchange.fields.get(name)):
            parameters.refuse(name, "must be given")
    data = tokens(exchange, parameters, "data")
    parameters.finish()
    row = await exchange.services.reads.call(exchange.company_id, reference or 0)
    row = _live(row)
    message = CallKeysRequested(
        company_id=exchange.company_id,
        contact_key=row["contact_key"],
        call_id=row["id"],
        digits=digits or "",
        data=data,
    )
    return await change(exchange, message, render)


async def delete(exchange: Exchange) -> Reply:
    """Delete one call."""
    row = await live_call(exchange)
    parameters = Parameters(exchange.fields)
    columns = read_shown(parameters)
    parameters.finish()
    message = CallDeleteRequested(company_id=exchange.company_id, contact_key=row["contact_key"], call_id=row["id"])
    return await change(exchange, message, partial(render, columns=columns))


async def live_call(exchange: Exchange) -> Row:
    """Return the row of the call in the path. Raises `ProblemError` not_found or deleted."""
    return _live(await exchange.services.reads.call(exchange.company_id, exchange.path_id("call")))


def _live(row: Row | None) -> Row:
    if row is None:
        raise not_found("call")
    if row["deleted_at"] is not None:
        raise ProblemError("deleted", "This call was deleted.")
    return row


async def render(exchange: Exchange, result: Result, *, columns: tuple[str, ...] | None = None) -> Reply:
    """Answer with the call that a request was about; where it was about several, with the newest and the ids of all."""
    answer = result.answer
    row = None
    if answer is not None and answer.record_id is not None:
        row = await exchange.services.reads.call(result.company_id, answer.record_id)
    if answer is None or row is None:
        raise not_found("call")
    more = {"call_ids": list(answer.record_ids)} if len(answer.record_ids) > 1 else {}
    return one(exchange, "call", call_view(row, columns), status=answer.status, **more)


def tokens(exchange: Exchange, parameters: Parameters, name: str) -> dict[str, Any]:
    """Read an object of tokens, or its JSON as text; faults are kept in the parameters."""
    value = exchange.fields.get(name)
    if is_blank(value):
        return {}
    reading = Reading({}, exchange.now)
    if isinstance(value, str):
        value = reading.parsed(name, json_object, value)
    if isinstance(value, Mapping):
        for token, said in value.items():
            reading.token(token, said, field=f"{name}.{token}"[:100])
        if len(reading.data) > TOKENS_MAX:
            reading.fault(name, f"must have at most {TOKENS_MAX} tokens")
    elif name not in reading.errors:
        reading.fault(name, "must be an object of tokens")
    for field, sentences in reading.errors.items():
        for sentence in sentences:
            parameters.refuse(field, sentence)
    return reading.data


def _changes(exchange: Exchange, parameters: Parameters) -> dict[str, Any]:
    """Read what is to become of a call; faults are kept in the parameters."""
    if parameters.flag("manual_transcribe"):
        parameters.refuse("manual_transcribe", "needs a transcriber, and none is configured", code="not_supported")
    given: dict[str, Any] = {
        "revenue": parameters.read("revenue", partial(parse_decimal, least=0, most=MONEY_MAX)),
        "payout": parameters.read("payout", partial(parse_decimal, least=0, most=MONEY_MAX)),
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
    added = partial(parse_decimal, least=-MONEY_MAX, most=MONEY_MAX)
    return {
        **{name: _unless_missing(value) for name, value in given.items()},
        **{name: value for name, value in blank_clears.items() if name in exchange.fields},
        "add_revenue": parameters.read("add_revenue", added) or 0.0,
        "add_payout": parameters.read("add_payout", added) or 0.0,
        "data": tokens(exchange, parameters, "post_call_tokens"),
        "outgoing_webhook_ids": _webhooks(exchange, parameters),
        "callback_at": _callback(exchange, parameters),
    }


def _unless_missing(value: Any) -> Any | UnsetType:
    return UNSET if value is None else value


def _named(exchange: Exchange, parameters: Parameters, field: str) -> int | None:
    """Return the buyer or traffic source of an internal id, else of the company's own id for it."""
    text = parameters.text(field)
    if text is None:
        return None
    record_type, kind, own = _NAMED[field]
    rules, company_id = exchange.services.source.rules, exchange.company_id
    if text.isascii() and text.isdigit() and is_own(exchange, record_type, int(text[:17])):
        return int(text[:17])
    for record in rules.records(record_type, company_id):
        if getattr(rules.body(kind, record_type, record.id), own, None) == text:
            return record.id
    parameters.refuse(field, f"names no {record_type.replace('_', ' ')}: {text[:100]}")
    return None


_NAMED: Mapping[str, tuple[str, type[Buyer | TrafficSource], str]] = {
    "svc_buyer_id": ("buyer", Buyer, "user_buyer_id"),
    "svc_traffic_source_id": ("traffic_source", TrafficSource, "user_traffic_source_id"),
}


async def is_known(exchange: Exchange, record_type: str, record_id: int) -> bool:
    """Tell whether a live record of the company is there, having read the rules to their end before saying no."""
    if is_own(exchange, record_type, record_id):
        return True
    await exchange.services.gate.refresh()
    return is_own(exchange, record_type, record_id)


async def known(exchange: Exchange, read: Callable[[Parameters], T]) -> T:
    """Return what is read of the fields; before a record is refused as unknown, the rules are read to their end."""
    parameters = Parameters(exchange.fields)
    found = read(parameters)
    if any(said.startswith(UNKNOWN) for sentences in parameters.errors.values() for said in sentences):
        await exchange.services.gate.refresh()
        parameters = Parameters(exchange.fields)
        found = read(parameters)
    parameters.finish()
    return found


UNKNOWN = "names no "
"""How a sentence begins that refuses a reference."""


def is_own(exchange: Exchange, record_type: str, record_id: int) -> bool:
    """Tell whether a live record of the company is there."""
    record = exchange.services.source.rules.record(record_type, record_id)
    return record is not None and record.company_id == exchange.company_id and record.deleted_at is None


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
    return found


def _callback(exchange: Exchange, parameters: Parameters) -> Instant | None:
    reading = Reading(exchange.fields, exchange.now)
    found = reading.callback(partial(parse_integer, least=0, most=AHEAD_MAX // SECOND))
    for field, sentences in reading.errors.items():
        for sentence in sentences:
            parameters.refuse(field, sentence)
    return found


def _reference(value: Any) -> int | str:
    found = read_id(str(value)) if isinstance(value, str | int) and not isinstance(value, bool) else None
    if found is None:
        raise FieldError("must be the id or uuid of a call")
    return found


def _digits(value: Any) -> str:
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if _DIGITS.fullmatch(text) is None:
        raise FieldError(f"must be 1 to {DIGITS_LENGTH_MAX} of 0-9, *, #, A-D, and w for a pause")
    return text


_EVENTS: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "uuid": {"type": "string", "format": "uuid"},
        "created_at": {"type": ["string", "null"], "format": "date-time"},
        "events": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["type", "id", "created_at"],
                "properties": {
                    "type": {
                        "type": "string",
                        "enum": ["Leg", "ProviderLog", "AuditLog", "WebhookLog", "CallRecording", "ScheduleDecision"],
                    },
                    "id": {"type": "string"},
                    "created_at": {"type": ["string", "null"], "format": "date-time"},
                    "event": {"type": "string"},
                },
            },
        },
    },
}
_TYPES = {"serializer": LIST_TYPES["serializer"]}

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
        problems=("unknown_lead_token",),
    ),
    Operation(
        name="send_key_press",
        methods=("POST",),
        path="/api/v1/calls/send_key_press",
        summary="Press keys on a call in progress",
        handler=send_key_press,
        scope="call:key_press",
        rate="write",
        safe=False,
        parameters={
            "id": "id or uuid of the call",
            "digits": "0-9, *, #, A-D, and w for a pause",
            "data": "object of tokens; merged into those of the call, null takes one away",
        },
        types={"id": REFERENCE, "digits": {"type": "string", "pattern": "^[0-9*#A-Da-dwW]{1,64}$"}, "data": TOKENS},
        required=("id", "digits"),
        answer=CALL_ANSWER,
        problems=("call_ended", "not_supported"),
    ),
    Operation(
        name="show_call",
        methods=("GET",),
        path="/api/v1/calls/{id}",
        summary="Show a call",
        handler=show,
        scope="call:read",
        parameters=SHOWN_PARAMETERS,
        types=_TYPES,
        answer=CALL_ANSWER,
    ),
    Operation(
        name="list_call_events",
        methods=("GET",),
        path="/api/v1/calls/{id}/events",
        summary="List what happened to a call, oldest first",
        handler=events,
        scope="call:read",
        parameters={"root": "false: the bare record"},
        answer=one_of("call", _EVENTS),
    ),
    Operation(
        name="update_call",
        methods=("POST",),
        path="/api/v1/calls/{id}",
        summary="Update a call",
        handler=update,
        auth_token=True,
        scope="call:update",
        rate="write",
        safe=False,
        parameters={"serializer": SERIALIZER, **UPDATE_PARAMETERS},
        types=_TYPES,
        answer=CALL_ANSWER,
        problems=("not_supported",),
    ),
    Operation(
        name="delete_call",
        methods=("DELETE",),
        path="/api/v1/calls/{id}",
        summary="Delete a call; its attempt stays in the ledger of the number",
        handler=delete,
        scope="call:delete",
        rate="write",
        safe=False,
        parameters={"serializer": SERIALIZER},
        types=_TYPES,
        answer=CALL_ANSWER,
    ),
)
