"""How does a gateway report an inbound call and its progress? In reports, each complete in itself."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, get_args

from adapters.http.calls.calls import render
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters
from adapters.http.exchange.people import country_of, location_fields, read_number_field
from adapters.http.exchange.references import has_been_own, is_known
from adapters.http.exchange.writes import submit_change
from adapters.http.schema.inputs import BOOLEAN, ID, MOMENT, MONEY, TEXT, choice, text, whole
from adapters.http.schema.shapes import nullable, one_of
from adapters.reads.ports import Result
from engine.submission.callers import SAID_LENGTH_MAX, caller_key, caller_of, said_by_carrier
from engine.submission.fields import parse_amount, parse_moment, parse_text
from engine.views.call_route import route_of
from schemas.instant import Instant
from schemas.requests import CallReceived, TranscriptionStatus

REFERENCE_LENGTH_MAX = 200
DETAIL_LENGTH_MAX = 500
TALK_SECONDS_MAX = 24 * 3_600
"""A day: no call lasts longer."""

TRANSCRIPTION_STATUSES: tuple[str, ...] = get_args(TranscriptionStatus)

STATES = ("ringing", "connected", "on-hold", "resumed", "ended")
RECEIVE_PARAMETERS: Mapping[str, str] = {
    "from": "number of the person who calls, as the carrier says it; anonymous, an address or nothing where there is none",
    "to": "number of the company that is called",
    "call_ref": "the gateway's own id of the call, the same in every report of it",
    "state": ", ".join(STATES),
    "occurred_at": "when it happened; default: now",
    "buyer_id": "buyer to whom the call is connected",
    "buyer_answered_at": "when the buyer answered",
    "talk_seconds": "seconds of talk, with ended",
    "hung_up_by": "caller, buyer or us, with ended",
    "hangup_cause": "hangup cause as the provider names it",
    "cost": "what the provider charges",
    "recording_url": "URL of the recording",
    "provider": "name of the gateway's provider",
    "provider_sid": "the provider's own id of the call",
    "agent_id": "agent who speaks for the company",
    "ring_pool_id": "ring pool of the called number",
    "provider_configuration_id": "the account or trunk that carries the call",
    "transcription_status": f"of the recording: {', '.join(TRANSCRIPTION_STATUSES)}",
    "detail": "anything else, up to 500 characters",
    "route": "false: the gateway chooses the buyer itself; default: a ringing or connected call without buyer_id is routed",
    "unanswered_buyer_id": "buyer of the route who did not answer: the call is routed to another one",
    "unanswered_agent_id": "the same, of an agent",
    "rings_several": "true: the gateway rings several buyers at once, as buyer_legs of the route say",
}

ROUTE_WAIT_SECONDS = 5.0
"""How long a report waits for its route: a caller hears one ring in that time. Then the answer is `pending`."""

ROUTE_POLL_SECONDS = 0.05

ROUTE_ACTIONS = ("pending", "connect", "voicemail", "message", "callback", "hang_up", "reject")

_LEG: dict[str, Any] = {
    "type": "object",
    "properties": {
        "buyer_id": {"type": "integer"},
        "number": {"type": "string"},
        "timeout_seconds": {"type": "integer"},
        "dtmf_tones": nullable("string"),
    },
}

ROUTE: dict[str, Any] = {
    "type": ["object", "null"],
    "properties": {
        "action": {"type": "string", "enum": list(ROUTE_ACTIONS)},
        "buyer_id": nullable("integer"),
        "buyer_group_id": nullable("integer"),
        "buyer_number": nullable("string"),
        "buyer_timeout_seconds": nullable("integer"),
        "buyer_dtmf_tones": nullable("string"),
        "agent_id": nullable("integer"),
        "buyer_legs": {"type": "array", "items": _LEG},
        "reason": nullable("string"),
        "until": {"type": ["string", "null"], "format": "date-time"},
        "message": nullable("string"),
    },
}


async def receive(exchange: Exchange) -> Reply:
    """Accept a report of an inbound call to one of the company's numbers."""
    parameters = Parameters(exchange.fields)
    parameters.require("to", "call_ref", "state")
    said, called = _said_of_caller(exchange, parameters), read_number_field(exchange, parameters, "to")
    person = caller_of(said, country_of(exchange.services.source.rules, exchange.company_id))
    reference = parameters.read("call_ref", partial(parse_text, most=REFERENCE_LENGTH_MAX))
    state = parameters.choice("state", STATES)
    occurred_at = read_occurred(exchange, parameters, "occurred_at")
    wants_route = parameters.flag("route") is not False and state in {"ringing", "connected"}
    found = await _told(exchange, parameters)
    parameters.finish()
    if called is not None and exchange.services.source.rules.number(exchange.company_id, called.e164) is None:
        await exchange.services.authenticator.refresh()  # a number that was just bought is known to whom it is for
    message = CallReceived(
        company_id=exchange.company_id,
        contact_key=caller_key(exchange.company_id, person, reference or ""),
        gateway_ref=reference or "",
        state=state or "ended",  # type: ignore[arg-type]  # one of STATES, or `finish` has raised
        from_number=said if person is None else person.e164,
        number_called="" if called is None else called.e164,
        occurred_at=occurred_at,
        wants_route=wants_route,
        **found,
        **({} if person is None else location_fields(exchange, person)),
    )
    return await submit_change(exchange, message, _render_routed if wants_route else render)


def _said_of_caller(exchange: Exchange, parameters: Parameters) -> str:
    """Return what the gateway says of the person who calls: a number, or what the carrier says instead."""
    if "from" not in exchange.fields:
        parameters.refuse("from", "must be given; send it empty where the caller withholds the number")
    said = parameters.read("from", partial(parse_text, most=SAID_LENGTH_MAX))
    return said_by_carrier(said)


async def _render_routed(exchange: Exchange, result: Result) -> Reply:
    """Answer with the call, and where the gateway connects it."""
    call_id = None if result.answer is None else result.answer.record_id
    found = None if call_id is None else await _route(exchange, result.company_id, call_id)
    return await render(exchange, result, route=found)


async def _route(exchange: Exchange, company_id: int, call_id: int) -> dict[str, Any] | None:
    """Return the route of a call as it was decided last; None where nobody routes it. Waits while it is requested."""
    monotonic = exchange.services.monotonic
    ends_at = monotonic() + ROUTE_WAIT_SECONDS
    while True:
        found = route_of(await exchange.services.reads.call_history(company_id, call_id))
        if found is None or found["action"] != "pending" or monotonic() >= ends_at:
            return found
        await asyncio.sleep(ROUTE_POLL_SECONDS)


def read_occurred(exchange: Exchange, parameters: Parameters, field: str) -> Instant:
    """Read when something happened at a gateway; default: now. Faults are collected in the parameters.

    If the gateway's clock is ahead of ours, the engine takes now instead: the event itself is true.
    """
    moment = parameters.read(field, parse_moment, code="bad_date")
    return exchange.now if moment is None else moment


async def _told(exchange: Exchange, parameters: Parameters) -> dict[str, Any]:
    buyers = {field: parameters.id(field) for field in ("buyer_id", "unanswered_buyer_id")}
    for field, buyer_id in buyers.items():
        if buyer_id is not None and not await is_known(exchange, "buyer", buyer_id):
            parameters.refuse(field, f"names no buyer: {buyer_id}")
    used = {name: parameters.id(f"{name}_id") for name in ("provider_configuration", "ring_pool")}
    for name, record_id in used.items():
        # A call outlives the records that it names: one that was deleted meanwhile is still named.
        if record_id is not None and not await has_been_own(exchange, name, record_id):
            parameters.refuse(f"{name}_id", f"names no {name.replace('_', ' ')}: {record_id}")
    return {
        **buyers,
        "buyer_answered_at": parameters.read("buyer_answered_at", parse_moment, code="bad_date"),
        "talk_seconds": parameters.whole("talk_seconds", least=0, most=TALK_SECONDS_MAX) or 0,
        "hung_up_by": parameters.choice("hung_up_by", ("caller", "buyer", "us")),
        "hangup_cause": parameters.text("hangup_cause"),
        "cost": parameters.read("cost", partial(parse_amount, least=0)),
        "recording_url": parameters.read("recording_url", partial(parse_text, most=2_000)),
        "provider": parameters.text("provider"),
        "provider_ref": parameters.text("provider_sid"),
        **{name: parameters.id(name) for name in ("agent_id", "unanswered_agent_id")},
        **{f"{name}_id": record_id for name, record_id in used.items()},
        "transcription_status": parameters.choice("transcription_status", TRANSCRIPTION_STATUSES),
        "detail": parameters.read("detail", partial(parse_text, most=DETAIL_LENGTH_MAX)),
        "rings_several": parameters.flag("rings_several") or False,
    }


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="receive_call",
        methods=("POST",),
        path="/api/v1/calls/received",
        summary="Report an inbound call to one of the company's numbers, and its progress",
        handler=receive,
        scope="call:receive",
        rate="write",
        safe=False,
        parameters=RECEIVE_PARAMETERS,
        types={
            "state": choice(STATES),
            "occurred_at": MOMENT,
            "buyer_answered_at": MOMENT,
            "talk_seconds": whole(0, TALK_SECONDS_MAX),
            "hung_up_by": choice(("caller", "buyer", "us")),
            "transcription_status": choice(TRANSCRIPTION_STATUSES),
            "agent_id": ID,
            "unanswered_buyer_id": ID,
            "unanswered_agent_id": ID,
            **dict.fromkeys(("route", "rings_several"), BOOLEAN),
            "cost": MONEY,
            "from": text(SAID_LENGTH_MAX),
            "call_ref": text(REFERENCE_LENGTH_MAX, least=1),
            **dict.fromkeys(("hangup_cause", "recording_url", "provider", "provider_sid", "detail"), TEXT),
        },
        required=("from", "to", "call_ref", "state"),
        answer=one_of("call", "Call", call_ids={"type": "array", "items": {"type": "integer"}}, route=ROUTE),
        problems=("invalid_number", "bad_date", "deleted"),
    ),
)
