"""Which operations are there? Every row of the interface, in the order in which its document tells of them."""

from adapters.http import (
    call_changes,
    call_lists,
    call_reports,
    call_starts,
    callers,
    calls,
    company,
    lead_changes,
    leads,
    previews,
    records,
    reports,
    schedule_versions,
    submissions,
    system,
    texts,
    why,
)
from adapters.http.exchange import Operation

OPERATIONS: tuple[Operation, ...] = (
    *submissions.OPERATIONS,
    *leads.OPERATIONS,
    *lead_changes.OPERATIONS,
    *callers.OPERATIONS,
    *call_lists.OPERATIONS,
    *reports.OPERATIONS,
    *call_starts.OPERATIONS,
    *call_reports.OPERATIONS,
    *call_changes.OPERATIONS,
    *calls.OPERATIONS,
    *texts.OPERATIONS,
    *why.OPERATIONS,
    *previews.OPERATIONS,
    *schedule_versions.OPERATIONS,
    *records.OPERATIONS,
    *company.OPERATIONS,
    *system.OPERATIONS,
)


def documented() -> tuple[Operation, ...]:
    """Return the operations that the document tells of: probes and figures of the process are nobody's interface."""
    return tuple(operation for operation in OPERATIONS if operation.path.startswith("/api/v1"))
