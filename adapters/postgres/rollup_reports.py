"""Which pre-aggregated sums (rollups) answer a report, and how are they added to the rows that have none yet?

There are rollups by one category, and by pairs of categories of which one is in `PAIRED`. A report needs those of its
category, pivot and filters together; a unit of time needs none, because its buckets are sums of spans.

Some categories are rolled up as another one, from which a report computes its own: call centers as agents, who may move to
another center, and local days of an activity as hours, because days begin at another hour in each zone.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations

from msgspec import Struct
from msgspec.structs import asdict

from adapters.postgres.conditions import Statement, is_storable
from adapters.postgres.reports import (
    CALL_GROUPINGS,
    CALL_JOINS,
    GROUPS_MAX,
    LEAD_GROUPINGS,
    LOCAL_HOUR,
    RECENT_AGENT,
    TOKENS,
    activity_day,
    bind_edges,
    bucket,
    call_center,
    local_day,
    sums_again,
    sums_of,
    token,
    tokens_joined,
)
from adapters.postgres.spans import HOURS, TIERS, Cover, Span, merge_adjacent
from adapters.reads.ports import CallFilter, LeadFilter
from engine.calendar.zones import has_whole_hours, is_zone
from engine.views.report import ACTIVITY_DAYS, BELOW_DAYS, CALL_DAYS, LEAD_DAYS, TIME_UNITS, Grouping
from schemas.instant import HOUR, MINUTE, Instant, to_datetime

ALL = "all"
"""The category of the rollups of all rows: for reports by time."""

WIDE: Mapping[str, tuple[str, ...]] = {"leads": ("zip_postal_code", "sub_id", TOKENS), "calls": ()}
"""Categories with nearly as many values in a day as rows: they have rollups of months and years only, and no pairs."""

HOURLY: Mapping[str, tuple[str, ...]] = {
    "leads": ("status", "offer_id", "schedule_id", "traffic_source_id", "buyer_id", "recent_call_disposition_id"),
    "calls": ("status", "offer_id", "schedule_id", "traffic_source_id", "buyer_id", "buyer_group_id", "buyer_converted"),
}
"""What reports by day and week are also grouped by: leads by a pivot, calls by a filter. They have rollups of hours, because
days begin at a different hour in each zone. The disposition is one because it must be searched among a lead's calls."""

QUARTER = 15 * MINUTE
"""Of an hour: zones differ by multiples of it."""

ROLLED_AS: Mapping[str, Mapping[str, str]] = {
    "leads": {
        "call_center_id": "recent_agent_id",
        "first_action_at_day": "first_action_at_hour",
        "last_action_at_day": "last_action_at_hour",
    },
    "calls": {"call_center_id": "agent_id", "ended_at_day": "ended_at_hour"},
}
"""Category of a report -> the category of its rollups, where that is another."""

UNPAIRED: Mapping[str, frozenset[str]] = {
    "leads": frozenset({"lead_import_id", *ROLLED_AS["leads"].values()}),
    "calls": frozenset({"ring_pool_id", "number_id", *ROLLED_AS["calls"].values()}),
}
"""Categories without pairs: an hour has as many values as a month has hours, and few ask for the others with a pivot."""

_HOURS: Mapping[str, Mapping[str, str]] = {
    table: {ROLLED_AS[table][name]: f"floor(extract(epoch FROM {moment}) / 3600)::bigint" for name, moment in days.items()}
    for table, days in (("leads", LEAD_DAYS), ("calls", CALL_DAYS))
}
"""The hour of an activity, as the number of hours since 1970."""

_GROUPINGS: Mapping[str, Mapping[str, str]] = {
    "leads": {
        **{name: value for name, value in LEAD_GROUPINGS.items() if name not in ROLLED_AS["leads"]},
        TOKENS: token("row"),
        "recent_agent_id": RECENT_AGENT,
        **_HOURS["leads"],
    },
    "calls": {
        # Without imports: a lead may get into another import later, which marks no day of its calls.
        **{name: value for name, value in CALL_GROUPINGS.items() if name not in {*ROLLED_AS["calls"], "lead_import_id"}},
        "agent_id": "agent_id",
        **_HOURS["calls"],
    },
}
PAIRED: Mapping[str, Collection[str]] = {
    "leads": {*_GROUPINGS["leads"]} - {*WIDE["leads"]} - UNPAIRED["leads"],
    "calls": HOURLY["calls"],
}
"""One category of each pair with rollups: leads are pivoted by anything, calls are filtered by few. Pairs have rollups of
months and years, because a day has hardly fewer pairs than rows."""

_FILTERED = {"buyer_group_ids": "buyer_group_id", "states": "state", "call_disposition_id": "disposition_id"}
"""Filter -> its category, where the names differ."""


# -- making rollups ----------------------------------------------------------------------------------------------------


def daily_categories(table: str) -> str:
    """Return the categories with rollups of days but not of hours, each with its value as text, as rows of VALUES.

    `ALL` is among them: its hours are sums of quarters.
    """
    names = [name for name in _narrow(table) if name not in HOURLY[table]]
    return ", ".join([f"('{ALL}', NULL::text)", *_category_values(table, names)])


def hourly_categories(table: str) -> str:
    """Return the categories with rollups of hours and days, each with its value as text, as rows of VALUES."""
    return ", ".join(_category_values(table, HOURLY[table]))


def _category_values(table: str, names: Sequence[str]) -> list[str]:
    return [f"('{name}', ({_GROUPINGS[table][name]})::text)" for name in names]


def wide_pieces(table: str) -> list[dict[str, str]]:
    """Return each category with rollups of months only, and the SQL of its value."""
    return [
        {"category": name, "value": _GROUPINGS[table][name], "joins": tokens_joined("row") if name == TOKENS else ""}
        for name in WIDE[table]
    ]


def pair_pieces(table: str) -> dict[str, str]:
    """Return the SQL of all pairs. GROUPING() identifies a grouping set by the bits of the columns that it leaves out."""
    names = _paired_names(table)
    bits = {name: 1 << place for place, name in enumerate(reversed(names))}
    kept = [
        (
            sum(bits.values()) - bits[first] - bits[second],
            f"'{first} {second}'",
            names.index(first) + 1,
            names.index(second) + 1,
        )
        for first, second in pairs(table)
    ]
    return {
        "values": ", ".join(f"{_GROUPINGS[table][name]} AS by_{name}" for name in names),
        "texts": ", ".join(f"by_{name}::text" for name in names),
        "all": ", ".join(f"by_{name}" for name in names),
        "sets": ", ".join(f"(by_{first}, by_{second})" for first, second in pairs(table)),
        "pairs": ", ".join(f"({', '.join(map(str, one))})" for one in kept),
    }


def pairs(table: str) -> list[tuple[str, str]]:
    """Return the pairs of categories that have rollups, sorted by name."""
    return [pair for pair in combinations(_paired_names(table), 2) if {*pair} & {*PAIRED[table]}]


def _paired_names(table: str) -> list[str]:
    return sorted({*_narrow(table)} - UNPAIRED[table])


def _narrow(table: str) -> Mapping[str, str]:
    return {name: value for name, value in _GROUPINGS[table].items() if name not in WIDE[table]}


# -- choosing rollups -----------------------------------------------------------------------------------------------


class RollupReport(Struct, frozen=True):
    """A report that rollups can answer. `names`: the categories of the rollups: none, one or a pair."""

    table: str
    category: Grouping | None
    pivot: Grouping | None
    filters: Mapping[str, Sequence[str]]
    names: tuple[str, ...]

    @property
    def unit(self) -> Grouping | None:
        """Return the unit of time of its category or pivot."""
        return next((one for one in (self.category, self.pivot) if one is not None and one.name in TIME_UNITS), None)

    @property
    def tiers(self) -> Sequence[str]:
        """Return the tiers with these rollups, widest first; none if rows must be added up."""
        if self.unit is not None and not self.names:
            return ("day",) if all(edge % QUARTER == 0 for edge in self.unit.edges) else ()
        if self.unit is not None and self.unit.name in BELOW_DAYS:
            # Only an hour lies within a bucket, where each is a whole one.
            is_whole = all(edge % HOUR == 0 for edge in self.unit.edges)
            return tuple(tier for tier in self._tiers if tier == HOURS and is_whole)
        return self._tiers

    @property
    def _tiers(self) -> Sequence[str]:
        if len(self.names) > 1 or {*self.names} & {*WIDE[self.table]}:
            return TIERS[:-1]
        return (*TIERS, HOURS) if {*self.names} & {*HOURLY[self.table]} else TIERS

    @property
    def cuts(self) -> Sequence[Instant]:
        """Return the edges that no span may cross, because a span belongs to one bucket. Quarters and hours cross none."""
        if self.unit is None or not self.names or self.unit.name in BELOW_DAYS:
            return ()
        return self.unit.edges

    def column(self, name: str) -> str:
        """Return the column of the rollups that holds the values of a category."""
        return ("value", "other")[self.names.index(rolled_as(self.table, name))]


def rolled_as(table: str, name: str) -> str:
    """Return the category of the rollups that answer a report by a category."""
    return ROLLED_AS[table].get(name, name)


def find_rollup_report(
    wanted: LeadFilter | CallFilter, category: Grouping | None, pivot: Grouping | None
) -> RollupReport | None:
    """Return the report that rollups can answer, or None."""
    table = "leads" if isinstance(wanted, LeadFilter) else "calls"
    filters = _filters(table, wanted)
    by = [one.name for one in (category, pivot) if one is not None]
    if table == "calls" and {*by} & {"lead_import_id"}:
        return None
    if any(one is not None and one.name in ACTIVITY_DAYS and not _begins_on_hours(one.zone) for one in (category, pivot)):
        return None
    if filters is None or sum(name in TIME_UNITS for name in by) > 1 or by.count(TOKENS) > 1:
        return None
    needed = {*(rolled_as(table, name) for name in by), *filters}
    names = tuple(sorted(name for name in needed if name in _GROUPINGS[table]))
    if len(names) > 1 and names not in pairs(table):
        return None
    return RollupReport(table, category, pivot, filters, names)


def _begins_on_hours(zone_name: str) -> bool:
    """Return whether each day of a zone begins at a whole hour of UTC."""
    return is_zone(zone_name) and has_whole_hours(zone_name)


def _filters(table: str, wanted: LeadFilter | CallFilter) -> dict[str, list[str]] | None:
    """Return category -> values of a filter, as text; None if it filters by anything else."""
    found = {}
    for field, value in asdict(wanted).items():
        if value is None or field in {"created_from", "created_to"}:
            continue
        name = _FILTERED.get(field, field)
        if name not in _GROUPINGS[table] or not is_storable(value):
            return None
        values = value if isinstance(value, tuple) else (value,)
        found[name] = [str(one).lower() if isinstance(one, bool) else str(one) for one in values]
    return found


# -- adding them up ---------------------------------------------------------------------------------------------


def rollup_pieces(report: RollupReport, statement: Statement, found: Cover, zones: Sequence[str]) -> dict[str, str]:
    """Return the pieces of the statement that adds up rollups, and rows where there are no rollups.

    `statement` has the conditions of the filters, without the span of creation, which `found` covers.
    """
    since, until = _bind_spans(statement, found.gaps)
    return {
        **_grouped_by(report, statement, "category", report.category, zones),
        **_grouped_by(report, statement, "pivot", report.pivot, zones),
        "source": report.table,
        "kept": f"'{' '.join(report.names) or ALL}'",
        **_rollup_spans(report, statement, found),
        "filtered": "".join(
            f" AND r.{report.column(name)} = ANY ({statement.bind(values)}::text[])"
            for name, values in report.filters.items()
        ),
        "joins": _joins(report),
        "where": statement.where,
        "gaps": f"unnest({since}, {until}) AS gap (since, until)",
        "names": ", ".join(sums_of(report.table)),
        "sums": ", ".join(f"{expression} AS {name}" for name, expression in sums_of(report.table).items()),
        "sums_again": sums_again(report.table),
        "limit": str(GROUPS_MAX + 1),
    }


def _joins(report: RollupReport) -> str:
    """Return what the rows of gaps are joined with."""
    is_by_center = any(one is not None and one.name == "call_center_id" for one in (report.category, report.pivot))
    centers = CALL_JOINS["call_center_id"] if is_by_center and report.table == "calls" else ""
    return centers + (tokens_joined("row") if TOKENS in report.names else "")


def _grouped_by(
    report: RollupReport, statement: Statement, place: str, wanted: Grouping | None, zones: Sequence[str]
) -> dict[str, str]:
    """Return the SQL of a category or pivot, from rollups and from a row."""
    rolled = raw = "NULL::text"
    if wanted is not None and wanted.name in TIME_UNITS:
        edges = bind_edges(wanted, statement)
        rolled, raw = bucket(edges, "at"), bucket(edges)
    elif wanted is not None and wanted.name in ACTIVITY_DAYS:
        rolled = local_day(f"to_timestamp({report.column(wanted.name)}::bigint * 3600)", wanted, statement, zones)
        raw = activity_day(wanted, statement, zones)
    elif wanted is not None and wanted.name == "call_center_id":
        rolled = call_center(f"r.{report.column(wanted.name)}::bigint")
        raw = (LEAD_GROUPINGS if report.table == "leads" else CALL_GROUPINGS)[wanted.name]
    elif wanted is not None and wanted.name in report.names:
        rolled = f"{report.column(wanted.name)}::{_VALUES.get(wanted.name, 'text')}"
        raw = _GROUPINGS[report.table][wanted.name]
        if wanted.name == LOCAL_HOUR:
            raw = raw.replace("{zones}", f"{statement.bind(list(zones))}::text[]")
    return {f"rolled_{place}": rolled, f"raw_{place}": raw}


def _rollup_spans(report: RollupReport, statement: Statement, found: Cover) -> dict[str, str]:
    """Return the tiers and spans whose rollups are added up; for buckets of all rows, the hours in them."""
    spans = found.spans
    if report.unit is not None and not report.names:
        tier = HOURS if all(edge % HOUR == 0 for edge in report.unit.edges) else "quarter"
        spans = [Span(tier, span.start, span.until) for span in spans]
    merged = merge_adjacent(spans)
    tiers = statement.bind([one.tier for one in merged])
    since, until = _bind_spans(statement, [(one.start, one.until) for one in merged])
    return {"spans": f"unnest({tiers}::text[], {since}, {until}) AS s (tier, since, until)"}


def _bind_spans(statement: Statement, spans: Sequence[tuple[Instant, Instant]]) -> tuple[str, str]:
    """Bind the starts and ends of spans and return their placeholders."""
    ends = [[to_datetime(span[place]) for span in spans] for place in (0, 1)]
    first, last = (f"{statement.bind(moments)}::timestamptz[]" for moments in ends)
    return first, last


_VALUES: Mapping[str, str] = {
    **dict.fromkeys(
        (
            *("offer_id", "schedule_id", "traffic_source_id", "buyer_id", "buyer_group_id", "disposition_id"),
            *("outbound_calls_count", "inbound_calls_count", "attempt_number", LOCAL_HOUR, "buyer_converted_days"),
            *("recent_call_disposition_id", "dial_tier", "lead_import_id", "ring_pool_id", "number_id"),
        ),
        "bigint",
    ),
    **dict.fromkeys(("buyer_converted", "offer_converted"), "boolean"),
}
"""Category -> type of its values, if not text."""
