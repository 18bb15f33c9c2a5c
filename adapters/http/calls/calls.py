"""What can be done with one call over HTTP? Show it, list its events, press keys, delete it; `call_changes` updates it."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from adapters.http.calls.call_lists import LIST_TYPES, SERIALIZER, SERIALIZERS
from adapters.http.exchange.answers import PAGING_PARAMETERS, read_columns_of_serializer, reply_with_record
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.hidden_fields import cut_facts
from adapters.http.exchange.parameters import Parameters
from adapters.http.exchange.problems import ProblemError, not_found, require_row
from adapters.http.exchange.writes import submit_change
from adapters.http.schema.inputs import REFERENCE, TOKENS
from adapters.http.schema.shapes import one_of
from adapters.providers.registry import Unusable, installed
from adapters.reads.ports import Result, Row
from engine.submission.fields import FieldError, is_blank
from engine.submission.reading import TOKENS_MAX, Reading, json_object
from engine.views.call import call_view
from engine.views.call_events import call_events
from engine.views.cells import moment
from schemas.requests import CallDeleteRequested, CallKeysRequested

DIGITS_LENGTH_MAX = 64
"""Most keys of one request: no phone menu takes more."""

EVENT_KEPT = ("type", "id", "created_at", "event")
"""What stays of an event for who does not see all of a lead or call."""

_DIGITS = re.compile(f"[0-9*#A-Da-dwW]{{1,{DIGITS_LENGTH_MAX}}}", re.ASCII)

CALL_ANSWER = one_of(
    "call",
    "Call",
    call_ids={"type": "array", "items": {"type": "integer"}},
    warnings={"type": "array", "items": {"type": "string"}},
)

SHOWN_PARAMETERS: Mapping[str, str] = {
    "serializer": SERIALIZER,
    "columns": PAGING_PARAMETERS["columns"],
    "root": "false: the bare record",
}


async def show(exchange: Exchange) -> Reply:
    """Answer with one call."""
    row = await live_call(exchange)
    parameters = Parameters(exchange.query)
    columns = read_columns_of_serializer(parameters, SERIALIZERS)
    parameters.finish()
    return reply_with_record(exchange, "call", call_view(row, columns))


async def events(exchange: Exchange) -> Reply:
    """Answer with what happened to a call, oldest first."""
    row = await live_call(exchange)
    facts = await exchange.services.reads.call_history(exchange.company_id, row["id"])
    shown = {
        "id": row["id"],
        "uuid": str(row["uuid"]),
        "created_at": moment(row["created_at"]),
        "events": cut_facts(exchange, "call", call_events(row, facts), EVENT_KEPT),
    }
    return reply_with_record(exchange, "call", shown)


async def send_key_press(exchange: Exchange) -> Reply:
    """Press keys on a call in progress."""
    parameters = Parameters(exchange.fields)
    reference = parameters.reference("id", "call")
    digits = parameters.read("digits", _digits)
    parameters.require("id", "digits")
    data = read_tokens(exchange, parameters, "data")
    parameters.finish()
    row = require_row(await exchange.reads.call(exchange.company_id, reference or 0), "call")
    _refuse_keys(row)
    message = CallKeysRequested(
        company_id=exchange.company_id,
        contact_key=row["contact_key"],
        call_id=row["id"],
        digits=digits or "",
        data=data,
    )
    return await submit_change(exchange, message, render)


def _refuse_keys(row: Row) -> None:
    """Refuse to press keys on a call in progress whose carrier cannot, in either direction. Raises `ProblemError`."""
    carrier = installed().get(row["provider"] or "")
    if row["ended_at"] is None and carrier is not None and not isinstance(carrier, Unusable) and not carrier.presses_keys:
        raise ProblemError("not_supported", f"The carrier of this call ({carrier.name}) presses no keys on one in progress.")


async def delete(exchange: Exchange) -> Reply:
    """Delete one call."""
    row = await live_call(exchange)
    parameters = Parameters(exchange.fields)
    columns = read_columns_of_serializer(parameters, SERIALIZERS)
    parameters.finish()
    message = CallDeleteRequested(company_id=exchange.company_id, contact_key=row["contact_key"], call_id=row["id"])
    return await submit_change(exchange, message, partial(render, columns=columns))


async def live_call(exchange: Exchange) -> Row:
    """Return the row of the call in the path. Raises `ProblemError` not_found or deleted."""
    return require_row(await exchange.reads.call(exchange.company_id, exchange.path_id("call")), "call")


async def render(
    exchange: Exchange, result: Result, *, columns: tuple[str, ...] | None = None, **beside: Mapping[str, Any] | None
) -> Reply:
    """Answer with the call of a request, and `beside` it; if there were several, with the newest and the ids of all."""
    answer = result.answer
    row = None
    if answer is not None and answer.record_id is not None:
        row = await exchange.services.reads.call(result.company_id, answer.record_id)
    if answer is None or row is None:
        raise not_found("call")
    more: dict[str, Any] = {"call_ids": list(answer.record_ids)} if len(answer.record_ids) > 1 else {}
    if answer.detail:
        more["warnings"] = [answer.detail]
    return reply_with_record(exchange, "call", call_view(row, columns), status=answer.status, **more, **beside)


def read_tokens(exchange: Exchange, parameters: Parameters, name: str) -> dict[str, Any]:
    """Read an object of tokens, or its JSON as text; faults are collected in the parameters."""
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
        name="send_key_press",
        leads="visible",
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
            "data": "object of tokens; merged into those of the call, null removes one",
        },
        types={"id": REFERENCE, "digits": {"type": "string", "pattern": f"^{_DIGITS.pattern}$"}, "data": TOKENS},
        required=("id", "digits"),
        answer=CALL_ANSWER,
        problems=("call_ended", "not_supported"),
    ),
    Operation(
        name="show_call",
        leads="visible",
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
        leads="visible",
        methods=("GET",),
        path="/api/v1/calls/{id}/events",
        summary="List what happened to a call, oldest first",
        handler=events,
        scope="call:read",
        parameters={"root": "false: the bare record"},
        answer=one_of("call", _EVENTS),
    ),
    Operation(
        name="delete_call",
        leads="visible",
        methods=("DELETE",),
        path="/api/v1/calls/{id}",
        summary="Delete a call; its attempt stays in the ledger of the number",
        handler=delete,
        scope="call:delete",
        rate="write",
        safe=False,
        parameters={"serializer": SERIALIZER, "columns": PAGING_PARAMETERS["columns"]},
        types=_TYPES,
        answer=CALL_ANSWER,
    ),
)
