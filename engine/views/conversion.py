"""Which columns has a conversion, of a buyer or of an offer? Each with its type and the rule that fills it."""

from collections.abc import Mapping, Sequence
from typing import Any

from engine.views.cells import cell
from engine.views.column import Column

_FIRST: tuple[Column, ...] = (
    Column("id", "integer", "internal id, rising with each conversion of a person"),
    Column("uuid", "uuid", "of the conversion"),
    Column("created_at", "date-time", "when the lead or call converted"),
    Column("updated_at", "date-time", "when the record last changed"),
    Column("lead_id", "integer", "the lead; of a call, its lead"),
    Column("call_id", "integer", "the call that converted; null: the lead did, without one"),
)
_LAST: tuple[Column, ...] = (
    Column("offer_id", "integer", "offer of the lead or call"),
    Column("schedule_id", "integer", "schedule of the lead or call"),
    Column("source", "string", "what converted it: call_update, caller_update (of the calls of a number), or lead_update"),
    Column("key_id", "integer", "the key that converted it"),
    Column("user_email", "string", "the person for whom that key acted"),
    Column("taken_back", "boolean", "an update said later that it did not convert"),
    Column("taken_back_at", "date-time", "when that was"),
)

COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "buyer": (
        *_FIRST,
        Column("buyer_id", "integer", "the buyer"),
        Column("amount", "number", "revenue of the call; null: a lead converted without one"),
        *_LAST,
    ),
    "offer": (
        *_FIRST,
        Column("traffic_source_id", "integer", "the traffic source that is paid"),
        Column("amount", "number", "payout of the call; null: a lead converted without one"),
        *_LAST,
    ),
}
"""Side -> its columns, in the order of the API."""


def conversion_columns(side: str) -> tuple[str, ...]:
    """Return every column of the conversions of a side."""
    return tuple(column.name for column in COLUMNS[side])


def conversion_view(row: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """Return the given columns of a conversion as the API shows it."""
    return {name: cell(row[name]) for name in columns}
