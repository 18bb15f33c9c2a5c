"""Which columns does a delivery to a subscription have? Each with its type and the rule that fills it."""

from collections.abc import Mapping, Sequence
from typing import Any

from engine.views.cells import cell
from engine.views.column import Column

COLUMNS: tuple[Column, ...] = (
    Column("id", "integer", "internal id, rising as events are stored"),
    Column("webhook_id", "string", "the webhook-id that the receiver gets, the same at each attempt"),
    Column("subscription_id", "integer", "the subscription"),
    Column("event", "string", "name of the event"),
    Column("lead_id", "integer", "the lead that it is about"),
    Column("call_id", "integer", "the call that it is about"),
    Column("occurred_at", "date-time", "when it was decided"),
    Column("created_at", "date-time", "when it was stored, by the clock of the database"),
    Column("state", "string", "waiting, delivered, or failed: it was given up"),
    Column("attempts", "integer", "how often it was sent"),
    Column("last_status", "integer", "HTTP status of the last answer; null: there was none"),
    Column("last_detail", "string", "start of the last answer, or what went wrong"),
    Column("next_attempt_at", "date-time", "when it is sent next, while it waits"),
    Column("ended_at", "date-time", "when it was delivered or given up"),
)

DELIVERY_COLUMNS: tuple[str, ...] = tuple(column.name for column in COLUMNS)
"""Every column, in the order of the API."""

STATES = ("waiting", "delivered", "failed")


def delivery_view(row: Mapping[str, Any], columns: Sequence[str] | None = None) -> dict[str, Any]:
    """Return a delivery as the API shows it: all columns, or the given ones in their order."""
    return {name: cell(row[name]) for name in columns or DELIVERY_COLUMNS}
