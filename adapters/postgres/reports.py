"""How are leads and calls added up? One grouped statement a report, of fixed pieces; rates are worked out elsewhere."""

from collections.abc import Mapping, Sequence

from adapters.http.ports import Row
from adapters.postgres.conditions import Statement
from adapters.postgres.spans import TIERS, Cover, joined
from engine.views.report import CALLS, LEADS, TIME_UNITS, Group, Grouping, Measure
from schemas.instant import HOUR, MINUTE, Instant, to_datetime

GROUPS_MAX = 100_000
"""Of one statement: so many rows of sums are read and added up in a second."""

WORK_MEM = "64MB"
"""For the groups of one report, in memory rather than on disk; five reports a second at most are allowed to a company."""

_CONVERTED_CALL = (
    "(SELECT {told} FROM {read}.calls AS c WHERE c.company_id = leads.company_id AND c.lead_id = leads.id"
    " AND c.buyer_converted AND c.deleted_at IS NULL ORDER BY c.created_at DESC, c.id DESC LIMIT 1)"
)
_DISPOSITION = (
    "(SELECT c.call_disposition_id FROM {read}.calls AS c WHERE c.company_id = leads.company_id AND c.lead_id = leads.id"
    " AND c.call_disposition_id IS NOT NULL AND c.deleted_at IS NULL ORDER BY c.created_at DESC, c.id DESC LIMIT 1)"
)
NOT_KEPT = "NULL::bigint"
"""Nothing fills it: every lead is in the group without a value."""

LEAD_GROUPINGS: Mapping[str, str] = {
    **{
        name: name
        for name in (
            "status", "offer_id", "schedule_id", "traffic_source_id", "outbound_calls_count", "buyer_id", "country",
            "sub_id", "contact_field_type", "schedule_trigger_type", "zip_postal_code", "state_province",
        )
    },
    "schedule_action_id": "step",
    "buyer_converted_schedule_action_id": "CASE WHEN buyer_converted THEN "
    + _CONVERTED_CALL.replace("{told}", "c.schedule_action_id")
    + " END",
    "buyer_converted_days": "CASE WHEN buyer_converted THEN "
    + _CONVERTED_CALL.replace("{told}", "floor(extract(epoch FROM c.created_at - leads.created_at) / 86400)::bigint")
    + " END",
    "recent_call_disposition_id": _DISPOSITION,
    "inbound_calls_count": "coalesce((rest ->> 'inbound_calls_count')::bigint, 0)",
    "state": "coalesce(state_province, states[1])",
    "lead_import_id": NOT_KEPT,
    "call_center_id": NOT_KEPT,
    "dial_tier": "(rest ->> 'dial_tier')::bigint",
}  # fmt: skip
CALL_GROUPINGS: Mapping[str, str] = {
    **{
        name: name
        for name in (
            "buyer_converted", "offer_converted", "status", "outcome", "offer_id", "schedule_id", "schedule_action_id",
            "traffic_source_id", "buyer_id", "buyer_group_id", "state", "origin", "attempt_number",
        )
    },
    "disposition_id": "call_disposition_id",
    # A zone that the database has not heard of would end the statement; its calls have no hour.
    "hour_of_day": "CASE WHEN time_zone = ANY ({zones})"
    " THEN date_part('hour', created_at AT TIME ZONE time_zone)::bigint END",
}  # fmt: skip

LEAD_SUMS: Mapping[str, str] = {
    "leads_count": "count(*)",
    "live_count": "count(*) FILTER (WHERE is_live)",
    "attempted_count": "count(*) FILTER (WHERE outbound_calls_count + sms_count + emails_count > 0)",
    "connected_count": "count(*) FILTER (WHERE connected)",
    "converted_count": "count(*) FILTER (WHERE buyer_converted OR offer_converted)",
    "opt_out_count": "count(*) FILTER (WHERE opt_out)",
    "outbound_calls_count": "coalesce(sum(outbound_calls_count::integer), 0)",
    "sms_count": "coalesce(sum(sms_count::integer), 0)",
    "emails_count": "coalesce(sum(emails_count::integer), 0)",
    "revenue": "coalesce(sum(revenue), 0)",
    "payout": "coalesce(sum(payout), 0)",
    "connected_calls_count": "coalesce(sum(outbound_calls_count::integer) FILTER (WHERE connected), 0)",
    "first_attempts_count": "count(first_action_at)",
    "first_attempts_seconds": "coalesce(sum(date_part('epoch', first_action_at - created_at)), 0)",
}
TOKENS = "token_values_map"
LOCAL_HOUR = "hour_of_day"
"""Over rows it has a statement of its own: a clock is read once for each zone and quarter of an hour, not for each call."""

_KINDS = dict.fromkeys(("revenue", "payout", "cost", "first_attempts_seconds"), "float8")
"""Of sums of sums; the others are whole numbers."""

CONNECTED = "outcome IN ('connected_human', 'connected_buyer')"
CALL_SUMS: Mapping[str, str] = {
    "calls_count": "count(*)",
    "inbound_count": "count(*) FILTER (WHERE direction = 'inbound')",
    "connected_count": f"count(*) FILTER (WHERE {CONNECTED})",
    "converted_count": "count(*) FILTER (WHERE buyer_converted OR offer_converted)",
    "buyer_converted_count": "count(*) FILTER (WHERE buyer_converted)",
    "offer_converted_count": "count(*) FILTER (WHERE offer_converted)",
    "no_buyer_count": "count(*) FILTER (WHERE no_buyer)",
    "talk_duration": "coalesce(sum(talk_duration::integer), 0)",
    "total_duration": "coalesce(sum(total_duration::integer), 0)",
    "revenue": "coalesce(sum(revenue), 0)",
    "payout": "coalesce(sum(payout), 0)",
    "cost": "coalesce(sum(cost), 0)",
    "connected_talk_duration": f"coalesce(sum(talk_duration::integer) FILTER (WHERE {CONNECTED}), 0)",
}
_TABLES: Mapping[str, tuple[Measure, Mapping[str, str], Mapping[str, str]]] = {
    "leads": (LEADS, LEAD_GROUPINGS, LEAD_SUMS),
    "calls": (CALLS, CALL_GROUPINGS, CALL_SUMS),
}


def pieces(
    table: str, statement: Statement, category: Grouping | None, pivot: Grouping | None, zones: Sequence[str]
) -> dict[str, str]:
    """Return what belongs into the statement that adds up leads or calls: the sums of the rows that a filter leaves.

    A group of a unit of time is the number of its bucket. `zones` are those that the database knows: another one would end
    the statement.
    """
    joins, by = "", {}
    for place, wanted in (("category", category), ("pivot", pivot)):
        if wanted is None:
            by[place] = "NULL::text"
        elif wanted.name == TOKENS:
            joins += _joined(place)
            by[place] = _token(place)
        elif wanted.name == LOCAL_HOUR:
            by[place] = statement.bind(list(zones))
        else:
            by[place] = _bucket(wanted, statement) if wanted.name in TIME_UNITS else _TABLES[table][1][wanted.name]
    return {
        **by,
        "sums": ", ".join(f"{told} AS {name}" for name, told in sums_of(table).items()),
        "sums_again": sums_again(table),
        "joins": joins,
        "where": statement.where,
        "limit": str(GROUPS_MAX + 1),
    }


def _joined(place: str) -> str:
    """Return the join by which a lead is in the group of each of its tokens; without any, in the group without a value."""
    return f" LEFT JOIN LATERAL jsonb_each_text(data) AS {place}_token (key, told) ON true"


def _token(place: str) -> str:
    return f"{place}_token.key || ':' || left({place}_token.told, 100)"


def _bucket(wanted: Grouping, statement: Statement, moment: str = "created_at") -> str:
    if not wanted.edges:
        return "NULL::integer"
    return f"width_bucket({moment}, {statement.bind([to_datetime(edge) for edge in wanted.edges])}::timestamptz[])"


ALL = "all"
"""The category of the sums of all rows: of reports by time, and of those by what nothing fills."""

WIDE: Mapping[str, tuple[str, ...]] = {"leads": ("zip_postal_code", "sub_id", TOKENS), "calls": ()}
"""What has nearly as many values in a day as there are rows: it has sums of months and years only."""

QUARTER = 15 * MINUTE
"""Of an hour: the clocks of all zones are apart by whole ones."""


def sums_of(table: str) -> Mapping[str, str]:
    """Return each sum of a table and how it is worked out."""
    measure, _, sums = _TABLES[table]
    return {name: sums[name] for name in measure.sums}


def sums_again(table: str) -> str:
    """Return how sums are added up: as floats, exact up to 2**53 and several times faster than whole numbers."""
    return ", ".join(f"sum({name}::float8)::{_KINDS.get(name, 'bigint')} AS {name}" for name in _TABLES[table][0].sums)


def rolled_categories(table: str) -> str:
    """Return the categories that have sums of days, each with its value as text, as the rows of VALUES."""
    pairs = [f"('{ALL}', NULL::text)"]
    for name, expression in _TABLES[table][1].items():
        if expression != NOT_KEPT and name not in WIDE[table]:
            pairs.append(f"('{name}', ({expression})::text)")
    return ", ".join(pairs)


def wide_pieces(table: str) -> list[dict[str, str]]:
    """Return each category that has sums of months only, and how its value is read from a row."""
    return [
        {
            "category": name,
            "value": _token(name) if name == TOKENS else _TABLES[table][1][name],
            "joins": _joined(name) if name == TOKENS else "",
        }
        for name in WIDE[table]
    ]


def tiers_of(table: str, category: Grouping | None) -> Sequence[str]:
    """Return the tiers that have sums of a category, widest first; none where rows must be added up."""
    if category is None:
        return TIERS
    if category.name in TIME_UNITS:
        return ("day",) if all(edge % QUARTER == 0 for edge in category.edges) else ()
    return TIERS[:-1] if category.name in WIDE[table] else TIERS


def rolled_pieces(
    table: str, statement: Statement, category: Grouping | None, found: Cover, zones: Sequence[str]
) -> dict[str, str]:
    """Return what belongs into the statement that adds up sums, and rows where there are none."""
    expressions = _TABLES[table][1]
    joins = ""
    if category is None or expressions.get(category.name) == NOT_KEPT:
        name, rolled, raw = ALL, "NULL::text", "NULL::text"
    elif category.name in TIME_UNITS:
        name, rolled, raw = ALL, _bucket(category, statement, "at"), _bucket(category, statement)
    elif category.name == TOKENS:
        name, rolled, raw, joins = TOKENS, "value", _token("row"), _joined("row")
    else:
        name, raw = category.name, expressions[category.name]
        rolled = f"value::{_VALUES.get(name, 'text')}"
        if name == LOCAL_HOUR:
            raw = raw.replace("{zones}", f"{statement.bind(list(zones))}::text[]")
    if category is not None and category.name in TIME_UNITS:
        tier = "hour" if all(edge % HOUR == 0 for edge in category.edges) else "quarter"
        hours = _HOURS.replace("{source}", table).replace("{tier}", tier)
        since, until = _moments(statement, joined([(span.start, span.until) for span in found.spans]))
        summed = f"unnest({since}, {until}) AS s (since, until) CROSS JOIN LATERAL ({hours}) AS r"
    else:
        tiers = statement.bind([span.tier for span in found.spans])
        starts = f"{statement.bind([to_datetime(span.start) for span in found.spans])}::timestamptz[]"
        summed = f"unnest({tiers}::text[], {starts}) AS s (tier, start) JOIN {{read}}.{table}_rollup AS r"
        summed += " ON r.tier = s.tier AND r.at = s.start"
    since, until = _moments(statement, found.gaps)
    return {
        "category": f"'{name}'",
        "rolled": rolled,
        "summed": summed,
        "raw": raw,
        "joins": joins,
        "gaps": f"unnest({since}, {until}) AS gap (since, until)",
        "names": ", ".join(sums_of(table)),
        "sums": ", ".join(f"{told} AS {name}" for name, told in sums_of(table).items()),
        "sums_again": sums_again(table),
        "limit": str(GROUPS_MAX + 1),
    }


_HOURS = """
SELECT * FROM {read}.{source}_rollup AS q
WHERE q.company_id = $1 AND q.category = 'all' AND q.tier = '{tier}' AND q.at >= s.since AND q.at < s.until
OFFSET 0
"""
"""Stretch by stretch from the index, of which there are few; the planner would go through all of them for each."""


def _moments(statement: Statement, spans: Sequence[tuple[Instant, Instant]]) -> tuple[str, str]:
    """Bind the beginnings and the ends of spans and return their placeholders."""
    ends = [[to_datetime(span[place]) for span in spans] for place in (0, 1)]
    first, last = (f"{statement.bind(moments)}::timestamptz[]" for moments in ends)
    return first, last


_VALUES: Mapping[str, str] = {
    **dict.fromkeys(
        (
            *("offer_id", "schedule_id", "traffic_source_id", "buyer_id", "buyer_group_id", "disposition_id"),
            *("outbound_calls_count", "inbound_calls_count", "attempt_number", LOCAL_HOUR, "buyer_converted_days"),
            *("recent_call_disposition_id", "dial_tier"),
        ),
        "bigint",
    ),
    **dict.fromkeys(("buyer_converted", "offer_converted"), "boolean"),
}
"""Type of a value that is no text."""


def groups(rows: Sequence[Row]) -> list[Group]:
    """Return the groups of rows of sums."""
    return [Group(row["category"], row["pivot"], row) for row in rows]
