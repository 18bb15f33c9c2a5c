"""How do leads, calls and callbacks add up? Any category and pivot of the API's reports: a chart, a table, a link, a file.

The address of a view is the query of the report, so that it can be sent to somebody. `of` says which report it is and
`figure` what the chart shows; every other parameter is the API's.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct

from adapters.http.console.rendering import HEADERS, show_span
from adapters.http.console.shown_pictures import show_picture
from adapters.http.console.visits import ConsolePage, Visit
from adapters.http.exchange.exchange import Reply
from adapters.http.exchange.problems import ProblemError
from adapters.http.leads.leads import FILTER_PARAMETERS
from adapters.pictures.bars import BARS_MAX, Bar, Bars, draw_bars
from adapters.pictures.call_hours import DAYS, draw_calls, draw_connect_rates
from adapters.pictures.heat_map import HeatMap, HeatRow, draw_heat_map
from adapters.pictures.picture import Picture
from engine.calendar.zones import day_start, local_datetime
from engine.views.periods import LABELS
from engine.views.report import (
    ACTIVITY_DAYS,
    CALL_CATEGORIES,
    CALLBACK_CATEGORIES,
    CALLBACKS,
    CALLS,
    LEAD_CATEGORIES,
    LEADS,
    TIME_UNITS,
    Measure,
)
from schemas.instant import MINUTE, SECOND, Instant, to_rfc3339

PATH = "/console/reports"
PART = f"{PATH}/part"
CSV = f"{PATH}.csv"
HOURS = f"{PATH}/hours"
HOURS_CSV = f"{HOURS}.csv"

PER_PAGE = 100
PIVOTS_SHOWN = 31
"""Columns of a table with a pivot: the days of a month. The file has all."""

DEFAULT_LABEL = "This Month"
"""The span where the address says none: a report of all time is one that somebody asks for."""

OURS = frozenset({"of", "figure", "page", "per_page"})
"""Parameters of the page that are no filter of a report."""

IN_FORM = frozenset({"category", "pivot", "created_at_label", "order", "order_dir", *OURS})

RATES = frozenset({"conversion_rate", "connect_rate", "answer_rate", "abandoned_rate", "kept_rate"})
AMOUNTS = frozenset({"revenue", "payout", "profit", "cost"})
SPANS = frozenset(
    {"talk_duration", "total_duration", "avg_talk_duration", "avg_speed_to_first_attempt_seconds", "avg_late_seconds"}
)

FUNNEL = {
    "leads_count": "Submitted",
    "attempted_count": "Attempted",
    "connected_count": "Connected",
    "converted_count": "Converted",
}
"""Steps on the way of a lead; each is counted among all leads of the report."""

ORDERED = frozenset(
    {
        *TIME_UNITS,
        *ACTIVITY_DAYS,
        "hour_of_day",
        "attempt_number",
        "outbound_calls_count",
        "inbound_calls_count",
        "buyer_converted_days",
    }
)
"""Categories that are read in their own order; the others are sorted by the figure."""

WEEKS = {"1": "1 week", "2": "2 weeks", "4": "4 weeks"}
DEFAULT_WEEKS = "4"
HOURS_READ = 1_000
"""Hours of one answer of the API: four weeks have 672."""


class ReportKind(Struct, frozen=True):
    """One of the reports: its operation, what it groups by, its figures, and what it shows at first."""

    label: str
    operation: str
    measure: Measure
    categories: tuple[str, ...]
    category: str
    figure: str
    has_pivot: bool


KINDS: Mapping[str, ReportKind] = {
    "leads": ReportKind("Leads", "report_leads", LEADS, LEAD_CATEGORIES, "created_at_day", "leads_count", has_pivot=True),
    "callbacks": ReportKind(
        "Callbacks",
        "report_scheduled_callbacks",
        CALLBACKS,
        CALLBACK_CATEGORIES,
        "agent_id",
        "promised_count",
        has_pivot=True,
    ),
    "calls": ReportKind("Calls", "report_calls", CALLS, CALL_CATEGORIES, "created_at_day", "calls_count", has_pivot=False),
}

EXAMPLES = (
    ("Leads by day and status", "leads", {"category": "created_at_day", "pivot": "status"}),
    ("Conversion by traffic source", "leads", {"category": "traffic_source_id", "figure": "conversion_rate"}),
    ("Leads by status", "leads", {"category": "status"}),
    ("Calls by outcome", "calls", {"category": "outcome"}),
    ("Leads by state", "leads", {"category": "state_province"}),
    ("Connect rate by hour of the day", "calls", {"category": "hour_of_day", "figure": "connect_rate"}),
    ("Connect rate by attempt", "calls", {"category": "attempt_number", "figure": "connect_rate"}),
    ("Callbacks by agent", "callbacks", {"category": "agent_id"}),
    ("Missed callbacks by agent and day", "callbacks", {"pivot": "promised_at_day", "figure": "missed_count"}),
    ("Revenue by buyer", "calls", {"category": "buyer_id", "figure": "revenue"}),
)


async def show(visit: Visit) -> Reply:
    """Show the page."""
    key, kind = _kind(visit)
    examples = [(label, _url(of, fields)) for label, of, fields in EXAMPLES if visit.may(KINDS[of].operation)]
    kinds = {name: one.label for name, one in KINDS.items() if visit.may(one.operation)}
    found = await _found(visit, key, kind)
    return visit.page("reports.html", title="Reports", kinds=kinds, kind=kind, examples=examples, labels=LABELS, **found)


async def show_part(visit: Visit) -> Reply:
    """Show the report alone, as somebody chooses; the browser's address follows."""
    key, kind = _kind(visit)
    found = await _found(visit, key, kind)
    if found["problem"] is not None:
        return visit.page("problem_part.html", status=found["problem"]["status"], **found)
    visit.headers["HX-Replace-Url"] = found["here"]
    return visit.page("report_part.html", kind=kind, **found)


async def show_csv(visit: Visit) -> Reply:
    """Answer with the whole report as a file."""
    _, kind = _kind(visit)
    reply = await visit.pass_on(kind.operation, _asked(visit, kind, paged=False), suffix=".csv")
    visit.raise_if_refused(reply)
    named = {"Content-Disposition": 'attachment; filename="report.csv"'}
    return Reply(stream=reply.stream, content=reply.content, media_type=reply.media_type, headers={**HEADERS, **named})


class WeekOfCalls(Struct, frozen=True, kw_only=True):
    """Calls and connected ones by weekday and hour, of the weeks and filters that were asked for."""

    weeks: str
    filters: Mapping[str, Any]
    calls: Counter[tuple[int, int]]
    connected: Counter[tuple[int, int]]


async def show_hours(visit: Visit) -> Reply:
    """Show how many calls were connected, by hour and weekday."""
    found = await _week_of_calls(visit)
    return visit.page(
        "report_hours.html",
        title="Connect rate by hour and weekday",
        weeks=found.weeks,
        choices=WEEKS,
        filters=found.filters,
        is_empty=not found.calls,
        csv=f"{HOURS_CSV}?{urlencode({'weeks': found.weeks, **found.filters}, doseq=True)}",
        rates=show_picture(partial(draw_connect_rates, found.calls, found.connected, visit.zone), "rates"),
        counts=show_picture(partial(draw_calls, found.calls, visit.zone), "calls"),
    )


async def show_hours_csv(visit: Visit) -> Reply:
    """Answer with the same numbers as a file: a row for each hour of a week."""
    found = await _week_of_calls(visit)
    lines = ["weekday,hour,calls,connected,connect_rate,time_zone"]
    for day, label in enumerate(DAYS):
        for hour in range(24):
            calls, connected = found.calls[day, hour], found.connected[day, hour]
            rate = f"{connected / calls:.4f}" if calls else ""
            lines.append(f"{label},{hour},{calls},{connected},{rate},{visit.zone}")
    named = {"Content-Disposition": 'attachment; filename="connect-rate.csv"'}
    return Reply(
        content="".join(f"{line}\r\n" for line in lines).encode(),
        media_type="text/csv; charset=utf-8",
        headers={**HEADERS, **named},
    )


async def _week_of_calls(visit: Visit) -> WeekOfCalls:
    weeks = str(visit.query.get("weeks", ""))
    weeks = weeks if weeks in WEEKS else DEFAULT_WEEKS
    today = local_datetime(visit.now, visit.zone).date()
    since, until = day_start(today - timedelta(days=7 * int(weeks)), visit.zone), Instant(visit.now // MINUTE * MINUTE)
    filters = {name: value for name, value in _given(visit).items() if name not in {"weeks", *OURS}}
    span = {"created_at_from": to_rfc3339(since), "created_at_to": to_rfc3339(until)}
    asked = {**filters, **span, "group_by": "created_at_hour", "per_page": HOURS_READ}
    stats = ("count", "connected_count")
    answers = await asyncio.gather(*(visit.fetch("stats_of_calls", {**asked, "stat": stat}) for stat in stats))
    calls, connected = (_by_weekday(answer["stats"]) for answer in answers)
    return WeekOfCalls(weeks=weeks, filters=filters, calls=calls, connected=connected)


def _kind(visit: Visit) -> tuple[str, ReportKind]:
    """Return which report is asked for, else the first that is granted. Raises `ProblemError` for one that is not."""
    granted = [name for name, one in KINDS.items() if visit.may(one.operation)]
    wanted = str(visit.query.get("of", "")) or next(iter(granted), "")
    if wanted not in granted:
        raise ProblemError("not_found", "There is no such report, or no team of yours grants it.")
    return wanted, KINDS[wanted]


def _given(visit: Visit) -> dict[str, Any]:
    """Return the query without what was left empty: a form sends each of its fields."""
    return {name: value for name, value in visit.query.items() if value != ""}


def _asked(visit: Visit, kind: ReportKind, *, paged: bool) -> dict[str, Any]:
    """Return the query of the report."""
    given = _given(visit)
    fields = {name: value for name, value in given.items() if name not in OURS}
    fields.setdefault("category", kind.category)
    if not fields.keys() & {"created_at_label", "created_at_from", "created_at_to", "ids"}:
        fields["created_at_label"] = DEFAULT_LABEL
    if fields["category"] not in ORDERED and _figure(visit, kind) in kind.measure.columns:
        fields.setdefault("order", _figure(visit, kind))
    return {**fields, "page": given.get("page", 1), "per_page": PER_PAGE} if paged else fields


def _figure(visit: Visit, kind: ReportKind) -> str:
    return str(_given(visit).get("figure", kind.figure))


async def _found(visit: Visit, key: str, kind: ReportKind) -> dict[str, Any]:
    figure, asked = _figure(visit, kind), _asked(visit, kind, paged=True)
    if figure not in kind.measure.columns:
        sentence = f"must be one of {', '.join(kind.measure.columns)}"
        raise ProblemError("validation_failed", "Choose a figure of the report.", {"figure": [sentence]})
    answer = await visit.call(kind.operation, asked)
    rows, page = ([], {}) if answer.is_refused else (answer.content["reports"], answer.content["metadata"])
    filters = {name: value for name, value in asked.items() if name not in {"category", "pivot", *OURS}}
    pivots = list(rows[0]["pivots"]) if rows and "pivots" in rows[0] else []
    query = {**_given(visit), "of": key}
    totals = {} if answer.is_refused else answer.content["totals"]
    number, pages = page.get("page") or 1, page.get("total_pages")
    return {
        "of": key,
        "asked": asked,
        "figure": figure,
        "filters": filters,
        "others": {name: value for name, value in _given(visit).items() if name not in IN_FORM},
        "problem": answer.content if answer.is_refused else None,
        "is_away": False,
        "rows": rows,
        "figures": [name for name in kind.measure.columns if name in totals],
        "totals": totals,
        "pivots": pivots[:PIVOTS_SHOWN],
        "more_pivots": max(0, len(pivots) - PIVOTS_SHOWN),
        "total": page.get("total_count"),
        "page_number": number,
        "pages": pages,
        "newer": _url(key, {**query, "page": number - 1}) if number > 1 else "",
        "older": _url(key, {**query, "page": number + 1}) if pages is not None and number < pages else "",
        "here": _url(key, query),
        "csv": f"{CSV}?{urlencode({name: value for name, value in query.items() if name != 'page'}, doseq=True)}",
        "chart": None if not rows else show_picture(partial(_draw, rows, asked, figure, pivots[:PIVOTS_SHOWN]), "report"),
        "funnel": show_picture(partial(_draw_funnel, totals), "funnel") if key == "leads" and totals else None,
        "leads_of": partial(_leads_of, visit, asked) if key == "leads" else _no_link,
        "show": show_figure,
        "words_of": words_of,
    }


def _url(key: str, fields: Mapping[str, Any]) -> str:
    return f"{PATH}?{urlencode({**fields, 'of': key}, doseq=True)}"


def _leads_of(visit: Visit, asked: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """Return the link to the leads of a row; an empty string where no filter chooses them."""
    category, value = asked["category"], row["category"]
    if category not in FILTER_PARAMETERS or value is None or not visit.has_page("/console/leads"):
        return ""
    kept = {name: text for name, text in asked.items() if name in FILTER_PARAMETERS or name.startswith("created_at")}
    text = str(value).lower() if isinstance(value, bool) else value
    return f"/console/leads?{urlencode({**kept, category: text}, doseq=True)}"


def _no_link(_: Mapping[str, Any]) -> str:
    return ""


def show_figure(name: str, value: float | None) -> str:
    """Return a figure of a report as a person reads it: a rate in per cent, a duration in minutes, money with cents."""
    if value is None:
        return "-"
    if name in RATES:
        return f"{value:.1%}"
    if name in SPANS:
        return show_span(int(value * SECOND))
    return f"{value:,.2f}" if name in AMOUNTS else f"{value:,.4g}" if value % 1 else f"{value:,.0f}"


def words_of(name: str) -> str:
    """Return the name of a figure or a category as a heading: `created_at_day` as `day`, `leads_count` as `leads`."""
    return name.replace("_", " ").removeprefix("created at ").removesuffix(" count").removesuffix(" id")


def _cut(rows: Sequence[Mapping[str, Any]], category: str) -> tuple[Sequence[Mapping[str, Any]], str]:
    """Return the rows that a chart shows, and a sentence that says so: of days the last, of others the first."""
    if len(rows) <= BARS_MAX:
        return rows, f"{len(rows)} rows"
    is_of_time = category in {*TIME_UNITS, *ACTIVITY_DAYS}
    shown = rows[-BARS_MAX:] if is_of_time else rows[:BARS_MAX]
    return shown, f"The {'last' if is_of_time else 'first'} {BARS_MAX} of {len(rows)} rows of this page"


def _draw(  # noqa: PLR0917 - bound once, called for each width
    rows: Sequence[Mapping[str, Any]], asked: Mapping[str, Any], figure: str, pivots: Sequence[str], width: float, name: str
) -> Picture:
    category = asked["category"]
    shown, sentence = _cut(rows, category)
    title, heading = f"{words_of(figure).capitalize()} by {words_of(category)}", words_of(category).capitalize()
    if pivots:
        data = HeatMap(
            title=f"{title} and {words_of(asked['pivot'])}",
            sentence=f"{sentence}, in per cent" if figure in RATES else sentence,
            unit="%" if figure in RATES else words_of(figure),
            columns=[_short(pivot) for pivot in pivots],
            rows=[_heat_row(row, figure, pivots) for row in shown],
            row_heading=heading,
            each="" if figure in RATES else " in a cell",
            absent="there is none",
            end="all",
            rows_max=BARS_MAX,
        )
        return draw_heat_map(data, width=width, name=name)
    bars = [Bar(str(row["category_label"]), row.get(figure), show_figure(figure, row.get(figure))) for row in shown]
    nothing = "There is nothing to show"
    made = Bars(title=title, sentence=sentence, heading=heading, figure=words_of(figure), bars=bars, nothing=nothing)
    return draw_bars(made, width=width, name=name)


def _heat_row(row: Mapping[str, Any], figure: str, pivots: Sequence[str]) -> HeatRow:
    counts = [_whole(figure, row["pivots"][pivot].get(figure)) for pivot in pivots]
    return HeatRow(str(row["category_label"]), counts, show_figure(figure, row["total"].get(figure)))


def _whole(figure: str, value: float | None) -> int | None:
    """Return a figure as a cell of a heat map shows it; a rate in per cent."""
    return None if value is None else round(value * 100) if figure in RATES else round(value)


def _short(pivot: str) -> str:
    """Return a pivot as the heading of a narrow column: a day without its year."""
    return pivot[5:] if len(pivot) == len("2026-03-07") and pivot[4:5] == pivot[7:8] == "-" else pivot.replace("_", " ")


def _draw_funnel(totals: Mapping[str, Any], width: float, name: str) -> Picture:
    first = totals.get("leads_count")
    bars = [
        Bar(label, totals[step], f"{totals[step]:,}" + (f" ({totals[step] / first:.1%})" if first else ""))
        for step, label in FUNNEL.items()
        if totals.get(step) is not None
    ]
    return draw_bars(
        Bars(
            title="Funnel",
            sentence="Of all leads of this report",
            heading="Step",
            figure="leads",
            bars=bars,
            nothing="No team of yours shows the steps",
        ),
        width=width,
        name=name,
    )


def _by_weekday(stats: Iterable[Mapping[str, Any]]) -> Counter[tuple[int, int]]:
    """Return the sums by weekday and hour of the clock that the keys are read on."""
    found: Counter[tuple[int, int]] = Counter()
    for row in stats:
        at = datetime.fromisoformat(row["key"])
        if row["value"]:
            found[at.weekday(), at.hour] += row["value"]
    return found


_NEEDS_ANY = tuple(one.operation for one in KINDS.values())

PAGES: tuple[ConsolePage, ...] = (
    ConsolePage(path=PATH, handler=show, label="Reports", needs_any=_NEEDS_ANY),
    ConsolePage(path=PART, handler=show_part, needs_any=_NEEDS_ANY),
    ConsolePage(path=CSV, handler=show_csv, needs_any=_NEEDS_ANY),
    ConsolePage(path=HOURS, handler=show_hours, needs=("stats_of_calls",)),
    ConsolePage(path=HOURS_CSV, handler=show_hours_csv, needs=("stats_of_calls",)),
)
