"""How are leads, calls and callbacks added up? Reports by category and pivot, statistics by one attribute, JSON or CSV."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import structs

from adapters.http.calls.call_lists import FILTER_PARAMETERS as CALL_FILTER_PARAMETERS
from adapters.http.calls.call_lists import LIST_TYPES, read_call_filter
from adapters.http.exchange.answers import PAGING_PARAMETERS, PER_PAGE_MAX, read_columns, reply_with_rows
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters, read_span
from adapters.http.exchange.report_slots import SlicedSequence, empty_in_slices, in_slices
from adapters.http.leads.leads import FILTER_PARAMETERS as LEAD_FILTER_PARAMETERS
from adapters.http.leads.leads import read_filter
from adapters.http.leads.scheduled_callbacks import FILTERS as CALLBACK_FILTERS
from adapters.http.leads.scheduled_callbacks import RECORD_TYPES as CALLBACK_FILTER_TYPES
from adapters.http.leads.scheduled_callbacks import read_callback_filter
from adapters.http.reports.report_rows import Cell, Rows, flat, flat_columns, label, row_of, total_of
from adapters.http.schema.inputs import TEXT, choice, whole
from adapters.http.schema.shapes import nullable
from adapters.reads.ports import CallbackFilter, CallFilter, LeadFilter
from engine.contact.lifecycle.promises import ON_TIME_WITHIN
from engine.submission.fields import INTEGER_MAX
from engine.views.report import (
    BUCKETS_MAX,
    CALL_CATEGORIES,
    CALL_GROUPS,
    CALLBACK_CATEGORIES,
    CALLBACKS,
    CALLS,
    CELLS_MAX,
    LEAD_CATEGORIES,
    LEADS,
    STATS,
    TIME_UNITS,
    BeyondCalendarError,
    Group,
    Grouping,
    Key,
    Measure,
    Report,
    TooManyBucketsError,
    grouping,
    report,
    sort_in_pieces,
)
from schemas.instant import Instant

TOO_MANY_CELLS = f"gives more than {CELLS_MAX} cells; choose fewer days or another pivot"

Wanted = LeadFilter | CallFilter | CallbackFilter

STAT_ROWS_MAX = 1_000
"""Rows of one page of statistics: a month by hours is 744."""

TOKENS = "token_values_map"
"""The grouping that counts a lead once in the group of each of its tokens."""


async def of_leads(exchange: Exchange) -> Reply:
    """Answer with metrics of leads by category and pivot."""
    parameters = Parameters(exchange.query)
    zone_name = parameters.zone("time_zone", exchange.time_zone)
    wanted = read_filter(exchange, parameters)
    category = parameters.choice("category", LEAD_CATEGORIES)
    pivot = parameters.choice("pivot", LEAD_CATEGORIES)
    return await _report(exchange, parameters, wanted, LEADS, names=(category, pivot), zone_name=zone_name)


async def of_calls(exchange: Exchange) -> Reply:
    """Answer with metrics of calls by category."""
    parameters = Parameters(exchange.query)
    zone_name = parameters.zone("time_zone", exchange.time_zone)
    wanted = read_call_filter(exchange, parameters)
    category = parameters.choice("category", CALL_CATEGORIES)
    parameters.require("category", sentence=f"must be one of {', '.join(CALL_CATEGORIES)}")
    return await _report(exchange, parameters, wanted, CALLS, names=(category, None), zone_name=zone_name)


async def of_callbacks(exchange: Exchange) -> Reply:
    """Answer with metrics of callbacks by category and pivot: by agent, if nothing is said."""
    parameters = Parameters(exchange.query)
    zone_name = parameters.zone("time_zone", exchange.time_zone)
    created_from, created_to = read_span(parameters, exchange.now, zone_name)
    wanted = structs.replace(
        read_callback_filter(exchange, parameters),
        created_from=created_from,
        created_to=created_to,
        overdue_before=exchange.now - ON_TIME_WITHIN,
    )
    category = parameters.choice("category", CALLBACK_CATEGORIES) or CALLBACK_CATEGORIES[0]
    pivot = parameters.choice("pivot", CALLBACK_CATEGORIES)
    return await _report(exchange, parameters, wanted, CALLBACKS, names=(category, pivot), zone_name=zone_name)


async def stats_of_calls(exchange: Exchange) -> Reply:
    """Answer with one metric for each value of an attribute of calls."""
    parameters = Parameters(exchange.query)
    zone_name = parameters.zone("time_zone", exchange.time_zone)
    wanted = read_call_filter(exchange, parameters)
    name = parameters.choice("group_by", CALL_GROUPS)
    stat = parameters.choice("stat", tuple(STATS))
    parameters.require("group_by", sentence=f"must be one of {', '.join(CALL_GROUPS)}")
    parameters.require("stat", sentence=f"must be one of {', '.join(STATS)}")
    dated = "must be a date and time such as 2026-03-07 00:00:00 -0500"
    parameters.require("created_at_from", "created_at_to", sentence=dated)
    page, per_page = _page(parameters, STAT_ROWS_MAX, STAT_ROWS_MAX)
    order, descending = _order(parameters, ("key", "value"))
    parameters.finish()
    found, by, _ = await _found(exchange, parameters, wanted, (name, None), zone_name)
    figure = STATS[stat or "count"]

    def written() -> Reply:
        shown = report(SlicedSequence(found), CALLS, by, Grouping(""), in_slices)
        values = [
            {"key": key, "label": label(exchange, name, key), "value": shown.totals[key][figure]}
            for key in in_slices(_sorted(shown, figure if order == "value" else None, descending=descending))
        ]
        more = {"group_by": name, "stat": stat, "time_zone": zone_name}
        columns = ("key", "label", "value")
        reply = reply_with_rows(exchange, "stats", values, columns, page=page, per_page=per_page, more=more)
        _discard(shown, found)
        return reply

    return await exchange.services.engine.run(exchange.company_id, written)


async def _report(
    exchange: Exchange,
    parameters: Parameters,
    wanted: Wanted,
    measure: Measure,
    *,
    names: tuple[str | None, str | None],
    zone_name: str,
) -> Reply:
    columns = read_columns(parameters, ("category", "category_label", *measure.columns))
    page, per_page = _page(parameters, None, PER_PAGE_MAX)
    order, descending = _order(parameters, ("category", *measure.columns))
    parameters.finish()
    found, category, pivot = await _found(exchange, parameters, wanted, names, zone_name)
    made = await _made(exchange, wanted, measure, found, (category, pivot))
    if names[1] is not None and len(made.categories) * len(made.pivots) > CELLS_MAX:
        parameters.refuse("pivot", TOO_MANY_CELLS)
        parameters.finish()
    overall = await _overall(exchange, wanted, measure, names, made)
    shown = columns or ("category", "category_label", *measure.columns)
    is_crossed = names[1] is not None

    def written() -> Reply:
        keys = _sorted(made, None if order == "category" else order, descending=descending)
        reply = reply_with_rows(
            exchange,
            "reports",
            Rows(keys, lambda key: row_of(exchange, names, made, key, columns=columns, measure=measure)),
            flat_columns(made, shown, measure) if is_crossed else shown,
            page=page,
            per_page=per_page,
            more={"category": names[0], "pivot": names[1], "time_zone": zone_name},
            beside={"totals": overall},
            flat=partial(flat, total=total_of(made)) if is_crossed else None,
        )
        _discard(made, found)
        return reply

    return await exchange.services.engine.run(exchange.company_id, written)


def _discard(made: Report, found: list[Group]) -> None:
    """Free what an answer was made of, in slices; else the event loop frees it at once."""
    made.totals.discard(in_slices)
    made.cells.discard(in_slices)
    empty_in_slices(found)


async def _made(
    exchange: Exchange,
    wanted: Wanted,
    measure: Measure,
    found: Sequence[Group],
    by: tuple[Grouping, Grouping],
) -> Report:
    """Return the report of groups by category and pivot; computed in the engine thread."""
    category, pivot = by
    run = partial(exchange.services.engine.run, exchange.company_id)
    made: Report = await run(report, SlicedSequence(found), measure, category, pivot, in_slices)
    if pivot.name != TOKENS:
        return made
    # A lead is in several pivots of its row, so totals of rows are queried, not summed.
    alone = await exchange.reads.sums(exchange.company_id, wanted, category if category.name else None, None)
    rows_alone: Report = await run(report, SlicedSequence(alone or ()), measure, category, Grouping(""), in_slices)
    return structs.replace(made, categories=rows_alone.categories, totals=rows_alone.totals)


def _order(parameters: Parameters, sortable: Sequence[str]) -> tuple[str, bool]:
    """Read how to sort rows, and whether in descending order; by default by category, ascending."""
    order = parameters.choice("order", sortable)
    direction = parameters.choice("order_dir", ("desc", "asc"))
    descending = direction == "desc" or (direction is None and order is not None)
    return order or sortable[0], descending


def _sorted(made: Report, metric: str | None, *, descending: bool) -> list[Key]:
    """Return the categories sorted by a metric, those without a value last; without a metric in their own order."""
    keys = list(made.categories)
    if metric is None:
        return keys[::-1] if descending else keys
    sign = -1 if descending else 1
    known = [key for key in in_slices(keys) if made.totals[key][metric] is not None]
    unknown = [key for key in in_slices(keys) if made.totals[key][metric] is None]
    return sort_in_pieces(known, lambda key: sign * (made.totals[key][metric] or 0), in_slices) + unknown


async def _found(
    exchange: Exchange,
    parameters: Parameters,
    wanted: Wanted,
    names: tuple[str | None, str | None],
    zone_name: str,
) -> tuple[list[Group], Grouping, Grouping]:
    """Return the groups and their groupings. Raises `ProblemError` if there are too many."""
    since, until = await _span(exchange, wanted, names)
    run = partial(exchange.services.engine.run, exchange.company_id)
    groupings = []
    for field, name in zip(("category", "pivot"), names, strict=True):
        try:
            groupings.append(await run(grouping, name or "", since, until, zone_name, in_slices))
        except (TooManyBucketsError, BeyondCalendarError) as error:
            parameters.refuse("group_by" if "stat" in exchange.query else field, str(error))
    parameters.finish()
    category, pivot = groupings
    asked = [one if one.name else None for one in groupings]
    found = await exchange.reads.sums(exchange.company_id, wanted, asked[0], asked[1])
    if found is None:
        parameters.refuse("category" if pivot.name == "" else "pivot", "gives too many groups; choose fewer days")
        parameters.finish()
    return found or [], category, pivot


async def _span(
    exchange: Exchange, wanted: Wanted, names: tuple[str | None, str | None]
) -> tuple[Instant | None, Instant | None]:
    """Return the span of the buckets: the requested one, else from the first row to the last."""
    since, until = wanted.created_from, wanted.created_to
    is_known = since is not None and until is not None
    if is_known or isinstance(wanted, CallbackFilter) or not {*TIME_UNITS} & {*names}:
        return since, until
    span = await exchange.reads.created_span(exchange.company_id, wanted)
    if span is None:
        return since, since  # nothing, from a beginning that may be known
    first, last = span
    return first if since is None else since, last + 1 if until is None else until


async def _overall(
    exchange: Exchange,
    wanted: Wanted,
    measure: Measure,
    names: tuple[str | None, str | None],
    made: Report,
) -> Cell:
    """Return the metrics over all rows. If a lead is in several groups they are queried, not summed."""
    if TOKENS not in names:
        return made.overall
    found = await exchange.reads.sums(exchange.company_id, wanted, None, None)
    return report(found or (), measure, Grouping(""), Grouping("")).overall


def _page(parameters: Parameters, default: int | None, most: int) -> tuple[int, int | None]:
    page = parameters.whole("page", least=1, most=INTEGER_MAX) or 1
    return page, parameters.whole("per_page", least=1, most=most) or default


def _answer(root: str, row: Mapping[str, Any], **beside: Mapping[str, Any]) -> dict[str, Any]:
    rows = {"type": "array", "items": row}
    metadata = {"type": "object", "required": ["root", "page", "per_page", "total_count", "time_zone"]}
    properties = {
        "status": {"type": "integer"},
        "errors": {"type": "object", "maxProperties": 0},
        root: rows,
        **beside,
        "metadata": metadata,
    }
    return {
        "anyOf": [{"type": "object", "required": ["status", "errors", root, "metadata"], "properties": properties}, rows]
    }


KEY_SHOWN = {"type": ["string", "number", "boolean", "null"]}


def _row_shown(measure: Measure) -> dict[str, Any]:
    figures: dict[str, Any] = {name: nullable("number") for name in measure.columns}
    cell = {"type": "object", "properties": figures, "additionalProperties": False}
    named = {"category": KEY_SHOWN, "category_label": {"type": "string"}}
    return {
        "type": "object",
        "properties": {**named, **figures, "pivots": {"type": "object", "additionalProperties": cell}, "total": cell},
        "additionalProperties": False,
    }


_SHARED = {name: PAGING_PARAMETERS[name] for name in ("created_at_from", "created_at_to", "fulltext", "time_zone", "root")}
_PAGED = {"page": "page to return, from 1", "per_page": "rows of a page: 25, at most 100; as CSV all, unless given"}
_SPANNED = f"at most {BUCKETS_MAX} spans of time"
_SUFFIXES = ("", ".csv", ".json")
_ORDERED = {"order": "metric to sort rows by, the highest first; default: as the categories", "order_dir": "desc or asc"}

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="report_leads",
        leads="visible",
        methods=("GET",),
        path="/api/v1/leads/reports",
        summary="Report leads by category and pivot",
        handler=of_leads,
        scope="lead:read",
        rate="report",
        parameters={
            **_SHARED,
            **_PAGED,
            **{name: text for name, text in LEAD_FILTER_PARAMETERS.items() if name != "serializer"},
            "ids": PAGING_PARAMETERS["ids"],
            **_ORDERED,
            "category": f"grouping of leads, {_SPANNED}; default: one row for all",
            "pivot": "second grouping, across the columns",
            "columns": "metrics to return, comma-separated, in this order",
        },
        types={
            "category": choice(LEAD_CATEGORIES),
            "pivot": choice(LEAD_CATEGORIES),
            "order": choice(("category", *LEADS.columns)),
            "created_at_label": LIST_TYPES["created_at_label"],
            "per_page": whole(1, PER_PAGE_MAX),
        },
        answer=_answer("reports", _row_shown(LEADS), totals={"type": "object"}),
        suffixes=_SUFFIXES,
    ),
    Operation(
        name="report_calls",
        leads="visible",
        methods=("GET",),
        path="/api/v1/calls/reports",
        summary="Report calls by category",
        handler=of_calls,
        scope="call:read",
        rate="report",
        parameters={
            **_SHARED,
            **_PAGED,
            **CALL_FILTER_PARAMETERS,
            "ids": PAGING_PARAMETERS["ids"],
            **_ORDERED,
            "category": f"grouping of calls, {_SPANNED}",
            "columns": "metrics to return, comma-separated, in this order",
        },
        types={
            "category": choice(CALL_CATEGORIES),
            "order": choice(("category", *CALLS.columns)),
            "per_page": whole(1, PER_PAGE_MAX),
            **{name: LIST_TYPES[name] for name in ("created_at_label", "status")},
        },
        required=("category",),
        answer=_answer("reports", _row_shown(CALLS), totals={"type": "object"}),
        suffixes=_SUFFIXES,
    ),
    Operation(
        name="report_scheduled_callbacks",
        leads="visible",
        methods=("GET",),
        path="/api/v1/scheduled_callbacks/reports",
        summary="Report how promised calls went, by agent, day or another category",
        handler=of_callbacks,
        scope="lead:read",
        rate="report",
        parameters={
            **{name: PAGING_PARAMETERS[name] for name in ("created_at_from", "created_at_to", "root")},
            "created_at_label": CALL_FILTER_PARAMETERS["created_at_label"],
            **_PAGED,
            **CALLBACK_FILTERS,
            "callback_status": "pending, kept, late, missed or cancelled; default: all",
            **_ORDERED,
            "category": "grouping of callbacks; default: agent_id",
            "pivot": "second grouping, across the columns",
            "columns": "metrics to return, comma-separated, in this order",
        },
        types={
            **CALLBACK_FILTER_TYPES,
            "category": choice(CALLBACK_CATEGORIES),
            "pivot": choice(CALLBACK_CATEGORIES),
            "order": choice(("category", *CALLBACKS.columns)),
            "created_at_label": LIST_TYPES["created_at_label"],
            "per_page": whole(1, PER_PAGE_MAX),
        },
        answer=_answer("reports", _row_shown(CALLBACKS), totals={"type": "object"}),
        suffixes=_SUFFIXES,
    ),
    Operation(
        name="stats_of_calls",
        leads="visible",
        methods=("GET",),
        path="/api/v1/calls/stats",
        summary="Return one metric of calls for each value of an attribute",
        handler=stats_of_calls,
        scope="call:read",
        rate="report",
        parameters={
            **_SHARED,
            **CALL_FILTER_PARAMETERS,
            "ids": PAGING_PARAMETERS["ids"],
            "page": "page to return, from 1",
            "per_page": f"values of a page: {STAT_ROWS_MAX}, and at most as many",
            "order": "key or value, the highest first; default: the order of the keys",
            "order_dir": "desc or asc",
            "group_by": f"attribute to group by, {_SPANNED}",
            "stat": "metric to return",
            "created_at_from": "created at or after",
            "created_at_to": "created before",
        },
        types={
            "group_by": choice(CALL_GROUPS),
            "stat": choice(tuple(STATS)),
            "order": choice(("key", "value")),
            "per_page": whole(1, STAT_ROWS_MAX),
            "token_value": TEXT,
            **{name: LIST_TYPES[name] for name in ("created_at_label", "status")},
        },
        required=("group_by", "stat", "created_at_from", "created_at_to"),
        answer=_answer(
            "stats",
            {"type": "object", "properties": {"key": KEY_SHOWN, "label": {"type": "string"}, "value": nullable("number")}},
        ),
        suffixes=_SUFFIXES,
    ),
)
