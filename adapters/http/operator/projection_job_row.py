"""How is a verification or rebuild of the projection shown? As a row with its state, progress and result."""

from typing import Any

from adapters.reads.ports import Row
from engine.views.cells import cell

INSTANTS = ("asked_at", "started_at", "canceled_at", "swapped_at", "ended_at")


def show_job(row: Row) -> dict[str, Any]:
    """Return what an answer shows of a job.

    `projector` names the host and the process that works on it, or worked last and did not give it back.
    """
    holder = row["leased_by"]
    return {
        "id": row["id"],
        "kind": row["kind"],
        "accept": row["accept"],
        "state": _state_of(row),
        "asked_by": row["asked_by"],
        **{name: cell(row[name]) for name in INSTANTS},
        "attempts": row["attempts"],
        "projector": None if holder is None else holder.partition("/")[0],
        "is_worked_on": row["ended_at"] is None and bool(row["is_taken"]),
        "stage": row["stage"],
        "stage_done": row["stage_done"],
        "stage_total": row["stage_total"],
        "problem": row["problem"],
        "failure": row["failure"],
        "result": _result_of(row),
    }


def _state_of(row: Row) -> str:
    """Return `pending` before a projector takes it, `running`, `canceling`, or how it ended."""
    if row["ended_at"] is None:
        if row["canceled_at"] is not None:
            return "canceling"
        return "pending" if row["started_at"] is None else "running"
    if row["failure"] is not None:
        return "failed"
    return "canceled" if row["result"] is None else "done"


def _result_of(row: Row) -> dict[str, Any] | None:
    """Return the result of a job that has ended; before that it is not whole."""
    if row["ended_at"] is None or row["result"] is None:
        return None
    begins = [{name: one[name] for name in ("topic", "partition", "offset", "sequence")} for one in row["result"]["begins"]]
    return {**row["result"], "begins": begins}
