"""Which columns does a webhook have that was fired by hand? Each with its type and the rule that fills it."""

from collections.abc import Mapping, Sequence
from typing import Any

from engine.views.cells import cell
from engine.views.column import Column

COLUMNS: tuple[Column, ...] = (
    Column("id", "integer", "internal id, rising with each firing of a person"),
    Column("uuid", "uuid", "of the firing"),
    Column("created_at", "date-time", "as sent, else when it was fired"),
    Column("updated_at", "date-time", "as sent, else when it was fired"),
    Column("fired_at", "date-time", "when it was fired"),
    Column("outgoing_webhook_id", "integer", "the webhook"),
    Column("lead_id", "integer", "the lead that it is about; of a call, its lead"),
    Column("call_id", "integer", "the call that it is about"),
    Column("buyer_conversion_id", "integer", "the conversion for a buyer that it is about"),
    Column("offer_conversion_id", "integer", "the conversion for a traffic source that it is about"),
    Column("command_id", "string", "of the delivery: the webhook-id that the receiver gets"),
    Column("webhook_log_ids", "array", "the attempts of the delivery, of the last 30 days", ()),
    Column("outcome", "string", "what came of the delivery, such as accepted; null until that is known"),
)

MANUAL_FIRE_COLUMNS: tuple[str, ...] = tuple(column.name for column in COLUMNS)
"""Every column, in the order of the API."""


def manual_fire_view(row: Mapping[str, Any], columns: Sequence[str] | None = None) -> dict[str, Any]:
    """Return a firing as the API shows it: all columns, or the given ones in their order."""
    return {name: cell(row[name]) for name in columns or MANUAL_FIRE_COLUMNS}
