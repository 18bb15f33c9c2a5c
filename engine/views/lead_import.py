"""How is the import of an uploaded file shown, what is wrong with its lines, and what were they warned of?"""

from collections.abc import Mapping, Sequence
from typing import Any

from engine.views.cells import cell
from engine.views.column import Column
from engine.views.lead_bulk_job import job_state

COLUMNS: tuple[Column, ...] = (
    Column("id", "integer", "internal id of the import"),
    Column("created_at", "date-time", "when the file was uploaded"),
    Column("state", "string", "failed: nothing more is sent, and failure says why"),
    Column("dry_run", "boolean", "its lines are checked, and none is sent"),
    Column("lead_import_id", "integer", "the number that its new leads have; null of a dry run"),
    Column("offer_id", "integer", "the offer that the leads are for"),
    Column("schedule_id", "integer", "the schedule that the leads are for"),
    Column("format", "string", "csv, xlsx or ndjson"),
    Column("columns", "object", "column of the file -> field or token of the lead; null: it is left out"),
    Column("consent", "object", "text and url of the form by which its leads consented, as the import states it"),
    Column("file_bytes", "integer", "size of the file"),
    Column("line", "integer", "the last line that is done"),
    Column("last_line", "integer", "the last line of the file; null before it was read to its end"),
    Column("good_count", "integer", "lines that were sent, or are right in a dry run"),
    Column("refused_count", "integer", "lines that are wrong and are not sent; the errors say why"),
    Column("waiting_count", "integer", "sent lines that are not decided yet"),
    Column("decided_count", "integer", "sent lines that were decided: each made a lead, or changed one"),
    Column("rejected_count", "integer", "sent lines whose decision refused them; the errors say why"),
    Column("unknown_count", "integer", "sent lines of which it is not known whether they were decided"),
    Column("warned_count", "integer", "those of the good lines that have a warning; the errors say which"),
    Column("key_id", "integer", "key that uploaded it; null: a session of a user did"),
    Column("user_email", "string", "person for whom it was uploaded; null: the company itself"),
    Column("started_at", "date-time", "when the first line was read"),
    Column("sent_at", "date-time", "when nothing more was to be sent; the file is deleted then"),
    Column("canceled_at", "date-time", "when it was canceled"),
    Column("ended_at", "date-time", "when every line that was sent was decided, or is unknown"),
    Column("failure", "string", "why it was broken off"),
)
ERROR_COLUMNS: tuple[Column, ...] = (
    Column("id", "integer", "internal id, which rises as problems are found"),
    Column("line", "integer", "line of the file, from 1"),
    Column("severity", "string", "error: the line became no lead; warning: it was sent, and problem says what was changed"),
    Column("field", "string", "field that is wrong; empty: the whole line"),
    Column("problem", "string", "what is wrong with it, or what was taken, changed or left out"),
)

LEAD_IMPORT_COLUMNS: tuple[str, ...] = tuple(column.name for column in COLUMNS)
LEAD_IMPORT_ERROR_COLUMNS: tuple[str, ...] = tuple(column.name for column in ERROR_COLUMNS)
"""Every column, in the order of the API."""


def lead_import_view(row: Mapping[str, Any], columns: Sequence[str] | None = None) -> dict[str, Any]:
    """Return an import as the API shows it: all columns, or the given ones in their order."""
    known = row["decided_count"] + row["rejected_count"] + row["unknown_count"]
    waiting = 0 if row["dry_run"] else row["good_count"] - known
    shown = {**row, "state": job_state(row), "waiting_count": waiting}
    return {name: cell(shown[name]) for name in columns or LEAD_IMPORT_COLUMNS}


def lead_import_error_view(row: Mapping[str, Any], columns: Sequence[str] | None = None) -> dict[str, Any]:
    """Return an error of a line as the API shows it."""
    return {name: cell(row[name]) for name in columns or LEAD_IMPORT_ERROR_COLUMNS}
