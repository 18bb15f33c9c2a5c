"""Which blocks may an unblock contact job name, and when is it finished? Those of a begun span, or all where confirmed.

It is finished once every partition of contacts has reported its end: each does so once, and a deleted job is not finished.
"""

from collections.abc import Mapping
from typing import Any

from engine.account.plans import Errors
from engine.account.references import live_record
from engine.partition.draft import Draft
from schemas.account import UnblockTally
from schemas.decisions import Answer
from schemas.instant import Instant
from schemas.records import Record
from schemas.requests import UnblockSweepEnded
from schemas.state import unblocked_key

JOB = "unblock_contact_job"

BOUNDS = ("blocked_at_from", "blocked_at_to")


def check_bounds(values: Mapping[str, Any], errors: Errors, *, now: Instant) -> None:
    """Check the span of a job that is made now."""
    since, until = (values.get(name) for name in BOUNDS)
    if errors.keys() & {*BOUNDS, "confirm_all"}:
        return
    if since is None and until is None:
        if not values.get("confirm_all", False):
            for name in BOUNDS:
                errors[name] = ["must be given, or its counterpart, or confirm_all=true to lift every block of the company"]
    elif since is not None and until is not None and since >= until:
        errors["blocked_at_to"] = ["must be after blocked_at_from"]
    elif since is not None and since >= now:
        errors["blocked_at_from"] = ["must be in the past: blocks set after the job is made stay"]


def count_ended(draft: Draft, request: UnblockSweepEnded) -> None:
    """Count a partition that is done; the last one finishes the job."""
    draft.answer = Answer(status=200, record_type=JOB, record_id=request.job_id)
    if live_record(draft, request.company_id, JOB, request.job_id) is None:
        return
    key = unblocked_key(request.job_id)
    tally = draft.get(key, UnblockTally) or UnblockTally(company_id=request.company_id)
    tally.ended += 1
    tally.unblock_count += request.unblock_count
    tally.failed_count += request.failed_count
    if tally.ended < request.contact_partitions:
        draft.put(key, tally)
        return
    draft.remove(key)
    draft.fact(
        "unblock_job.finished",
        record_type=JOB,
        record_id=request.job_id,
        unblock_count=tally.unblock_count,
        failed_count=tally.failed_count,
    )


def forget_tally(draft: Draft, record: Record) -> None:
    """Forget what partitions have reported of a job that was deleted."""
    if record.type == JOB and record.deleted_at is not None and draft.get(unblocked_key(record.id), UnblockTally):
        draft.remove(unblocked_key(record.id))
