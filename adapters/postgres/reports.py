"""How are leads and calls added up for reports? By one GROUP BY statement per report; the API computes rates."""

import asyncio
from collections.abc import Mapping, Sequence
from math import prod

from adapters.postgres.conditions import LEAD_IMPORT, LEAD_STATE, OWNER_OF_CALLBACK, RECENT_DISPOSITION, Statement
from adapters.reads.ports import Row
from engine.views.report import (
    ACTIVITY_DAYS,
    CALL_DAYS,
    CALLBACK_DAYS,
    CALLBACKS,
    CALLS,
    CELLS_MAX,
    LEAD_DAYS,
    LEADS,
    TIME_UNITS,
    Group,
    Grouping,
    Measure,
)

GROUPS_MAX = 100_000
"""Groups of one statement: so many are read and added up in a second."""

SAMPLE_ROWS = (20_000, 2 * GROUPS_MAX)
"""Rows of a filter that are sampled before a report, to detect too many groups: a few milliseconds. If most rows were
groups of their own, a larger sample: some tenths of a second."""

MANY_VALUES = frozenset({"token_values_map", "zip_postal_code", "sub_id", "state"})
"""Groupings with free values; others have some dozens per company, and units of time a known number."""

SLICE_GROUPS = 200
"""Groups that are made without a break: some 0.2 ms."""

WORK_MEM = "64MB"
"""Keeps the groups of one report in memory rather than on disk; a company may run five reports a second."""

_CONVERTED_CALL = (
    "(SELECT {expression} FROM {read}.calls AS c WHERE c.company_id = leads.company_id AND c.lead_id = leads.id"
    " AND c.buyer_converted AND c.deleted_at IS NULL ORDER BY c.created_at DESC, c.id DESC LIMIT 1)"
)
RECENT_AGENT = (
    "(SELECT c.agent_id FROM {read}.calls AS c WHERE c.company_id = leads.company_id AND c.lead_id = leads.id"
    " AND c.agent_id IS NOT NULL AND c.deleted_at IS NULL ORDER BY c.created_at DESC, c.id DESC LIMIT 1)"
)
"""The agent of a lead: that of its newest call with one."""


_CENTER_OF_AGENT = (
    "(SELECT (a.body ->> 'call_center_id')::bigint FROM {read}.records AS a"
    " WHERE a.company_id = $1 AND a.type = 'agent' AND a.id = {agent})"
)


def call_center(agent: str) -> str:
    """Return the SQL of the call center of an agent, as it is now."""
    return _CENTER_OF_AGENT.replace("{agent}", agent)


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
    + _CONVERTED_CALL.replace("{expression}", "c.schedule_action_id")
    + " END",
    "buyer_converted_days": "CASE WHEN buyer_converted THEN "
    + _CONVERTED_CALL.replace("{expression}", "floor(extract(epoch FROM c.created_at - leads.created_at) / 86400)::bigint")
    + " END",
    "recent_call_disposition_id": RECENT_DISPOSITION,
    "inbound_calls_count": "coalesce((rest ->> 'inbound_calls_count')::bigint, 0)",
    "state": LEAD_STATE,
    "lead_import_id": LEAD_IMPORT,
    "call_center_id": call_center(RECENT_AGENT),
    "dial_tier": "(rest ->> 'dial_tier')::bigint",
}  # fmt: skip
CALL_GROUPINGS: Mapping[str, str] = {
    **{
        name: name
        for name in (
            "buyer_converted", "offer_converted", "status", "outcome", "offer_id", "schedule_id", "schedule_action_id",
            "traffic_source_id", "buyer_id", "buyer_group_id", "state", "origin", "attempt_number", "ring_pool_id",
            "number_id",
        )
    },
    "disposition_id": "call_disposition_id",
    "lead_import_id": "import_of_lead",
    "call_center_id": "center_of_agent",
    # A zone unknown to the database would raise an error; its calls have no hour.
    "hour_of_day": "CASE WHEN time_zone = ANY ({zones})"
    " THEN date_part('hour', created_at AT TIME ZONE time_zone)::bigint END",
}  # fmt: skip

CALL_JOINS: Mapping[str, str] = {
    "lead_import_id": " LEFT JOIN (SELECT id AS imported_id, {import} AS import_of_lead FROM {read}.leads"
    " WHERE company_id = $1 AND deleted_at IS NULL AND {import} IS NOT NULL) AS imported ON imported_id = lead_id".replace(
        "{import}", LEAD_IMPORT
    ),
    "call_center_id": " LEFT JOIN (SELECT id AS center_agent_id, (body ->> 'call_center_id')::bigint AS center_of_agent"
    " FROM {read}.records WHERE company_id = $1 AND type = 'agent') AS center_agents ON center_agent_id = agent_id",
}
"""Of each call the import that made its lead, and the call center of its agent, as it is now. A join reads the leads or
agents once; a subquery runs for each call, which takes several times as long."""

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
    "cost": "coalesce(sum(cost), 0)",
    "connected_calls_count": "coalesce(sum(outbound_calls_count::integer) FILTER (WHERE connected), 0)",
    "first_attempts_count": "count(first_action_at)",
    "first_attempts_seconds": "coalesce(sum(date_part('epoch', first_action_at - created_at)), 0)",
}
TOKENS = "token_values_map"
LOCAL_HOUR = "hour_of_day"
"""For rows it has a statement of its own, which computes the hour once per zone and quarter, not per call."""

LOCAL = frozenset({LOCAL_HOUR, *ACTIVITY_DAYS})
"""Groupings that the database computes in a zone."""

MONEY = frozenset({"revenue", "payout", "cost"})
"""Sums of amounts: exact decimals."""

_SECONDS = "first_attempts_seconds"

CONNECTED = "outcome IN ('connected_human', 'connected_buyer')"
ANSWERED = (
    "direction = 'outbound' AND outcome IN"
    " ('connected_human', 'connected_buyer', 'abandoned_by_us', 'caller_hung_up', 'opted_out')"
)
"""A person answered a call of ours. `voicemail` and `declined` are no persons; `unknown` may be anything."""

ABANDONED = "direction = 'outbound' AND outcome = 'abandoned_by_us'"
CALL_SUMS: Mapping[str, str] = {
    "calls_count": "count(*)",
    "inbound_count": "count(*) FILTER (WHERE direction = 'inbound')",
    "connected_count": f"count(*) FILTER (WHERE {CONNECTED})",
    "converted_count": "count(*) FILTER (WHERE buyer_converted OR offer_converted)",
    "buyer_converted_count": "count(*) FILTER (WHERE buyer_converted)",
    "offer_converted_count": "count(*) FILTER (WHERE offer_converted)",
    "no_buyer_count": "count(*) FILTER (WHERE no_buyer)",
    "answered_count": f"count(*) FILTER (WHERE {ANSWERED})",
    "abandoned_count": f"count(*) FILTER (WHERE {ABANDONED})",
    "talk_duration": "coalesce(sum(talk_duration::integer), 0)",
    "total_duration": "coalesce(sum(total_duration::integer), 0)",
    "revenue": "coalesce(sum(revenue), 0)",
    "payout": "coalesce(sum(payout), 0)",
    "cost": "coalesce(sum(cost), 0)",
    "connected_talk_duration": f"coalesce(sum(talk_duration::integer) FILTER (WHERE {CONNECTED}), 0)",
}
CALLBACK_GROUPINGS: Mapping[str, str] = {
    **{name: name for name in ("called_agent_id", "callback_status", "promised_by", "offer_id", "schedule_id")},
    "agent_id": OWNER_OF_CALLBACK,
    "call_center_id": call_center(OWNER_OF_CALLBACK),
    "buyer_id": "owner_buyer_id",
    "buyer_group_id": "owner_buyer_group_id",
}
OVERDUE_BEFORE = "{overdue_before}"
"""Stands in the sums of callbacks for the instant before which a pending one should have been made."""

_OVERDUE = f"callback_status = 'pending' AND promised_at < {OVERDUE_BEFORE}"
CALLBACK_SUMS: Mapping[str, str] = {
    "promised_count": "count(*)",
    "overdue_count": f"count(*) FILTER (WHERE {_OVERDUE})",
    **{
        f"{state}_count": f"count(*) FILTER (WHERE callback_status = '{state}')"
        for state in ("pending", "kept", "missed", "cancelled")
    },
    # `late_count` is a figure of leads that are due.
    "kept_late_count": "count(*) FILTER (WHERE callback_status = 'late')",
    "reached_count": "count(*) FILTER (WHERE is_reached)",
    "judged_count": "count(*) FILTER (WHERE callback_status IN ('kept', 'late', 'missed'))",
    "late_seconds": "coalesce(sum(late_seconds) FILTER (WHERE callback_status = 'late'), 0)::bigint",
}
_TABLES: Mapping[str, tuple[Measure, Mapping[str, str], Mapping[str, str]]] = {
    "callbacks": (CALLBACKS, CALLBACK_GROUPINGS, CALLBACK_SUMS),
    "leads": (LEADS, LEAD_GROUPINGS, LEAD_SUMS),
    "calls": (CALLS, CALL_GROUPINGS, CALL_SUMS),
}


def pieces(
    table: str, statement: Statement, category: Grouping | None, pivot: Grouping | None, zones: Sequence[str]
) -> dict[str, str]:
    """Return the pieces of the statement that adds up the leads or calls of a filter.

    A group of a unit of time is the number of its bucket. `zones` are those that the database knows: others would raise an
    error.
    """
    joins, by = "", {}
    for place, wanted in (("category", category), ("pivot", pivot)):
        if wanted is None:
            by[place] = "NULL::text"
        elif wanted.name == TOKENS:
            joins += tokens_joined(place)
            by[place] = token(place)
        elif table == "calls" and wanted.name in CALL_JOINS:
            joins += CALL_JOINS[wanted.name]
            by[place] = CALL_GROUPINGS[wanted.name]
        elif wanted.name == LOCAL_HOUR:
            by[place] = statement.bind(list(zones))
        elif wanted.name in ACTIVITY_DAYS:
            by[place] = activity_day(wanted, statement, zones)
        elif wanted.name in TIME_UNITS:
            by[place] = bucket(bind_edges(wanted, statement))
        else:
            by[place] = _TABLES[table][1][wanted.name]
    return {
        **by,
        "source": table,
        "sums": ", ".join(f"{expression} AS {name}" for name, expression in sums_of(table).items()),
        "sums_again": sums_again(table),
        "joins": joins,
        "where": statement.where,
        "limit": str(GROUPS_MAX + 1),
    }


def activity_day(wanted: Grouping, statement: Statement, zones: Sequence[str]) -> str:
    """Return the SQL of the local date of an activity; nothing has one in a zone that the database does not know."""
    return local_day({**LEAD_DAYS, **CALL_DAYS, **CALLBACK_DAYS}[wanted.name], wanted, statement, zones)


def local_day(moment: str, wanted: Grouping, statement: Statement, zones: Sequence[str]) -> str:
    """Return the SQL of the local date of an instant, in the zone of a grouping."""
    if wanted.zone not in zones:
        return "NULL::text"
    return f"to_char({moment} AT TIME ZONE {statement.bind(wanted.zone)}::text, 'YYYY-MM-DD')"


def tokens_joined(place: str) -> str:
    """Return the join that puts a lead into the group of each of its tokens, or into the group without a value."""
    return f" LEFT JOIN LATERAL jsonb_each_text(data) AS {place}_token (key, token_value) ON true"


def token(place: str) -> str:
    """Return the SQL of a joined token's group."""
    return f"{place}_token.key || ':' || left({place}_token.token_value, 100)"


_DATES = """ARRAY(
    SELECT timestamptz 'epoch' + edge * interval '1 millisecond'
    FROM unnest({edges}::bigint[]) WITH ORDINALITY AS bound (edge, place) ORDER BY place
)"""


def bind_edges(wanted: Grouping, statement: Statement) -> str:
    """Bind the edges of a unit of time, at most 10,000, and return their placeholder; empty where it has none."""
    return statement.bind(list(wanted.edges)) if wanted.edges else ""


def bucket(edges: str, moment: str = "created_at") -> str:
    """Return the SQL of the number of an instant's bucket, by the placeholder of bound edges.

    These are bound as numbers: 10,000 as dates took 15 ms here, in which nothing else ran; PostgreSQL converts them once.
    """
    return f"width_bucket({moment}, {_DATES.format(edges=edges)})" if edges else "NULL::integer"


def sums_of(table: str) -> Mapping[str, str]:
    """Return each sum of a table and its SQL."""
    measure, _, sums = _TABLES[table]
    return {name: sums[name] for name in measure.sums}


def sums_again(table: str) -> str:
    """Return the SQL that adds up sums: counts as floats, exact up to 2**53 and several times faster than integers."""
    return ", ".join(f"{_summed(name)} AS {name}" for name in _TABLES[table][0].sums)


def _summed(name: str) -> str:
    return f"sum({name})" if name in MONEY else f"sum({name}::float8)::{'float8' if name == _SECONDS else 'bigint'}"


def may_be_many(category: Grouping | None, pivot: Grouping | None) -> bool:
    """Return whether a report may exceed the limits of groups or cells."""
    wanted = [one for one in (category, pivot) if one is not None]
    known = prod(len(one.names) or 1 for one in wanted)
    return known > CELLS_MAX or any(one.name in MANY_VALUES for one in wanted)


def is_beyond(sample: Row, category: Grouping | None, pivot: Grouping | None) -> bool:
    """Return whether a sample alone exceeds the limits of groups or cells."""
    crossed = [
        len(one.names) or sample[count] or 1  # rows without a value are a group too
        for one, count in ((category, "categories"), (pivot, "pivots"))
        if one is not None
    ]
    return sample["groups"] > GROUPS_MAX or (len(crossed) > 1 and prod(crossed) > CELLS_MAX)


async def groups(rows: Sequence[Row]) -> list[Group]:
    """Return the groups of rows of sums, in slices, so that other tasks get the event loop."""
    found: list[Group] = []
    for start in range(0, len(rows), SLICE_GROUPS):
        found += [Group(row["category"], row["pivot"], row) for row in rows[start : start + SLICE_GROUPS]]
        await asyncio.sleep(0)
    return found
