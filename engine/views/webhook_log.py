"""Which columns has an attempt to post an outgoing webhook? Each with its type and the rule that fills it."""

from collections.abc import Mapping, Sequence
from typing import Any

from engine.views.cells import cell
from engine.views.column import Column

COLUMNS: tuple[Column, ...] = (
    Column("id", "integer", "internal id, rising with each attempt"),
    Column("created_at", "date-time", "when it was sent"),
    Column("outgoing_webhook_id", "integer", "the webhook"),
    Column("webhook_manual_fire_id", "integer", "the firing by hand that ordered it; null: a schedule or a call did"),
    Column("lead_id", "integer", "the lead that it is about"),
    Column("call_id", "integer", "the call that it is about; null of a step of a schedule"),
    Column("step_id", "string", "step of the schedule; (fired by hand) or (fired) of what no step ordered"),
    Column("command_id", "string", "of the delivery: the webhook-id that the receiver gets, the same at each attempt"),
    Column("attempt", "integer", "number of the attempt, from 1; again from 1 where another gateway takes over"),
    Column("method", "string", "HTTP method"),
    Column("host", "string", "host and port that it was sent to; the rest of the URL may hold secrets"),
    Column("status", "integer", "HTTP status of the answer; null: there was none"),
    Column("milliseconds", "integer", "from the start of the attempt to the answer, or until it was given up"),
    Column("accepted", "boolean", "the receiver took it: status 200 to 299"),
    Column("detail", "string", "start of the answer, at most 200 bytes, or what went wrong; secrets of the webhook as ***"),
)

WEBHOOK_LOG_COLUMNS: tuple[str, ...] = tuple(column.name for column in COLUMNS)
"""Every column, in the order of the API."""


def webhook_log_view(row: Mapping[str, Any], columns: Sequence[str] | None = None) -> dict[str, Any]:
    """Return an attempt as the API shows it: all columns, or the given ones in their order."""
    return {name: cell(row[name]) for name in columns or WEBHOOK_LOG_COLUMNS}
