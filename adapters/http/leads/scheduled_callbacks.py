"""Which calls are promised? The pending callback of each lead, as its contact decided; also made, moved and cancelled here.

A callback belongs to its lead, which has one at most: another one replaces it. One that was made, cancelled or replaced is
no longer found.
"""

from collections.abc import Mapping
from functools import partial

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
from adapters.http.leads.lead_changes import CALLBACK, UPDATE_PARAMETERS, read_callback_at, read_owner
from adapters.http.schema.inputs import ID
from adapters.http.schema.shapes import many_of, one_of
from adapters.reads.ports import LeadFilter, Paging, Result, Row
from engine.submission.fields import is_blank, parse_id
from engine.submission.reading import Reading
from engine.views.scheduled_callback import CALLBACK_COLUMNS, callback_view, promised_at
from schemas.contact import CallbackOwner
from schemas.instant import Instant
from schemas.requests import LeadUpdateRequested

CREATED = 201

_OWNER = ("callback_buyer_id", "callback_buyer_group_id", "callback_grace_minutes")


async def index(exchange: Exchange) -> Reply:
    """Answer with a list of pending callbacks."""
    parameters = Parameters(exchange.query)
    paging = read_paging(parameters, ())
    columns = read_columns(parameters, CALLBACK_COLUMNS)
    wanted = LeadFilter(
        has_callback=True,
        offer_id=parameters.id("offer_id"),
        schedule_id=parameters.id("schedule_id"),
        contact_id=parameters.id("contact_id"),
    )
    parameters.finish()
    return await reply_with_list(
        exchange,
        "scheduled_callbacks",
        parameters,
        paging=paging,
        columns=columns or CALLBACK_COLUMNS,
        read=partial(exchange.reads.leads, exchange.company_id, wanted),
        view=lambda row: callback_view(row, columns),
    )


async def show(exchange: Exchange) -> Reply:
    """Answer with one pending callback."""
    row = await _pending(exchange)
    parameters = Parameters(exchange.query)
    columns = read_columns(parameters, CALLBACK_COLUMNS)
    parameters.finish()
    return reply_with_record(exchange, "scheduled_callback", callback_view(row, columns))


async def create(exchange: Exchange) -> Reply:
    """Promise a lead a call; it replaces one that was promised before."""
    reading = Reading(exchange.fields, exchange.now)
    lead_id = reading.optional("lead_id", parse_id)
    if is_blank(exchange.fields.get("lead_id")):
        reading.fault("lead_id", "must be given")
    at, owner = _read_promise(reading)
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
    at, owner = _read_promise(reading)
    reading.close()
    known_owner = row["rest"].get("callback_owner")
    if owner is None and known_owner and not any(name in exchange.fields for name in _OWNER):
        owner = CallbackOwner(**known_owner)
    message = _request(exchange, row, at or promised_at(row), owner, of=_id(row))
    return await submit_change(exchange, message, partial(_render, created=False))


async def delete(exchange: Exchange) -> Reply:
    """Cancel a callback."""
    row = await _pending(exchange)
    Parameters(exchange.fields).finish()
    message = _request(exchange, row, None, None, of=_id(row))
    return await submit_change(exchange, message, partial(_render_cancelled, row=row))


def _read_promise(reading: Reading) -> tuple[Instant | None, CallbackOwner | None]:
    at = read_callback_at(reading)
    for name in CALLBACK:
        if name in reading.raw and is_blank(reading.raw[name]):
            reading.fault(name, "must not be blank; delete the callback to cancel it")
    return at, read_owner(reading)


def _request(
    exchange: Exchange, row: Row, at: Instant | None, owner: CallbackOwner | None, *, of: int | None = None
) -> LeadUpdateRequested:
    """Return the request that sets the callback of a lead (None: cancels it), in place of the one that is known."""
    return LeadUpdateRequested(
        company_id=exchange.company_id,
        contact_key=row["contact_key"],
        lead_id=row["id"],
        schedule_callback_at=at,
        callback_owner=owner,
        scheduled_callback_id=of,
    )


async def _pending(exchange: Exchange) -> Row:
    """Return the lead of the pending callback in the path. Raises `ProblemError` not_found."""
    reference = exchange.path_id("scheduled callback")
    if not isinstance(reference, int):
        raise not_found("scheduled callback")
    wanted = LeadFilter(has_callback=True, scheduled_callback_id=reference)
    page = await exchange.reads.leads(exchange.company_id, wanted, Paging(per_page=1, counted=False))
    if not page.rows:
        raise not_found("scheduled callback")
    return page.rows[0]


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


_PATH = "/api/v1/scheduled_callbacks"
_ONE = one_of("scheduled_callback", "ScheduledCallback")
_PROMISE: Mapping[str, str] = {name: UPDATE_PARAMETERS[name] for name in (*CALLBACK, *_OWNER)}
_FILTERS = {
    "offer_id": "callbacks of leads of this offer, by internal id",
    "schedule_id": "callbacks of leads on this schedule, by internal id",
    "contact_id": "callbacks of this contact, by internal id",
}
_BARE = {"root": "false: the bare record"}
_PROBLEMS = ("lead_not_live", "suppressed_contact")

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="list_scheduled_callbacks",
        methods=("GET",),
        path=_PATH,
        summary="List the calls that are promised",
        handler=index,
        scope="lead:read",
        leads="visible",
        parameters={
            **{name: PAGING_PARAMETERS[name] for name in ("page", "per_page", "cursor", "columns", "root")},
            **_FILTERS,
        },
        types=dict.fromkeys(_FILTERS, ID),
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
        summary="Show a call that is promised",
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
