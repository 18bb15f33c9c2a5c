"""Which columns has a scheduled callback? Each with its type and the rule that fills it, from the row of its lead."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engine.views.cells import cell
from engine.views.column import Column
from schemas.instant import Instant, from_datetime, to_rfc3339

Row = Mapping[str, Any]


def _of_row(name: str) -> Callable[[Row], Any]:
    return lambda row: cell(row[name])


def _of_rest(name: str, default: Any = None) -> Callable[[Row], Any]:
    return lambda row: row["rest"].get(name, default)


def _of_owner(name: str) -> Callable[[Row], Any]:
    return lambda row: (row["rest"].get("callback_owner") or {}).get(name)


def promised_at(row: Row) -> Instant:
    """Return the agreed instant; of a promise that is older than that field, when it is due."""
    at = row["rest"].get("callback_promised_at")
    return from_datetime(row["callback_at"]) if at is None else Instant(at)


_FILLED: Mapping[Column, Callable[[Row], Any]] = {
    Column("id", "integer", "of the promise: the call that keeps it names it as scheduled_callback_id"): (
        _of_rest("scheduled_callback_id")
    ),
    Column("lead_id", "integer", "the lead that is called"): _of_row("id"),
    Column("caller_id", "string", "number that is called"): _of_row("caller_id"),
    Column("full_name", "string", "of the lead"): _of_row("full_name"),
    Column("offer_id", "integer", "offer of the lead"): _of_row("offer_id"),
    Column("schedule_id", "integer", "schedule of the lead"): _of_row("schedule_id"),
    Column("time_zone", "string", "first time zone of the lead"): lambda row: next(iter(row["zones"] or ()), None),
    Column("promised_at", "date-time", "the agreed instant"): lambda row: to_rfc3339(promised_at(row)),
    Column("callback_at", "date-time", "when it is due: later than agreed once nobody answered"): _of_row("callback_at"),
    Column("tries_count", "integer", "how often nobody answered"): _of_rest("callback_tries", 0),
    Column("callback_buyer_id", "integer", "buyer who makes it; null: the group, or anyone"): _of_owner("buyer_id"),
    Column("callback_buyer_group_id", "integer", "group that makes it; null: anyone"): _of_owner("buyer_group_id"),
    Column("callback_grace_minutes", "integer", "how long each of them has alone; null without one"): (
        _of_owner("grace_minutes")
    ),
}
_FILLS = {column.name: fill for column, fill in _FILLED.items()}

COLUMNS: tuple[Column, ...] = tuple(_FILLED)
CALLBACK_COLUMNS: tuple[str, ...] = tuple(_FILLS)
"""Every column, in the order of the API."""


def callback_view(row: Row, columns: Sequence[str] | None = None) -> dict[str, Any]:
    """Return the callback of a lead as the API shows it: all columns, or the given ones in their order."""
    return {name: _FILLS[name](row) for name in columns or CALLBACK_COLUMNS}
