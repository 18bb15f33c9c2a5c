"""Which columns has a submission that is kept beside its lead? Each with its type and the rule that fills it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engine.views.cells import cell
from engine.views.column import Column

Row = Mapping[str, Any]


def _of_row(name: str) -> Callable[[Row], Any]:
    return lambda row: cell(row[name])


def _caller_id(row: Row) -> str | None:
    address = str(row["contact_key"]).partition("|")[2]
    return address if address.startswith("+") else None


_FILLED: Mapping[Column, Callable[[Row], Any]] = {
    Column("id", "integer", "of the submission"): _of_row("id"),
    Column("lead_id", "integer", "the live lead that it met, which it has not changed"): _of_row("lead_id"),
    Column("created_at", "date-time", "when it came"): _of_row("created_at"),
    Column("caller_id", "string", "number that it named"): _caller_id,
    Column("email", "string", "address that it brings; null: none"): _of_row("email"),
    Column("columns", "object", "columns of the lead that it brings"): lambda row: row["columns"],
    Column("data", "object", "tokens that it brings"): lambda row: row["data"],
    Column("schedule_callback_at", "date-time", "callback that it asks for"): _of_row("schedule_callback_at"),
}
_FILLS = {column.name: fill for column, fill in _FILLED.items()}

COLUMNS: tuple[Column, ...] = tuple(_FILLED)
KEPT_SUBMISSION_COLUMNS: tuple[str, ...] = tuple(_FILLS)
"""Every column, in the order of the API."""


def kept_submission_view(row: Row, columns: Sequence[str] | None = None) -> dict[str, Any]:
    """Return a kept submission as the API shows it: all columns, or the given ones in their order."""
    return {name: _FILLS[name](row) for name in columns or KEPT_SUBMISSION_COLUMNS}
