"""How are leads and calls added up? One grouped statement a report, of fixed pieces; rates are worked out elsewhere."""

from collections.abc import Mapping
from typing import Any

from adapters.postgres.conditions import Statement
from engine.views.report import CALLS, LEADS, TIME_UNITS, Grouping, Measure
from schemas.instant import to_datetime

GROUPS_MAX = 100_000
"""Groups of one report: so many rows of sums are read and sorted in half a second."""

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
    " THEN extract(hour FROM created_at AT TIME ZONE time_zone)::bigint END",
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
    "first_attempts_seconds": "coalesce(sum(extract(epoch FROM first_action_at - created_at)::float8), 0)",
}
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


def pieces(table: str, statement: Statement, category: Grouping | None, pivot: Grouping | None) -> dict[str, str]:
    """Return what belongs into the statement that adds up leads or calls: the sums of the rows that a filter leaves."""
    measure, expressions, sums = _TABLES[table]
    joins, by = "", {}
    for place, wanted in (("category", category), ("pivot", pivot)):
        if wanted is not None and wanted.name == "token_values_map":
            # A lead is in the group of each of its tokens; one without any in the group without a value.
            joins += f" LEFT JOIN LATERAL jsonb_each_text(data) AS {place}_token (key, told) ON true"
            by[place] = f"{place}_token.key || ':' || left({place}_token.told, 100)"
        else:
            by[place] = "NULL::text" if wanted is None else _expression(wanted, statement, expressions)
    return {
        **by,
        "sums": ", ".join(f"{sums[name]} AS {name}" for name in measure.sums),
        "joins": joins,
        "where": statement.where,
        "limit": str(GROUPS_MAX + 1),
    }


def _expression(wanted: Grouping, statement: Statement, expressions: Mapping[str, str]) -> str:
    if wanted.name not in TIME_UNITS:
        return expressions[wanted.name]
    edges: Any = [to_datetime(edge) for edge in wanted.edges]
    return f"width_bucket(created_at, {statement.bind(edges)}::timestamptz[])" if edges else "NULL::bigint"
