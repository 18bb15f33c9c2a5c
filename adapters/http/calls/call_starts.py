"""How is a call started now over HTTP? By lead or by number; the contact decides whether the call is allowed."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from adapters.http.agents.own_agent import own_agent_id
from adapters.http.calls.call_lists import LIST_TYPES, SERIALIZER, SERIALIZERS
from adapters.http.calls.calls import CALL_ANSWER, render
from adapters.http.exchange.answers import PAGING_PARAMETERS, read_columns_of_serializer
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters
from adapters.http.exchange.people import location_fields, read_number_field
from adapters.http.exchange.references import is_known
from adapters.http.exchange.writes import submit_change
from adapters.http.schema.inputs import REFERENCE, TEXT
from adapters.reads.ports import Row
from engine.identity import contact_key
from engine.submission.dialling import listed_countries, undialled_sentence, why_undialled
from engine.submission.fields import is_blank, parse_text
from engine.submission.numbers import ParsedNumber
from schemas.records import Company, Offer
from schemas.requests import CallStartRequested

FORCE_SCOPE = "call:override_window"
LAW_SCOPE = "call:override_legal"
REASON_LENGTH_MAX = 500

_WHOSE: Mapping[str, str] = {
    "schedule_id": "the lead of the number on this schedule",
    "force": f"true: also outside the hours that the schedule prefers, never outside the law's; needs {FORCE_SCOPE}",
    "override_reason": f"why this call is placed outside the hours or over the caps of the law; needs {LAW_SCOPE}, by name",
    "serializer": SERIALIZER,
    "columns": PAGING_PARAMETERS["columns"],
}
START_PARAMETERS: Mapping[str, str] = {
    "from": "number that the call comes from",
    "to": "number to call",
    "lead_id": "lead to call",
    "offer_id": "the lead of the number on this offer; created if there is none",
    **_WHOSE,
    "schedule_id": f"{_WHOSE['schedule_id']}; created and enrolled if there is none",
}
MAKE_PARAMETERS: Mapping[str, str] = {
    "lead_id": "lead to call; nothing is created",
    "lead_token": "of a schedule or offer, with to",
    "to": "number to call",
    "from": "number that the call comes from; default: the lead's own",
    **_WHOSE,
    "schedule_id": f"{_WHOSE['schedule_id']}, with to; if there is none, one is created on its offer alone",
}


async def start(exchange: Exchange) -> Reply:
    """Request a call now."""
    parameters = Parameters(exchange.fields)
    parameters.require("from", "to")
    return await _start(exchange, parameters, offer_id=parameters.id("offer_id"), enrols=True)


async def make(exchange: Exchange) -> Reply:
    """Request a call now, without putting the lead on a schedule."""
    parameters = Parameters(exchange.fields)
    offer_id = None
    token = exchange.fields.get("lead_token")
    schedule_id = None
    if not is_blank(token):
        target = await exchange.target(token)
        offer_id, schedule_id = target.offer_id, target.schedule_id
    if is_blank(exchange.fields.get("lead_id")):
        parameters.require("to", sentence="must be given where there is no lead_id")
        if is_blank(token) and is_blank(exchange.fields.get("schedule_id")):
            parameters.refuse("schedule_id", "must be given, or a lead_token, where there is no lead_id")
    return await _start(exchange, parameters, offer_id=offer_id, schedule_id=schedule_id, enrols=False)


async def _start(
    exchange: Exchange, parameters: Parameters, *, offer_id: int | None, enrols: bool, schedule_id: int | None = None
) -> Reply:
    columns = read_columns_of_serializer(parameters, SERIALIZERS)
    company_id = exchange.company_id
    schedule_id = parameters.id("schedule_id") if schedule_id is None else schedule_id
    for field, record_type, found in (("schedule_id", "schedule", schedule_id), ("offer_id", "offer", offer_id)):
        if found is not None and not await is_known(exchange, record_type, found):
            parameters.refuse(field, f"names no {record_type}: {found}")
    row = await _lead(exchange, parameters)
    called = read_number_field(exchange, parameters, "to", is_dialled=True)
    caller = read_number_field(exchange, parameters, "from")
    force = bool(parameters.flag("force"))
    reason = parameters.read("override_reason", partial(parse_text, most=REASON_LENGTH_MAX))
    _check_lead(parameters, row, called, schedule_id, offer_id)
    _check_dialling(exchange, parameters, called, offer_id)
    parameters.finish()
    if force:
        exchange.key.require(FORCE_SCOPE)
    if reason is not None:
        exchange.key.require_named(LAW_SCOPE)
    message = CallStartRequested(
        company_id=company_id,
        schedule_id=schedule_id,
        offer_id=offer_id,
        enrols=enrols,
        from_number=None if caller is None else caller.e164,
        force=force,
        override_reason=reason,
        override_key_id=None if reason is None else exchange.key.key_id,
        agent_id=own_agent_id(exchange),
        **_whom(exchange, row, called),
    )
    return await submit_change(exchange, message, partial(render, columns=columns))


def _check_dialling(exchange: Exchange, parameters: Parameters, called: ParsedNumber | None, offer_id: int | None) -> None:
    """Refuse a number that is never dialled, or of a country that neither offer nor company dials."""
    rules = exchange.services.source.rules
    offer = None if offer_id is None else rules.body(Offer, "offer", offer_id)
    listed = listed_countries(offer, rules.body(Company, "company", exchange.company_id))
    code = None if called is None else why_undialled(called, listed)
    if called is not None and code is not None:
        parameters.refuse("to", undialled_sentence(code, called, listed), code="invalid_number")


def _whom(exchange: Exchange, row: Row | None, called: ParsedNumber | None) -> dict[str, Any]:
    """Return whom to call, as fields of the request: the given lead, else the contact of the number."""
    if row is not None:
        return {"contact_key": row["contact_key"], "lead_id": row["id"], "caller_id": row["caller_id"]}
    number = "" if called is None else called.e164
    place = {} if called is None else location_fields(exchange, called)
    return {"contact_key": contact_key(exchange.company_id, number, None) or "", "caller_id": number, **place}


async def _lead(exchange: Exchange, parameters: Parameters) -> Row | None:
    """Return the row of the given lead; add a fault if there is none, or it has no number."""
    reference = parameters.reference("lead_id", "lead")
    if reference is None:
        return None
    row = await exchange.reads.lead(exchange.company_id, reference)
    if row is None or row["deleted_at"] is not None:
        parameters.refuse("lead_id", f"names no lead: {reference}")
        return None
    if not row["caller_id"]:
        parameters.refuse("lead_id", "has no telephone number", code="invalid_number")
    return row


def _check_lead(
    parameters: Parameters, row: Row | None, called: ParsedNumber | None, schedule_id: int | None, offer_id: int | None
) -> None:
    """Add a fault for each field that contradicts the given lead."""
    if row is None:
        return
    if called is not None and called.e164 != row["caller_id"]:
        parameters.refuse("to", "is not the number of the lead")
    if schedule_id is not None and schedule_id != row["schedule_id"]:
        parameters.refuse("schedule_id", "is not the schedule of the lead")
    if offer_id is not None and offer_id != row["offer_id"]:
        parameters.refuse("offer_id", "is not the offer of the lead")


_GUARDS = (
    *("schedule_inactive", "suppressed_contact", "invalid_number", "quiet_hours", "frequency_cap", "outside_hours"),
    *("number_recently_dialed", "requests_unread", "call_in_progress", "too_many_leads", "commands_open"),
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
)
