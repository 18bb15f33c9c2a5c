"""Which columns does an entry of the audit log have? Each with its type and the rule that fills it."""

from collections.abc import Mapping, Sequence
from typing import Any

from engine.views.cells import cell
from engine.views.column import Column

COLUMNS: tuple[Column, ...] = (
    Column("id", "integer", "internal id, rising with each change of a company's records"),
    Column("created_at", "date-time", "when the change was decided"),
    Column("action", "string", "created, updated or deleted"),
    Column("record_type", "string", "type of the record, such as buyer"),
    Column("record_id", "integer", "the record"),
    Column("version", "integer", "version of the record that the change made"),
    Column("fields", "array", "names of the fields that an update changed; null of other changes"),
    Column(
        "actor",
        "string",
        "key: a key over HTTP; session: a user; invitation: a user who set a password by a link; "
        "cli: an operator's command; null: the account, as where a pause ends",
    ),
    Column("key_id", "integer", "the key"),
    Column("user_email", "string", "the user, or the person for whom the key acts"),
    Column("address", "string", "network address that the change came from"),
)

AUDIT_LOG_COLUMNS: tuple[str, ...] = tuple(column.name for column in COLUMNS)
"""Every column, in the order of the API."""


def audit_log_view(row: Mapping[str, Any], columns: Sequence[str] | None = None) -> dict[str, Any]:
    """Return an entry as the API shows it: all columns, or the given ones in their order."""
    return {name: cell(row[name]) for name in columns or AUDIT_LOG_COLUMNS}
