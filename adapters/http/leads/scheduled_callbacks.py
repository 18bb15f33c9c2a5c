"""Which calls are promised, and how did they go? The pending callback of each lead, and the records of those that are over.

A callback belongs to its lead, which has one pending at most: another one replaces it. One that was made, cancelled or
replaced can neither be moved nor cancelled; its record stays.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, get_args

from msgspec import UNSET, UnsetType

from adapters.http.exchange.answers import (
    PAGING_PARAMETERS,
    read_columns,
    read_paging,
    reply_with_list,
    reply_with_record,
)
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters
from adapters.http.exchange.problems import not_found, require_row
from adapters.http.exchange.writes import submit_change
from adapters.http.leads.lead_changes import (
    CALLBACK,
    OWNER,
    UPDATE_PARAMETERS,
    promiser,
    read_callback_at,
    read_owner,
)
from adapters.http.schema.inputs import ID, choice
from adapters.http.schema.shapes import many_of, one_of
from adapters.reads.ports import CallbackFilter, LeadFilter, Page, Paging, Result, Row
from engine.submission.fields import is_blank, parse_id
from engine.submission.reading import Reading
from engine.views.scheduled_callback import CALLBACK_COLUMNS, callback_record_view, callback_view, promised_at
from schemas.contact import CallbackOwner, CallbackPromiser, CallbackState
from schemas.instant import Instant
from schemas.requests import LeadUpdateRequested

CREATED = 201

ALL = "all"
STATUSES = (*get_args(CallbackState), ALL)

OF_RECORDS = ("callback_status", "agent_id", "promised_by", "lead_id", "promised_at_from", "promised_at_to")
"""Filters that find callbacks by their records, which are there also once they are over."""


async def index(exchange: Exchange) -> Reply:
    """Answer with a list of callbacks: those that are pending, or those of the records that are asked for."""
    parameters = Parameters(exchange.query)
    paging = read_paging(parameters, ())
    columns = read_columns(parameters, CALLBACK_COLUMNS)
    of_records = any(not is_blank(exchange.query.get(name)) for name in OF_RECORDS)
    wanted = read_callback_filter(exchange, parameters)
    parameters.finish()
    view = callback_record_view if of_records else callback_view
    return await reply_with_list(
        exchange,
        "scheduled_callbacks",
        parameters,
        paging=paging,
        columns=columns or CALLBACK_COLUMNS,
        read=_records(exchange, wanted) if of_records else _pending_of_leads(exchange, wanted),
        view=lambda row: view(row, columns),
    )


def _pending_of_leads(exchange: Exchange, wanted: CallbackFilter) -> Callable[[Paging], Awaitable[Page]]:
    named: dict[str, Any] = {name: getattr(wanted, name) for name in _FILTERS}
    return partial(exchange.reads.leads, exchange.company_id, LeadFilter(has_callback=True, **named))


def _records(exchange: Exchange, wanted: CallbackFilter) -> Callable[[Paging], Awaitable[Page]]:
    return partial(exchange.reads.callbacks, exchange.company_id, wanted)


def read_callback_filter(exchange: Exchange, parameters: Parameters) -> CallbackFilter:
    """Read the filter of records of callbacks; faults are collected in the parameters."""
    zone_name = parameters.zone("time_zone", exchange.time_zone)
    status = parameters.choice("callback_status", STATUSES)
    named: dict[str, Any] = {name: parameters.id(name) for name in (*_FILTERS, "agent_id", "lead_id")}
    return CallbackFilter(
        callback_status=None if status == ALL else status,
        promised_by=parameters.choice("promised_by", get_args(CallbackPromiser)),
        promised_from=parameters.instant("promised_at_from", zone_name),
        promised_to=parameters.instant("promised_at_to", zone_name),
        **named,
    )


async def show(exchange: Exchange) -> Reply:
    """Answer with one callback: as its lead has it, or as its record says how it went."""
    pending = await _find_pending(exchange)
    record = await _find_record(exchange) if pending is None else None
    parameters = Parameters(exchange.query)
    columns = read_columns(parameters, CALLBACK_COLUMNS)
    parameters.finish()
    if pending is not None:
        return reply_with_record(exchange, "scheduled_callback", callback_view(pending, columns))
    if record is None:
        raise not_found(_NOUN)
    return reply_with_record(exchange, "scheduled_callback", callback_record_view(record, columns))


async def create(exchange: Exchange) -> Reply:
    """Promise a lead a call; it replaces one that was promised before."""
    reading = Reading(exchange.fields, exchange.now)
    lead_id = reading.optional("lead_id", parse_id)
    if is_blank(exchange.fields.get("lead_id")):
        reading.fault("lead_id", "must be given")
    at, owner = _read_promise(exchange, reading)
    if at is None and not reading.errors.keys() & {*CALLBACK}:
        reading.fault("schedule_callback_at", "must be given, or schedule_callback_in_seconds")
    found = None if lead_id is None else await exchange.reads.shown_lead(exchange.company_id, lead_id)
    if lead_id is not None and (found is None or found["deleted_at"] is not None):
        reading.fault("lead_id", f"names no lead: {lead_id}")
    reading.close()
    row = require_row(found, "lead")
    return await submit_change(exchange, _request(exchange, row, at, owner), partial(_render, created=True))


async def update(exchange: Exchange) -> Reply:
    """Promise another time, or another owner; what is left out stays."""
    row = await _pending(exchange)
    reading = Reading(exchange.fields, exchange.now)
    at, owner = _read_promise(exchange, reading)
    reading.close()
    known_owner = row["rest"].get("callback_owner")
    if owner is UNSET:
        owner = CallbackOwner(**known_owner) if known_owner else None
    message = _request(exchange, row, at or promised_at(row), owner, of=_id(row))
    return await submit_change(exchange, message, partial(_render, created=False))


async def delete(exchange: Exchange) -> Reply:
    """Cancel a callback."""
    row = await _pending(exchange)
    Parameters(exchange.fields).finish()
    message = _request(exchange, row, None, None, of=_id(row))
    return await submit_change(exchange, message, partial(_render_cancelled, row=row))


def _read_promise(exchange: Exchange, reading: Reading) -> tuple[Instant | None, CallbackOwner | UnsetType | None]:
    at = read_callback_at(reading)
    for name in CALLBACK:
        if name in reading.raw and is_blank(reading.raw[name]):
            reading.fault(name, "must not be blank; delete the callback to cancel it")
    return at, read_owner(exchange, reading)


def _request(
    exchange: Exchange, row: Row, at: Instant | None, owner: CallbackOwner | UnsetType | None, *, of: int | None = None
) -> LeadUpdateRequested:
    """Return the request that sets the callback of a lead (None: cancels it), in place of the one that is known."""
    return LeadUpdateRequested(
        company_id=exchange.company_id,
        contact_key=row["contact_key"],
        lead_id=row["id"],
        schedule_callback_at=at,
        callback_owner=owner,
        scheduled_callback_id=of,
        **promiser(exchange),
    )


async def _pending(exchange: Exchange) -> Row:
    """Return the lead of the pending callback in the path. Raises `ProblemError` not_found."""
    return require_row(await _find_pending(exchange), _NOUN)


async def _find_pending(exchange: Exchange) -> Row | None:
    """Return the lead of the callback in the path, None where that is not pending. Raises `ProblemError` for no id."""
    wanted = LeadFilter(has_callback=True, scheduled_callback_id=_reference(exchange))
    page = await exchange.reads.leads(exchange.company_id, wanted, Paging(per_page=1, counted=False))
    return page.rows[0] if page.rows else None


async def _find_record(exchange: Exchange) -> Row | None:
    wanted = CallbackFilter(ids=(_reference(exchange),))
    page = await exchange.reads.callbacks(exchange.company_id, wanted, Paging(per_page=1, counted=False))
    return page.rows[0] if page.rows else None


def _reference(exchange: Exchange) -> int:
    reference = exchange.path_id(_NOUN)
    if not isinstance(reference, int):
        raise not_found(_NOUN)
    return reference


async def _render(exchange: Exchange, result: Result, *, created: bool) -> Reply:
    lead_id = None if result.answer is None else result.answer.record_id
    row = None if lead_id is None else await exchange.reads.shown_lead(exchange.company_id, lead_id)
    if row is None or row["callback_at"] is None:
        raise not_found("scheduled callback")  # it was made or cancelled since
    return reply_with_record(exchange, "scheduled_callback", callback_view(row), status=CREATED if created else 200)


async def _render_cancelled(exchange: Exchange, result: Result, *, row: Row) -> Reply:
    del result
    return reply_with_record(exchange, "scheduled_callback", callback_view(row))


def _id(row: Row) -> int:
    return int(row["rest"]["scheduled_callback_id"])


_NOUN = "scheduled callback"
_PATH = "/api/v1/scheduled_callbacks"
_ONE = one_of("scheduled_callback", "ScheduledCallback")
_PROMISE: Mapping[str, str] = {name: UPDATE_PARAMETERS[name] for name in (*CALLBACK, *OWNER)}
_FILTERS = {
    "offer_id": "callbacks of leads of this offer, by internal id",
    "schedule_id": "callbacks of leads on this schedule, by internal id",
    "contact_id": "callbacks of this contact, by internal id",
}
RECORD_FILTERS: Mapping[str, str] = {
    "callback_status": "pending, kept, late, missed, cancelled or all; default: pending, all beside agent_id and the like",
    "agent_id": "callbacks that this agent owns, or promised for anyone",
    "promised_by": "callbacks that were promised by an agent, api, caller, form or schedule",
    "lead_id": "callbacks of this lead",
    "promised_at_from": "promised for this instant or later",
    "promised_at_to": "promised for before this instant",
    "time_zone": PAGING_PARAMETERS["time_zone"],
}
"""Filters of records."""

FILTERS: Mapping[str, str] = {**_FILTERS, **RECORD_FILTERS}

RECORD_TYPES: Mapping[str, Any] = {
    **dict.fromkeys((*_FILTERS, "agent_id", "lead_id"), ID),
    "callback_status": choice(STATUSES),
    "promised_by": choice(get_args(CallbackPromiser)),
}
_BARE = {"root": "false: the bare record"}
_PROBLEMS = ("lead_not_live", "suppressed_contact")

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="list_scheduled_callbacks",
        methods=("GET",),
        path=_PATH,
        summary="List the calls that are or were promised",
        handler=index,
        scope="lead:read",
        leads="visible",
        parameters={
            **{name: PAGING_PARAMETERS[name] for name in ("page", "per_page", "cursor", "columns", "root")},
            **FILTERS,
        },
        types=RECORD_TYPES,
        answer=many_of("scheduled_callbacks", "ScheduledCallback"),
        suffixes=("", ".csv", ".json"),
    ),
    Operation(
        name="create_scheduled_callback",
        methods=("POST",),
        path=_PATH,
        summary="Promise a lead a call",
        handler=create,
        scope="lead:update",
        leads="visible",
        rate="write",
        safe=False,
        parameters={"lead_id": "lead that is called, by internal id", **_PROMISE, **_BARE},
        types={"lead_id": ID},
        required=("lead_id",),
        answer=_ONE,
        created=True,
        problems=_PROBLEMS,
    ),
    Operation(
        name="show_scheduled_callback",
        methods=("GET",),
        path=f"{_PATH}/{{id}}",
        summary="Show a call that is or was promised",
        handler=show,
        scope="lead:read",
        leads="visible",
        parameters={"columns": PAGING_PARAMETERS["columns"], **_BARE},
        answer=_ONE,
    ),
    Operation(
        name="move_scheduled_callback",
        methods=("PUT", "PATCH"),
        path=f"{_PATH}/{{id}}",
        summary="Change when a promised call is made, or by whom",
        handler=update,
        scope="lead:update",
        leads="visible",
        rate="write",
        safe=False,
        parameters={**_PROMISE, **_BARE},
        answer=_ONE,
        problems=_PROBLEMS,
    ),
    Operation(
        name="delete_scheduled_callback",
        methods=("DELETE",),
        path=f"{_PATH}/{{id}}",
        summary="Cancel a call that is promised",
        handler=delete,
        scope="lead:update",
        leads="visible",
        rate="write",
        safe=False,
        parameters=_BARE,
        answer=_ONE,
    ),
)
