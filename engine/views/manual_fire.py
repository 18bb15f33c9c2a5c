"""Which columns does a webhook have that was fired by hand? Each with its type and the rule that fills it."""

from collections.abc import Mapping, Sequence
from typing import Any

from engine.views.cells import cell
from engine.views.column import Column

COLUMNS: tuple[Column, ...] = (
    Column("id", "integer", "internal id, rising with each firing of a person"),
    Column("legacy_id", "integer", "always null"),
    Column("type", "string", "WebhookManualFire"),
    Column("uuid", "uuid", "of the firing"),
    Column("created_at", "date-time", "as sent, else when it was fired"),
    Column("updated_at", "date-time", "as sent, else when it was fired"),
    Column("deleted_at", "date-time", "always null: a firing stays"),
    Column("user_updated_at", "date-time", "when it was fired: it is never changed"),
    Column("routes_show_path", "string", "path of the firing"),
    Column("routes_edit_path", "string", "always null: it is never changed"),
    Column("external_record_id", "string", "always null"),
    Column("name", "string", "name of the webhook now"),
    Column("context_menu_name", "string", "the same"),
    Column("company_id", "integer", "the company that it belongs to"),
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

PATH = "/api/v1/webhook_manual_fires"
TYPE_NAME = "WebhookManualFire"

MANUAL_FIRE_COLUMNS: tuple[str, ...] = tuple(column.name for column in COLUMNS)
"""Every column, in the order of the API."""


def manual_fire_view(row: Mapping[str, Any], columns: Sequence[str] | None = None) -> dict[str, Any]:
    """Return a firing as the API shows it: all columns, or the given ones in their order."""
    shown = {
        **dict.fromkeys(MANUAL_FIRE_COLUMNS),
        **row,
        "type": TYPE_NAME,
        "user_updated_at": row["fired_at"],
        "routes_show_path": f"{PATH}/{row['id']}",
        "context_menu_name": row["name"],
    }
    return {name: cell(shown[name]) for name in columns or MANUAL_FIRE_COLUMNS}
