"""How is a bulk job shown, and what came of each of its leads? Each column with its type and the rule that fills it."""

from collections.abc import Mapping, Sequence
from typing import Any

from engine.views.cells import cell
from engine.views.column import Column

CHANGED_BY: Mapping[str, str] = {
    "stop": "schedule_stop",
    "move": "move_to_another_schedule_id",
    "opt_out": "opt_out",
    "restart": "schedule_start",
}
"""What a job does to each lead -> the field of an update of one lead that does it."""

ACTIONS: tuple[str, ...] = tuple(CHANGED_BY)

STATES = ("pending", "running", "succeeded", "failed", "canceled")

RESULT_STATES = ("waiting", "sent", "done", "refused", "unknown")
"""Of a lead: not sent yet, sent and not decided, decided, refused with a code, or sent and never heard of again."""

COLUMNS: tuple[Column, ...] = (
    Column("id", "integer", "internal id; null of a dry run"),
    Column("created_at", "date-time", "when it was made; null of a dry run"),
    Column("description", "string", "what the sender says of it"),
    Column("action", "string", "what it does to each lead"),
    Column("move_to_another_schedule_id", "integer", "the schedule that leads move to"),
    Column("filter", "object", "which leads it was made for, as it was sent"),
    Column("state", "string", "failed: it was broken off, and failure says why"),
    Column(
        "leads_count",
        "integer",
        "leads that matched when it was made; null: the import that it names has not ended",
    ),
    Column("waiting_count", "integer", "leads whose change is not decided yet, or never will be once it has ended"),
    Column("done_count", "integer", "leads whose change was decided"),
    Column("refused_count", "integer", "leads whose change was refused; the results say why"),
    Column("unknown_count", "integer", "leads of which it is not known whether they were changed: look at them"),
    Column("key_id", "integer", "key that made it; null: a session of a user did"),
    Column("user_email", "string", "person for whom it acts; null: the company itself"),
    Column("started_at", "date-time", "when the first lead was sent"),
    Column("canceled_at", "date-time", "when it was canceled"),
    Column("ended_at", "date-time", "when nothing more came of it"),
    Column("failure", "string", "why it was broken off"),
)

RESULT_COLUMNS: tuple[Column, ...] = (
    Column("id", "integer", "the lead, by internal id"),
    Column("state", "string", "unknown: it was sent, and nobody knows any more whether it was decided"),
    Column("code", "string", "code of the refusal"),
    Column("detail", "string", "why it was refused"),
    Column("sent_at", "date-time", "when its change was sent"),
)

LEAD_BULK_JOB_COLUMNS: tuple[str, ...] = tuple(column.name for column in COLUMNS)
LEAD_BULK_RESULT_COLUMNS: tuple[str, ...] = tuple(column.name for column in RESULT_COLUMNS)
"""Every column, in the order of the API."""


def lead_bulk_job_view(row: Mapping[str, Any], columns: Sequence[str] | None = None) -> dict[str, Any]:
    """Return a job as the API shows it: all columns, or the given ones in their order."""
    counted = row["done_count"] + row["refused_count"] + row["unknown_count"]
    waiting = None if row["leads_count"] is None else row["leads_count"] - counted
    shown = {**row, "state": job_state(row), "waiting_count": waiting}
    return {name: cell(shown[name]) for name in columns or LEAD_BULK_JOB_COLUMNS}


def lead_bulk_result_view(row: Mapping[str, Any], columns: Sequence[str] | None = None) -> dict[str, Any]:
    """Return what came of a lead as the API shows it."""
    return {name: cell(row[name]) for name in columns or LEAD_BULK_RESULT_COLUMNS}


def job_state(row: Mapping[str, Any]) -> str:
    """Return one of `STATES`."""
    if row["canceled_at"] is not None:
        return "canceled"
    if row["failure"] is not None:
        return "failed"
    if row["ended_at"] is not None:
        return "succeeded"
    return "pending" if row["started_at"] is None else "running"
