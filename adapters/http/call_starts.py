"""How does a call begin over HTTP? Asked for by a company's key, or told by a gateway that the person rings us."""

from collections.abc import Mapping
from functools import partial
from typing import Any, get_args

from adapters.http.call_lists import LIST_TYPES, SERIALIZER, read_shown
from adapters.http.calls import CALL_ANSWER, is_known, render
from adapters.http.exchange import Exchange, Operation, Reply
from adapters.http.inputs import ID, MOMENT, MONEY, MONEY_MAX, REFERENCE, TEXT, choice, text, whole
from adapters.http.parameters import Parameters, read_id
from adapters.http.people import country_of, read_number_of
from adapters.http.ports import Row
from adapters.http.writes import change
from engine.identity import contact_key
from engine.submission.fields import FieldError, is_blank, parse_decimal, parse_moment, parse_text
from engine.submission.numbers import Number
from engine.submission.reading import Reading
from schemas.instant import HOUR
from schemas.requests import CallReceived, CallStartRequested, TranscriptionStatus

FORCE_SCOPE = "call:override_window"
LAW_SCOPE = "call:override_legal"
REASON_LENGTH_MAX = 500

REFERENCE_LENGTH_MAX = 200
DETAIL_LENGTH_MAX = 500
TALK_SECONDS_MAX = 24 * 3_600
"""No call lasts a day."""

AHEAD_MAX = HOUR
"""How far a gateway's clock may be ahead of ours before its report is taken for a mistake."""

TRANSCRIPTION_STATUSES: tuple[str, ...] = get_args(TranscriptionStatus)

STATES = ("ringing", "connected", "on-hold", "resumed", "ended")

_WHOSE: Mapping[str, str] = {
    "schedule_id": "the lead of the number on this schedule",
    "force": f"true: also outside the hours that the schedule prefers, never outside the law's; needs {FORCE_SCOPE}",
    "override_reason": f"why this call is placed outside the hours or over the caps of the law; needs {LAW_SCOPE}, by name",
    "serializer": SERIALIZER,
}
START_PARAMETERS: Mapping[str, str] = {
    "from": "number that the call comes from",
    "to": "number to call",
    "lead_id": "the lead that is called",
    "offer_id": "the lead of the number on this offer; made there where there is none",
    **_WHOSE,
    "schedule_id": f"{_WHOSE['schedule_id']}; made and put on it where there is none",
}
MAKE_PARAMETERS: Mapping[str, str] = {
    "lead_id": "the lead that is called; nothing is made",
    "lead_token": "of a schedule or offer, with to",
    "to": "number to call",
    "from": "number that the call comes from; the lead's own, where it is left out",
    **_WHOSE,
    "schedule_id": f"{_WHOSE['schedule_id']}, with to; where there is none, one is made of its offer alone",
}
RECEIVE_PARAMETERS: Mapping[str, str] = {
    "from": "number of the person who calls",
    "to": "number of the company that is called",
    "call_ref": "the gateway's own name of the call, the same in every report of it",
    "state": ", ".join(STATES),
    "occurred_at": "when it happened; now",
    "buyer_id": "buyer who is put through",
    "buyer_answered_at": "when the buyer answered",
    "talk_seconds": "seconds of talk, with ended",
    "hung_up_by": "caller, buyer or us, with ended",
    "hangup_cause": "the provider's word for it",
    "cost": "what the provider charges",
    "recording_url": "where the recording is",
    "provider": "name of the gateway's provider",
    "provider_sid": "the provider's own id of the call",
    "agent_id": "who speaks for the company",
    "ring_pool_id": "the pool that the number called is of",
    "provider_configuration_id": "the account or trunk that carries the call",
    "transcription_status": f"of the recording: {', '.join(TRANSCRIPTION_STATUSES)}",
    "detail": "anything else, up to 500 characters",
}


async def start(exchange: Exchange) -> Reply:
    """Have a person called now."""
    parameters = Parameters(exchange.fields)
    for name in ("from", "to"):
        if is_blank(exchange.fields.get(name)):
            parameters.refuse(name, "must be given")
    return await _start(exchange, parameters, offer_id=parameters.id("offer_id"), enrols=True)


async def make(exchange: Exchange) -> Reply:
    """Have a person called now, without putting anybody on a schedule."""
    parameters = Parameters(exchange.fields)
    offer_id = None
    token = exchange.fields.get("lead_token")
    schedule_id = None
    if not is_blank(token):
        target = await exchange.target(token)
        offer_id, schedule_id = target.offer_id, target.schedule_id
    if is_blank(exchange.fields.get("lead_id")):
        if is_blank(exchange.fields.get("to")):
            parameters.refuse("to", "must be given where there is no lead_id")
        if is_blank(token) and is_blank(exchange.fields.get("schedule_id")):
            parameters.refuse("schedule_id", "must be given, or a lead_token, where there is no lead_id")
    return await _start(exchange, parameters, offer_id=offer_id, schedule_id=schedule_id, enrols=False)


async def _start(
    exchange: Exchange, parameters: Parameters, *, offer_id: int | None, enrols: bool, schedule_id: int | None = None
) -> Reply:
    columns = read_shown(parameters)
    company_id = exchange.company_id
    schedule_id = parameters.id("schedule_id") if schedule_id is None else schedule_id
    for field, record_type, found in (("schedule_id", "schedule", schedule_id), ("offer_id", "offer", offer_id)):
        if found is not None and not await is_known(exchange, record_type, found):
            parameters.refuse(field, f"names no {record_type}: {found}")
    row = await _lead(exchange, parameters)
    called = read_number_of(exchange, parameters, "to")
    caller = read_number_of(exchange, parameters, "from")
    force = bool(parameters.flag("force"))
    reason = parameters.read("override_reason", partial(parse_text, most=REASON_LENGTH_MAX))
    _check_lead(parameters, row, called, schedule_id, offer_id)
    parameters.finish()
    if force and exchange.access is not None:
        exchange.access.require(FORCE_SCOPE)
    if reason is not None and exchange.access is not None:
        exchange.access.require_named(LAW_SCOPE)
    place = _place(exchange, called) if row is None and called is not None else {}
    number = row["caller_id"] if row is not None else "" if called is None else called.e164
    key = row["contact_key"] if row is not None else contact_key(company_id, number, None)
    message = CallStartRequested(
        company_id=company_id,
        contact_key=key or "",
        lead_id=None if row is None else row["id"],
        schedule_id=schedule_id,
        offer_id=offer_id,
        enrols=enrols,
        caller_id=number,
        from_number=None if caller is None else caller.e164,
        force=force,
        override_reason=reason,
        override_key_id=None if reason is None or exchange.access is None else exchange.access.key_id,
        **place,
    )
    return await change(exchange, message, partial(render, columns=columns))


async def _lead(exchange: Exchange, parameters: Parameters) -> Row | None:
    """Return the row of the lead that is named; a fault where it is nobody's, or has no number."""
    reference = parameters.read("lead_id", _reference)
    if reference is None:
        return None
    row = await exchange.services.reads.lead(exchange.company_id, reference)
    if row is None or row["deleted_at"] is not None:
        parameters.refuse("lead_id", f"names no lead: {reference}")
        return None
    if not row["caller_id"]:
        parameters.refuse("lead_id", "has no telephone number", code="invalid_number")
    return row


def _check_lead(
    parameters: Parameters, row: Row | None, called: Number | None, schedule_id: int | None, offer_id: int | None
) -> None:
    """Refuse what contradicts the lead that is named."""
    if row is None:
        return
    if called is not None and called.e164 != row["caller_id"]:
        parameters.refuse("to", "is not the number of the lead")
    if schedule_id is not None and schedule_id != row["schedule_id"]:
        parameters.refuse("schedule_id", "is not the schedule of the lead")
    if offer_id is not None and offer_id != row["offer_id"]:
        parameters.refuse("offer_id", "is not the offer of the lead")


async def receive(exchange: Exchange) -> Reply:
    """Take in how far a call of a person to one of the company's numbers is."""
    parameters = Parameters(exchange.fields)
    for name in ("from", "to", "call_ref", "state"):
        if is_blank(exchange.fields.get(name)):
            parameters.refuse(name, "must be given")
    person, called = read_number_of(exchange, parameters, "from"), read_number_of(exchange, parameters, "to")
    reference = parameters.read("call_ref", partial(parse_text, most=REFERENCE_LENGTH_MAX))
    state = parameters.choice("state", STATES)
    occurred_at = parameters.read("occurred_at", parse_moment, code="bad_date")
    if occurred_at is not None and occurred_at > exchange.now + AHEAD_MAX:
        parameters.refuse("occurred_at", "must not be ahead of us", code="bad_date")
    found = await _told(exchange, parameters)
    parameters.finish()
    if called is not None and exchange.services.source.rules.number(exchange.company_id, called.e164) is None:
        await exchange.services.gate.refresh()  # a number that was just bought is known to whom it is for
    message = CallReceived(
        company_id=exchange.company_id,
        contact_key=contact_key(exchange.company_id, "" if person is None else person.e164, None) or "",
        gateway_ref=reference or "",
        state=state or "ended",  # type: ignore[arg-type]  # one of STATES, or `finish` has raised
        from_number="" if person is None else person.e164,
        number_called="" if called is None else called.e164,
        occurred_at=exchange.now if occurred_at is None else occurred_at,
        **found,
        **({} if person is None else _place(exchange, person)),
    )
    return await change(exchange, message, render)


async def _told(exchange: Exchange, parameters: Parameters) -> dict[str, Any]:
    buyer_id = parameters.id("buyer_id")
    if buyer_id is not None and not await is_known(exchange, "buyer", buyer_id):
        parameters.refuse("buyer_id", f"names no buyer: {buyer_id}")
    return {
        "buyer_id": buyer_id,
        "buyer_answered_at": parameters.read("buyer_answered_at", parse_moment, code="bad_date"),
        "talk_seconds": parameters.whole("talk_seconds", least=0, most=TALK_SECONDS_MAX) or 0,
        "hung_up_by": parameters.choice("hung_up_by", ("caller", "buyer", "us")),
        "hangup_cause": parameters.text("hangup_cause"),
        "cost": parameters.read("cost", partial(parse_decimal, least=0, most=MONEY_MAX)),
        "recording_url": parameters.read("recording_url", partial(parse_text, most=2_000)),
        "provider": parameters.text("provider"),
        "provider_ref": parameters.text("provider_sid"),
        **{name: parameters.id(name) for name in ("agent_id", "ring_pool_id", "provider_configuration_id")},
        "transcription_status": parameters.choice("transcription_status", TRANSCRIPTION_STATUSES),
        "detail": parameters.read("detail", partial(parse_text, most=DETAIL_LENGTH_MAX)),
    }


def _place(exchange: Exchange, number: Number) -> dict[str, Any]:
    """Return where the person may be, as far as the number says: for a lead that is made of it."""
    country = number.country or country_of(exchange.services.source.rules, exchange.company_id)
    place = Reading({}, exchange.now).place(country, number)
    columns = {} if number.country is None else {"country": number.country}
    return {"columns": columns, "zones": place.zones, "zone_source": place.source, "states": place.states}


def _reference(value: Any) -> int | str:
    found = read_id(str(value)) if isinstance(value, str | int) and not isinstance(value, bool) else None
    if found is None:
        raise FieldError("must be the id or uuid of a lead")
    return found


_GUARDS = (
    *("schedule_inactive", "suppressed_contact", "invalid_number", "quiet_hours", "frequency_cap", "outside_hours"),
    *("number_recently_dialed", "requests_unread", "call_in_progress"),
)
_TYPES = {"serializer": LIST_TYPES["serializer"], "lead_id": REFERENCE, "override_reason": TEXT}

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="start_call",
        methods=("POST",),
        path="/api/v1/calls",
        summary="Call somebody now",
        handler=start,
        scope="call:start",
        rate="call_start",
        safe=False,
        parameters=START_PARAMETERS,
        types=_TYPES,
        required=("from", "to"),
        answer=CALL_ANSWER,
        created=True,
        problems=_GUARDS,
    ),
    Operation(
        name="make_call",
        methods=("POST",),
        path="/api/v1/schedules/make_call",
        summary="Call a lead now, or a number without putting it on a schedule",
        handler=make,
        scope="call:start",
        rate="call_start",
        safe=False,
        parameters=MAKE_PARAMETERS,
        types=_TYPES,
        answer=CALL_ANSWER,
        created=True,
        problems=("unknown_lead_token", *_GUARDS),
    ),
    Operation(
        name="receive_call",
        methods=("POST",),
        path="/api/v1/calls/received",
        summary="Tell that a person calls one of the company's numbers, and how far the call is",
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
            "cost": MONEY,
            "call_ref": text(REFERENCE_LENGTH_MAX, least=1),
            **dict.fromkeys(("hangup_cause", "recording_url", "provider", "provider_sid", "detail"), TEXT),
        },
        required=("from", "to", "call_ref", "state"),
        answer=CALL_ANSWER,
        problems=("invalid_number", "bad_date"),
    ),
)
