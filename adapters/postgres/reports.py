"""How are leads and calls added up? One grouped statement a report, of fixed pieces; rates are worked out elsewhere."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from math import gcd
from typing import Any

from adapters.http.ports import Row
from adapters.postgres.conditions import Statement
from engine.views.report import CALLS, LEADS, TIME_UNITS, Group, Grouping, Key, Measure
from schemas.instant import HOUR, Instant, from_datetime, to_datetime

STRETCHES_MAX = 100_000
"""Groups of one statement: so many rows of sums are read and added up in a second."""

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
    "dial_tier": NOT_KEPT,
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
    "hour_of_day": "CASE WHEN time_zone IN (SELECT name FROM pg_timezone_names)"
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

    A group of a unit of time is a stretch of `stretch_of`, to be put into its bucket: that is quicker than to look each row
    up among thousands of edges. `zones` are those that the database knows: another one would end the statement.
    """
    measure, expressions, sums = _TABLES[table]
    joins, by = "", {}
    for place, wanted in (("category", category), ("pivot", pivot)):
        if wanted is not None and wanted.name == "token_values_map":
            # A lead is in the group of each of its tokens; one without any in the group without a value.
            joins += f" LEFT JOIN LATERAL jsonb_each_text(data) AS {place}_token (key, told) ON true"
            by[place] = f"{place}_token.key || ':' || left({place}_token.told, 100)"
        elif wanted is None:
            by[place] = "NULL::text"
        elif wanted.name == LOCAL_HOUR:
            joins, by[place] = "", statement.bind(list(zones))
        else:
            by[place] = _time(wanted, statement) if wanted.name in TIME_UNITS else expressions[wanted.name]
    return {
        **by,
        "sums": ", ".join(f"{sums[name]} AS {name}" for name in measure.sums),
        "sums_again": ", ".join(f"sum({name})::{_KINDS.get(name, 'bigint')} AS {name}" for name in measure.sums),
        "joins": joins,
        "where": statement.where,
        "limit": str(STRETCHES_MAX + 1),
    }


NOT_ROLLED = frozenset(
    {
        "buyer_converted_schedule_action_id", "buyer_converted_days", "recent_call_disposition_id", "zip_postal_code",
        "sub_id",
    }
)  # fmt: skip
"""What follows from other rows, and what has almost as many values as there are rows."""

ALL = "all"
"""The category of the sums of all rows of an hour: of reports by time, and of those by what nothing fills."""


def sums_of(table: str) -> Mapping[str, str]:
    """Return each sum of a table and how it is worked out."""
    measure, _, sums = _TABLES[table]
    return {name: sums[name] for name in measure.sums}


def rolled_categories(table: str) -> str:
    """Return the categories that are rolled up, each with its value as text, as the rows of VALUES."""
    pairs = [f"('{ALL}', NULL::text)"]
    for name, expression in _TABLES[table][1].items():
        if _is_rolled(table, name):
            pairs.append(f"('{name}', ({expression})::text)")
    return ", ".join(pairs)


def rolled_pieces(
    table: str, statement: Statement, category: Grouping | None, since: Instant, until: Instant
) -> dict[str, str] | None:
    """Return what belongs into the statement that adds up hours; None where it takes the rows themselves."""
    measure, expressions, sums = _TABLES[table]
    found = _rolled(table, category, expressions, statement)
    if found is None:
        return None
    name, rolled, raw = found
    moments = {"since": since, "until": until, "first": since - since % HOUR}
    return {
        **{place: f"{statement.bind(to_datetime(moment))}::timestamptz" for place, moment in moments.items()},
        "category": f"'{name}'",
        "rolled": rolled,
        "raw": raw,
        "names": ", ".join(measure.sums),
        "sums": ", ".join(f"{sums[name]} AS {name}" for name in measure.sums),
        "sums_again": ", ".join(f"sum({name})::{_KINDS.get(name, 'bigint')} AS {name}" for name in measure.sums),
        "limit": str(STRETCHES_MAX + 1),
    }


def _rolled(
    table: str, category: Grouping | None, expressions: Mapping[str, str], statement: Statement
) -> tuple[str, str, str] | None:
    """Return the category that is rolled up, and what a group is called in its sums and in the rows."""
    if category is None or expressions.get(category.name) == NOT_KEPT:
        return ALL, "NULL::text", "NULL::text"
    if category.name in TIME_UNITS:
        if not category.edges or stretch_of(category) != HOUR:
            return None
        return ALL, "hour", f"date_bin(interval '1 hour', created_at, {statement.bind(to_datetime(0))}::timestamptz)"
    if not _is_rolled(table, category.name):
        return None
    return category.name, f"value::{_VALUES.get(category.name, 'text')}", expressions[category.name]


def _is_rolled(table: str, name: str) -> bool:
    expressions = _TABLES[table][1]
    return name in expressions and name not in NOT_ROLLED and expressions[name] != NOT_KEPT


_VALUES: Mapping[str, str] = {
    **dict.fromkeys(
        (
            *("offer_id", "schedule_id", "traffic_source_id", "buyer_id", "buyer_group_id", "disposition_id"),
            *("outbound_calls_count", "inbound_calls_count", "attempt_number", LOCAL_HOUR),
        ),
        "bigint",
    ),
    **dict.fromkeys(("buyer_converted", "offer_converted"), "boolean"),
}
"""Type of a value that is no text."""


def _time(wanted: Grouping, statement: Statement) -> str:
    if not wanted.edges:
        return "NULL::timestamptz"
    width, origin = statement.bind(timedelta(milliseconds=stretch_of(wanted))), statement.bind(to_datetime(0))
    return f"date_bin({width}::interval, created_at, {origin}::timestamptz)"


def stretch_of(wanted: Grouping) -> Instant:
    """Return the longest stretch of time, counted from 1970, that no bucket begins within."""
    return gcd(HOUR, *wanted.edges)


def in_buckets(rows: Sequence[Row], category: Grouping | None, pivot: Grouping | None) -> list[Group]:
    """Return the groups of rows of sums; stretches of time are added up by bucket where a report is made."""
    return [Group(_bucket(row["category"], category), _bucket(row["pivot"], pivot), row) for row in rows]


def _bucket(value: Any, wanted: Grouping | None) -> Key:
    if not isinstance(value, datetime) or wanted is None:
        return value  # type: ignore[no-any-return]
    return bisect_right(wanted.edges, from_datetime(value))
