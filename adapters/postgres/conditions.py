"""How does a filter become SQL? Fixed pieces, chosen by name, joined by AND; what a caller sent is only ever a parameter."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import asdict

from adapters.http.ports import LeadFilter, RecordFilter
from adapters.projector.rows import BIGINT_MAX
from schemas.instant import to_datetime

NEVER = "false"
"""For a value that no row can have: an id beyond bigint, text that PostgreSQL cannot hold."""

LEAD_PIECES: dict[str, str] = {
    "ids": "id = ANY (?::bigint[])",
    "created_from": "created_at >= ?",
    "created_to": "created_at < ?",
    "next_action_from": "next_action_at >= ?",
    "next_action_to": "next_action_at < ?",
    "offer_id": "offer_id = ?",
    "schedule_id": "schedule_id = ?",
    "traffic_source_id": "traffic_source_id = ?",
    "buyer_id": "buyer_id = ?",
    "status": "status = ?",
    "statuses": "status = ANY (?::text[])",
    "status_wait": "status_wait = ?",
    "caller_id": "caller_id = ?",
    "email": "email = ?",
    "has_next_action": "(next_action_at IS NOT NULL) = ?",
    "buyer_converted": "buyer_converted = ?",
    "offer_converted": "offer_converted = ?",
    "either_converted": "(buyer_converted OR offer_converted) = ?",
    "opt_out": "opt_out = ?",
    "calls_min": "outbound_calls_count >= ?",
    "calls_max": "outbound_calls_count <= ?",
    "fulltext": "strpos(lower(concat_ws(' ', caller_id, email, name, full_name, external_record_id)), lower(?)) > 0",
}
RECORD_PIECES: dict[str, str] = {
    "ids": "id = ANY (?::bigint[])",
    "created_from": "created_at >= ?",
    "created_to": "created_at < ?",
    "paused": "coalesce((body->>'paused')::boolean, false) = ?",
    "fulltext": "strpos(lower(concat_ws(' ', name, body->>'description', body->>'number', body->>'external_record_id')),"
    " lower(?)) > 0",
}
INSTANTS = frozenset({"created_from", "created_to", "next_action_from", "next_action_to"})


class Statement:
    """SQL in the making: pieces with `?` where a value belongs, and the values under `$1`, `$2` and so on."""

    def __init__(self, *values: Any) -> None:
        self.values: list[Any] = list(values)
        self.where = ""

    def bind(self, value: Any) -> str:
        """Add a value and return its placeholder."""
        self.values.append(value)
        return f"${len(self.values)}"

    def narrow(self, piece: str, value: Any) -> None:
        """Add a condition; a value that no row can have makes it false."""
        self.where += " AND " + (piece.replace("?", self.bind(value)) if storable(value) else NEVER)


def of_leads(wanted: LeadFilter, statement: Statement) -> None:
    """Add the conditions of a filter of leads."""
    fields = asdict(wanted)
    fields["calls_min"], fields["calls_max"] = fields.pop("outbound_calls") or (None, None)
    statuses = fields.pop("statuses")
    if len(statuses) == 1:
        fields["status"] = statuses[0]  # its index gives the rows in order; for several it does not
    elif statuses:
        fields["statuses"] = statuses
    _narrow(statement, LEAD_PIECES, fields)


def of_records(wanted: RecordFilter, statement: Statement) -> None:
    """Add the conditions of a filter of account records."""
    _narrow(statement, RECORD_PIECES, asdict(wanted))


def storable(value: Any) -> bool:
    """Tell whether a column could hold a value at all."""
    if isinstance(value, str):
        return "\0" not in value and _encodes(value)
    if isinstance(value, int):
        return abs(value) <= BIGINT_MAX
    return all(storable(item) for item in value) if isinstance(value, list | tuple) else True


def _narrow(statement: Statement, pieces: Mapping[str, str], fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        if value is None:
            continue
        if name == "has_next_action" and value:
            statement.where += " AND next_action_at IS NOT NULL"  # as the index says it
        else:
            statement.narrow(pieces[name], to_datetime(value) if name in INSTANTS else value)


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
