"""What do leads and calls come to? Reports by category and pivot, statistics by one attribute, as JSON or CSV."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import structs

from adapters.http.answers import PAGING_PARAMETERS, PER_PAGE_MAX, one_list, read_columns
from adapters.http.call_lists import FILTER_PARAMETERS as CALL_FILTER_PARAMETERS
from adapters.http.call_lists import LIST_TYPES, read_call_filter
from adapters.http.exchange import Exchange, Operation, Reply
from adapters.http.inputs import TEXT, choice, whole
from adapters.http.parameters import Parameters, read_span
from adapters.http.ports import CallFilter, LeadFilter
from adapters.http.shapes import nullable
from engine.rules import Rules
from engine.submission.fields import INTEGER_MAX
from engine.views.lead import SENTENCES
from engine.views.report import (
    BUCKETS_MAX,
    CALL_CATEGORIES,
    CALL_GROUPS,
    CALLS,
    LEAD_CATEGORIES,
    LEADS,
    NO_VALUE,
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
)
from schemas.instant import Instant

CELLS_MAX = 100_000
"""Categories times pivots of one answer: some 30 MB of JSON, more than anybody reads."""

STAT_ROWS_MAX = 1_000
"""Values of one page of statistics: a month of hours."""

TOKENS = "token_values_map"
"""The grouping that has a lead in a group for each of its tokens."""

NO_CATEGORY = "all"
"""The label of the one row of a report without a category."""

_RECORDS: Mapping[str, str] = {
    "offer_id": "offer",
    "schedule_id": "schedule",
    "traffic_source_id": "traffic_source",
    "buyer_id": "buyer",
    "buyer_group_id": "buyer_group",
    "recent_call_disposition_id": "call_disposition",
    "disposition_id": "call_disposition",
}
"""Groupings by a record, whose name is their label."""

Cell = Mapping[str, float | None]


async def of_leads(exchange: Exchange) -> Reply:
    """Answer with what leads come to, by category and pivot."""
    parameters = Parameters(exchange.query)
    zone_name = parameters.zone("time_zone")
    created_from, created_to = read_span(parameters, exchange.now, zone_name)
    wanted = LeadFilter(created_from=created_from, created_to=created_to, fulltext=parameters.text("fulltext"))
    category = parameters.choice("category", LEAD_CATEGORIES)
    pivot = parameters.choice("pivot", LEAD_CATEGORIES)
    return await _report(exchange, parameters, wanted, LEADS, names=(category, pivot), zone_name=zone_name)


async def of_calls(exchange: Exchange) -> Reply:
    """Answer with what calls come to, by category."""
    parameters = Parameters(exchange.query)
    zone_name = parameters.zone("time_zone")
    wanted = read_call_filter(exchange, parameters)
    category = parameters.choice("category", CALL_CATEGORIES)
    parameters.require("category", sentence=f"must be one of {', '.join(CALL_CATEGORIES)}")
    return await _report(exchange, parameters, wanted, CALLS, names=(category, None), zone_name=zone_name)


async def stats_of_calls(exchange: Exchange) -> Reply:
    """Answer with one figure for each value of an attribute of calls."""
    parameters = Parameters(exchange.query)
    zone_name = parameters.zone("time_zone")
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
    shown = report(found, CALLS, by, Grouping(""))
    values = [
        {"key": key, "label": _label(exchange, name, key), "value": shown.totals[key][STATS[stat or "count"]]}
        for key in _sorted(shown, STATS[stat or "count"] if order == "value" else None, descending=descending)
    ]
    more = {"group_by": name, "stat": stat, "time_zone": zone_name}
    return one_list(exchange, "stats", values, ("key", "label", "value"), page=page, per_page=per_page, more=more)


async def _report(
    exchange: Exchange,
    parameters: Parameters,
    wanted: LeadFilter | CallFilter,
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
    made = report(found, measure, category, pivot)
    if names[1] == TOKENS:
        # A lead is in several pivots of its row: the rows themselves are asked for, not added up.
        alone = await exchange.services.reads.sums(exchange.company_id, wanted, category if category.name else None, None)
        rows_alone = report(alone or (), measure, category, Grouping(""))
        made = structs.replace(made, categories=rows_alone.categories, totals=rows_alone.totals)
    if names[1] is not None and len(made.categories) * len(made.pivots) > CELLS_MAX:
        parameters.refuse("pivot", f"gives more than {CELLS_MAX} cells; choose fewer days or another pivot")
        parameters.finish()
    overall = await _overall(exchange, wanted, measure, names, made)
    keys = _sorted(made, None if order == "category" else order, descending=descending)
    rows = _Rows(keys, lambda key: _row(exchange, names, made, key, columns=columns, measure=measure))
    shown = columns or ("category", "category_label", *measure.columns)
    more = {"category": names[0], "pivot": names[1], "time_zone": zone_name}
    if names[1] is None:
        return one_list(
            exchange, "reports", rows, shown, page=page, per_page=per_page, more=more, beside={"totals": overall}
        )
    return one_list(
        exchange,
        "reports",
        rows,
        _flat_columns(made, shown, measure),
        page=page,
        per_page=per_page,
        more=more,
        beside={"totals": overall},
        flat=partial(_flat, total=_total_of(made)),
    )


class _Rows(Sequence[dict[str, Any]]):
    """The rows of a report, made where they are asked for: a page shows few of them."""

    def __init__(self, keys: Sequence[Key], row: Callable[[Key], dict[str, Any]]) -> None:
        self._keys = keys
        self._row = row

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, place: Any) -> Any:
        found = self._keys[place]
        return [self._row(key) for key in found] if isinstance(place, slice) else self._row(found)


def _order(parameters: Parameters, sortable: Sequence[str]) -> tuple[str, bool]:
    """Read what rows are ordered by, and whether the highest comes first; left out, they stand as their values do."""
    order = parameters.choice("order", sortable)
    direction = parameters.choice("order_dir", ("desc", "asc"))
    descending = direction == "desc" or (direction is None and order is not None)
    return order or sortable[0], descending


def _sorted(made: Report, metric: str | None, *, descending: bool) -> list[Key]:
    """Return the categories by a metric, those without a value last; without one in their own order."""
    keys = list(made.categories)
    if metric is None:
        return keys[::-1] if descending else keys
    known = [key for key in keys if made.totals[key][metric] is not None]
    unknown = [key for key in keys if made.totals[key][metric] is None]
    return sorted(known, key=lambda key: made.totals[key][metric] or 0, reverse=descending) + unknown


async def _found(
    exchange: Exchange,
    parameters: Parameters,
    wanted: LeadFilter | CallFilter,
    names: tuple[str | None, str | None],
    zone_name: str,
) -> tuple[Sequence[Group], Grouping, Grouping]:
    """Return the groups, and what they are grouped by. Raises `ProblemError` where they are too many."""
    since, until = await _span(exchange, wanted, names)
    groupings = []
    for field, name in zip(("category", "pivot"), names, strict=True):
        try:
            groupings.append(Grouping("") if name is None else grouping(name, since, until, zone_name))
        except (TooManyBucketsError, BeyondCalendarError) as error:
            parameters.refuse("group_by" if "stat" in exchange.query else field, str(error))
    parameters.finish()
    category, pivot = groupings
    asked = [one if one.name else None for one in groupings]
    found = await exchange.services.reads.sums(exchange.company_id, wanted, asked[0], asked[1])
    if found is None:
        parameters.refuse("category" if pivot.name == "" else "pivot", "gives too many groups; choose fewer days")
        parameters.finish()
    return found or (), category, pivot


async def _span(
    exchange: Exchange, wanted: LeadFilter | CallFilter, names: tuple[str | None, str | None]
) -> tuple[Instant | None, Instant | None]:
    """Return between which instants there are buckets: what was asked for, else as far as there are rows."""
    since, until = wanted.created_from, wanted.created_to
    if (since is not None and until is not None) or not {*TIME_UNITS} & {*names}:
        return since, until
    span = await exchange.services.reads.created_span(exchange.company_id, wanted)
    if span is None:
        return since, since  # nothing, from a beginning that may be known
    first, last = span
    return first if since is None else since, last + 1 if until is None else until


async def _overall(
    exchange: Exchange,
    wanted: LeadFilter | CallFilter,
    measure: Measure,
    names: tuple[str | None, str | None],
    made: Report,
) -> Cell:
    """Return the metrics of everything. Where a lead is in several groups they are asked for, not added up."""
    if TOKENS not in names:
        return made.overall
    found = await exchange.services.reads.sums(exchange.company_id, wanted, None, None)
    return report(found or (), measure, Grouping(""), Grouping("")).overall


def _row(
    exchange: Exchange,
    names: tuple[str | None, str | None],
    made: Report,
    key: Key,
    *,
    columns: Sequence[str] | None,
    measure: Measure,
) -> dict[str, Any]:
    named = {"category": key, "category_label": _label(exchange, names[0], key)}
    if names[1] is None:
        row = {**named, **made.totals[key]}
        return {name: row[name] for name in columns} if columns else row
    wanted = [name for name in columns or measure.columns if name in measure.columns]
    pivots = {_text(pivot): _chosen(made.cells[key, pivot], wanted) for pivot in made.pivots}
    return {**named, "pivots": pivots, "total": _chosen(made.totals[key], wanted)}


def _chosen(cell: Cell, wanted: Sequence[str]) -> dict[str, float | None]:
    return {name: cell[name] for name in wanted}


def _flat_columns(made: Report, shown: Sequence[str], measure: Measure) -> list[str]:
    wanted = [name for name in shown if name in measure.columns]
    pivots = (*map(_text, made.pivots), _total_of(made))
    across = [f"{pivot}.{name}" for pivot in pivots for name in wanted]
    return ["category", "category_label", *across]


def _total_of(made: Report) -> str:
    """Return what a file calls the whole of a row: something else than any of its pivots."""
    return "(total)" if "total" in made.pivots else "total"


def _flat(row: Mapping[str, Any], *, total: str) -> dict[str, Any]:
    """Return a row with pivots as a line of a file: `<pivot>.<metric>`, and what the whole of the row is called."""
    parts = {**row["pivots"], total: row["total"]}
    across = {f"{pivot}.{name}": value for pivot, cell in parts.items() for name, value in cell.items()}
    return {"category": row["category"], "category_label": row["category_label"], **across}


def _text(key: Key) -> str:
    """Return what a pivot is called: JSON has texts only for names."""
    if key is None:
        return NO_VALUE
    return str(key).lower() if isinstance(key, bool) else str(key)


def _label(exchange: Exchange, name: str | None, key: Key) -> str:
    if name is None:
        return NO_CATEGORY
    if key is None:
        return NO_VALUE
    if name in _RECORDS and isinstance(key, int):
        return _record_name(exchange.services.source.rules, _RECORDS[name], key) or str(key)
    if name == "status" and isinstance(key, str):
        return SENTENCES.get(key, "").partition(":")[0] or _worded(key)
    return _worded(key) if isinstance(key, str) and name in {"outcome", "origin"} else _text(key)


def _worded(code: str) -> str:
    return code.replace("_", " ").replace("-", " ").capitalize()


def _record_name(rules: Rules, record_type: str, record_id: int) -> str | None:
    record = rules.record(record_type, record_id)
    return None if record is None else record.body.get("name")


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
_ORDERED = {"order": "figure to order rows by, the highest first; their own order", "order_dir": "desc or asc"}

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="report_leads",
        methods=("GET",),
        path="/api/v1/leads/reports",
        summary="Add up leads by category and pivot",
        handler=of_leads,
        scope="lead:read",
        rate="report",
        parameters={
            **_SHARED,
            **_PAGED,
            "created_at_label": "a span of creation such as This Month",
            **_ORDERED,
            "category": f"what leads are grouped by, {_SPANNED}; left out: one row for all",
            "pivot": "what the leads of a row are grouped by once more",
            "columns": "figures to return, with commas between them, in this order",
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
        methods=("GET",),
        path="/api/v1/calls/reports",
        summary="Add up calls by category",
        handler=of_calls,
        scope="call:read",
        rate="report",
        parameters={
            **_SHARED,
            **_PAGED,
            **CALL_FILTER_PARAMETERS,
            "ids": PAGING_PARAMETERS["ids"],
            **_ORDERED,
            "category": f"what calls are grouped by, {_SPANNED}",
            "columns": "figures to return, with commas between them, in this order",
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
        name="stats_of_calls",
        methods=("GET",),
        path="/api/v1/calls/stats",
        summary="One figure of calls for each value of an attribute",
        handler=stats_of_calls,
        scope="call:read",
        rate="report",
        parameters={
            **_SHARED,
            **CALL_FILTER_PARAMETERS,
            "ids": PAGING_PARAMETERS["ids"],
            "page": "page to return, from 1",
            "per_page": f"values of a page: {STAT_ROWS_MAX}, and at most as many",
            "order": "key or value, the highest first; the keys' own order",
            "order_dir": "desc or asc",
            "group_by": f"attribute to group by, {_SPANNED}",
            "stat": "figure to work out",
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
