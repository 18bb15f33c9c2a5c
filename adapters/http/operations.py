"""Which operations are there? Every row of the interface, in the order in which its document tells of them."""

from adapters.http import system
from adapters.http.calls import call_changes, call_lists, call_reports, call_starts, calls, texts
from adapters.http.exchange.exchange import Operation
from adapters.http.leads import callers, lead_changes, leads, submissions, why
from adapters.http.records import company, previews, records, schedule_versions
from adapters.http.reports import reports

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


def documented_operations() -> tuple[Operation, ...]:
    """Return the operations that the document tells of: probes and figures of the process are nobody's interface."""
    return tuple(operation for operation in OPERATIONS if operation.path.startswith("/api/v1"))
