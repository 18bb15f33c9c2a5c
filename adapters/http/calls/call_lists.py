"""Which calls were there, and which are live? Lists with every filter: by page for a few rows, by cursor for many."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from adapters.http.exchange.answers import (
    CURSOR_PER_PAGE_MAX,
    PAGING_PARAMETERS,
    PER_PAGE_DEFAULT,
    read_columns_of_serializer,
    read_sorting,
    reply_with_list,
)
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters, read_span, read_states, read_token
from adapters.http.exchange.people import country_of
from adapters.http.schema.inputs import choice, whole
from adapters.http.schema.shapes import many_of
from adapters.reads.ports import CallFilter, Paging
from engine.submission.fields import INTEGER_MAX
from engine.submission.numbers import find_number
from engine.views.call import CALL_COLUMNS, SORTABLE_COLUMNS, call_view
from engine.views.periods import LABELS

PAGE_PER_PAGE_MAX = 10
"""Most calls of one page, as the interface promises; read more by cursor."""

LIVE_MAX = 1_000
"""Most live calls in one answer: more than the lines of one company carry."""

GRID_COLUMNS = (
    "id", "uuid", "created_at", "direction", "status", "outcome", "caller_number", "number_called", "lead_id", "offer_id",
    "schedule_id", "buyer_id", "talk_duration", "total_duration", "revenue", "payout", "ended_at", "routes_show_path",
)  # fmt: skip
_INTERNAL = frozenset(
    {"id", "revenue", "payout", "cost", "profit", "routes_show_path", "routes_edit_path", "contact_field_type", "dial_tier"}
)
SERIALIZERS: Mapping[str, tuple[str, ...]] = {
    "call": CALL_COLUMNS,
    "call_grid": GRID_COLUMNS,
    "call_external": tuple(
        name for name in CALL_COLUMNS if name not in _INTERNAL and (not name.endswith("_id") or name == "external_record_id")
    ),
}
"""As for leads: all columns, the few of a list, or all without internal ids and money."""

_STATUSES = """
added-to-schedule blocked busy caller-hung-up caller-hung-up-while-ringing-buyer calling-leads canceled cancelled
established failed finished forwarded hold-queue-no-buyer hold-queue-waited-too-long hold-queue-hung-up initiated
invalid-number ivr-hung-up ivr-no-keypress left-voicemail no-answer no-answer-convert-on-attempt no-buyer
no-buyer-all-filtered no-buyer-prevent-dupes no-route-to-destination not-open on-hold opt-out rejected
rejected-caller-concurrency-exceeded rejected-ivr-hang-up rejected-no-concurrency-cap-available
rejected-traffic-source-capped-hang-up ringing voicemail voicemail-detected waiting
"""
STATUSES: tuple[str, ...] = tuple(_STATUSES.split())
"""Every status that the filter accepts, also those that leadclock never sets."""

SERIALIZER = "call, the default: all columns; call_grid: the few of a list; call_external: no internal ids and no money"

IDS = (
    *("lead_id", "offer_id", "schedule_id", "traffic_source_id", "buyer_id", "number_id", "ring_pool_id", "contact_id"),
    *("provider_configuration_id", "call_disposition_id", "agent_id"),
)
FILTER_PARAMETERS: Mapping[str, str] = {
    "created_at_label": "a span of creation such as Today or Last 4 Hours",
    "ended_at_from": "ended at or after",
    "ended_at_to": "ended before",
    "id": "internal id of one call",
    **{name: f"calls of this {name.removesuffix('_id').replace('_', ' ')}, by internal id" for name in IDS},
    "buyer_group_ids": "internal ids of buyer groups, with commas",
    "states": "calls of these states, with commas",
    "lead_import_id": "calls of leads that this import made",
    "tag": "calls of leads with this word among their tags now",
    "status": "one status, such as no-answer",
    "buyer_converted": "true: calls that converted with a buyer; false: the others",
    "offer_converted": "true or false; a traffic source converted",
    "either_converted": "true: calls that converted in either way; false: the others",
    "buyer_conversion_duplicated_call": "true or false: an earlier call of the person converted with the same buyer",
    "offer_conversion_duplicated_call": "true or false: an earlier call of the person converted on the same offer",
    "buyer_repeat_caller": "true or false: an earlier call of the person was for the same buyer",
    "offer_repeat_caller": "true or false: an earlier call of the person was for the same offer",
    "in_progress": "true: live calls",
    "placed_on_hold": "true: calls that were put on hold; false: the others",
    "has_recording": "true: calls with a recording; false: the others",
    "no_buyer": "true: calls that no buyer answered",
    "token_key": "calls with this token",
    "token_value": "calls with this token and value, as token:value; with token_key, the value alone",
}
FLAGS = (
    *("buyer_converted", "offer_converted", "either_converted", "buyer_conversion_duplicated_call", "no_buyer"),
    *("offer_conversion_duplicated_call", "buyer_repeat_caller", "offer_repeat_caller", "in_progress", "placed_on_hold"),
    "has_recording",
)


async def index(exchange: Exchange) -> Reply:
    """Answer with a list of calls."""
    parameters = Parameters(exchange.query)
    paging = read_call_paging(parameters)
    columns = read_columns_of_serializer(parameters, SERIALIZERS)
    wanted = read_call_filter(exchange, parameters)
    parameters.finish()
    return await _calls(exchange, parameters, wanted, paging, columns)


async def live(exchange: Exchange) -> Reply:
    """Answer with the live calls."""
    parameters = Parameters(exchange.query)
    columns = read_columns_of_serializer(parameters, SERIALIZERS)
    paging = _read_newest(parameters, LIVE_MAX)
    parameters.finish()
    return await _calls(exchange, parameters, CallFilter(in_progress=True), paging, columns)


async def of_caller(exchange: Exchange) -> Reply:
    """Answer with the newest calls of a number, inbound and outbound."""
    parameters = Parameters(exchange.query)
    columns = read_columns_of_serializer(parameters, SERIALIZERS)
    paging = _read_newest(parameters, PER_PAGE_DEFAULT)
    number = find_number(exchange.path["caller_number"], country_of(exchange.services.source.rules, exchange.company_id))
    if number is None:
        parameters.refuse("caller_number", "must be a telephone number such as +13055550123")
    parameters.finish()
    wanted = CallFilter(caller_number=None if number is None else number.e164)
    return await _calls(exchange, parameters, wanted, paging, columns)


async def _calls(
    exchange: Exchange, parameters: Parameters, wanted: CallFilter, paging: Paging, columns: tuple[str, ...] | None
) -> Reply:
    return await reply_with_list(
        exchange,
        "calls",
        parameters,
        paging=paging,
        columns=columns or CALL_COLUMNS,
        read=partial(exchange.reads.calls, exchange.company_id, wanted),
        view=lambda row: call_view(row, columns),
    )


def _read_newest(parameters: Parameters, per_page: int) -> Paging:
    """Read the paging of a list that is always newest first: by cursor if one is sent, else by page."""
    cursor = parameters.whole("cursor", least=-1, most=INTEGER_MAX, code="bad_cursor")
    page = parameters.whole("page", least=1, most=INTEGER_MAX)
    per_page = parameters.whole("per_page", least=1, most=CURSOR_PER_PAGE_MAX) or per_page
    return Paging(page=1 if page is None or cursor is not None else page, per_page=per_page, cursor=cursor)


def read_call_paging(parameters: Parameters) -> Paging:
    """Read the paging of a list: with `page` or `order` at most ten rows, else by cursor, from the newest."""
    cursor = parameters.whole("cursor", least=-1, most=INTEGER_MAX, code="bad_cursor")
    page = parameters.whole("page", least=1, most=INTEGER_MAX)
    order, descending = read_sorting(parameters, SORTABLE_COLUMNS, cursor)
    per_page = parameters.whole("per_page", least=1, most=CURSOR_PER_PAGE_MAX)
    if cursor is None and (page is not None or order is not None or not descending):
        if per_page is not None and per_page > PAGE_PER_PAGE_MAX:
            sentence = f"must be at most {PAGE_PER_PAGE_MAX} with page or order; use cursor for more"
            parameters.refuse("per_page", sentence, code="per_page_requires_cursor")
        per_page = per_page or PAGE_PER_PAGE_MAX
        return Paging(page=page or 1, per_page=per_page, order=order, descending=descending)
    return Paging(cursor=-1 if cursor is None else cursor, per_page=per_page or PER_PAGE_DEFAULT)


def read_call_filter(exchange: Exchange, parameters: Parameters) -> CallFilter:
    """Read the filter of calls; faults are collected in the parameters."""
    zone_name = parameters.zone("time_zone", exchange.time_zone)
    created_from, created_to = read_span(parameters, exchange.now, zone_name)
    one, ids = parameters.id("id"), parameters.ids("ids")
    token_key, token_value = read_token(parameters)
    named: dict[str, Any] = {name: parameters.id(name) for name in IDS}
    named |= {name: parameters.flag(name) for name in FLAGS}
    return CallFilter(
        ids=ids if one is None else tuple(found for found in (one,) if ids is None or found in ids),
        created_from=created_from,
        created_to=created_to,
        ended_from=parameters.instant("ended_at_from", zone_name),
        ended_to=parameters.instant("ended_at_to", zone_name),
        buyer_group_ids=parameters.ids("buyer_group_ids"),
        states=read_states(parameters),
        lead_import_id=parameters.id("lead_import_id"),
        tag=parameters.text("tag"),
        status=parameters.choice("status", STATUSES),
        token_key=token_key,
        token_value=token_value,
        fulltext=parameters.text("fulltext"),
        **named,
    )


ANSWER = many_of("calls", "Call")

LIST_TYPES: Mapping[str, Mapping[str, Any]] = {
    "serializer": choice(tuple(SERIALIZERS)),
    "created_at_label": choice(LABELS),
    "order": choice(sorted(SORTABLE_COLUMNS)),
    "status": choice(STATUSES),
    "per_page": whole(1, CURSOR_PER_PAGE_MAX),
}
_SHOWN = {"serializer": SERIALIZER, **{name: PAGING_PARAMETERS[name] for name in ("columns", "root", "page", "cursor")}}
_SUFFIXES = ("", ".csv", ".json")

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="list_calls",
        leads="visible",
        methods=("GET",),
        path="/api/v1/calls",
        summary="List calls",
        handler=index,
        scope="call:read",
        parameters={
            **PAGING_PARAMETERS,
            **FILTER_PARAMETERS,
            "per_page": "rows of a page: with page or order 10, at most 10; else 25, at most 1000",
            "cursor": "-1, the default, to begin; then metadata.next_cursor of the answer before, until that is 0",
            "serializer": SERIALIZER,
        },
        types=LIST_TYPES,
        answer=ANSWER,
        problems=("per_page_requires_cursor",),
        suffixes=_SUFFIXES,
    ),
    Operation(
        name="list_live_calls",
        leads="visible",
        methods=("GET",),
        path="/api/v1/calls/live_calls",
        summary="List the live calls",
        handler=live,
        scope="call:read",
        parameters={**_SHOWN, "per_page": f"rows: {LIVE_MAX}, at most {LIVE_MAX}"},
        types={name: LIST_TYPES[name] for name in ("serializer", "per_page")},
        answer=ANSWER,
        suffixes=_SUFFIXES,
    ),
    Operation(
        name="list_calls_by_caller_number",
        leads="visible",
        methods=("GET",),
        path="/api/v1/calls/{caller_number}/by_caller_number",
        summary="List the newest calls of a person",
        handler=of_caller,
        scope="call:read",
        parameters={**_SHOWN, "per_page": "rows: 25, at most 1000"},
        types={name: LIST_TYPES[name] for name in ("serializer", "per_page")},
        answer=ANSWER,
        suffixes=_SUFFIXES,
    ),
)
