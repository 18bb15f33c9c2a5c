"""How far has an unblock contact job come? Its computed columns, from the sweeps of all partitions of contacts."""

from typing import Any

from msgspec import Struct

from schemas.instant import Instant, to_rfc3339
from schemas.records import UnblockContactJob

JOB_STATES = ("pending", "running", "succeeded", "failed", "canceled")

JOB_COLUMNS = ("state", "unblock_count", "failed_count", "succeeded_at")
"""Columns that follow from the sweeps; `last_contact_id` is the sender's until a contact has been unblocked."""


class UnblockProgress(Struct, frozen=True, kw_only=True):
    """How far an unblock contact job has come, over all partitions of contacts.

    `partitions_begun` have adopted the job. `ended_at` is when the last of all partitions was done, or None while one is
    not. `failed_count` are contacts whose block could not be lifted.
    """

    partitions_begun: int = 0
    unblock_count: int = 0
    failed_count: int = 0
    last_contact_id: int | None = None
    ended_at: Instant | None = None


NOT_BEGUN = UnblockProgress()
"""Of a job that no partition has adopted yet."""


def job_state(progress: UnblockProgress, *, is_deleted: bool) -> str:
    """Return one of `JOB_STATES`. A job that was deleted before its end is canceled."""
    if progress.ended_at is not None:
        return "failed" if progress.failed_count else "succeeded"
    if is_deleted:
        return "canceled"
    return "running" if progress.partitions_begun else "pending"


def job_columns(body: UnblockContactJob, progress: UnblockProgress, *, is_deleted: bool) -> dict[str, Any]:
    """Return the computed columns of a job."""
    state = job_state(progress, is_deleted=is_deleted)
    ended_at, last = progress.ended_at, progress.last_contact_id
    return {
        "state": state,
        "unblock_count": progress.unblock_count,
        "failed_count": progress.failed_count,
        "succeeded_at": to_rfc3339(ended_at) if ended_at is not None and state == "succeeded" else None,
        "last_contact_id": body.last_contact_id if last is None else str(last),
    }
