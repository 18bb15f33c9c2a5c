"""Which columns does an entry in the log of agent statuses have? Each with its type and the rule that fills it."""

from collections.abc import Mapping, Sequence
from typing import Any

from engine.views.cells import cell
from engine.views.column import Column

COLUMNS: tuple[Column, ...] = (
    Column("id", "integer", "internal id, rising with each change of a company"),
    Column("company_id", "integer", "the company that it belongs to"),
    Column("user_id", "integer", "the user who set it; null where a key of no user did, or it was set by itself"),
    Column("collaborator_id", "integer", "the agent"),
    Column("agent_widget_id", "integer", "the page of the agent where the status was set, as its program numbers it"),
    Column("agent_status_id", "integer", "the status that the agent has from then on; null where no record has its key"),
    Column("created_at", "date-time", "when the status was set"),
    Column("updated_at", "date-time", "as created_at: an entry does not change"),
    Column("key", "string", "key of the status at that time, such as available"),
)

AGENT_STATUS_TIMESTAMP_COLUMNS: tuple[str, ...] = tuple(column.name for column in COLUMNS)
"""Every column, in the order of the API."""


def agent_status_timestamp_view(row: Mapping[str, Any], columns: Sequence[str] | None = None) -> dict[str, Any]:
    """Return an entry as the API shows it: all columns, or the given ones in their order."""
    return {name: cell(row[name]) for name in columns or AGENT_STATUS_TIMESTAMP_COLUMNS}
