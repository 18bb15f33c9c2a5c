"""Which operations does the API have? Every row, in the order of the OpenAPI document."""

from adapters.http import system
from adapters.http.agents import agents, events
from adapters.http.calls import call_changes, call_lists, call_reports, call_starts, calls, recordings, texts, transcriptions
from adapters.http.contacts import calling_hours, contacts, suppression_files, suppressions, unsubscribe
from adapters.http.exchange.exchange import Operation
from adapters.http.impressions import impressions
from adapters.http.leads import (
    bulk_jobs,
    callers,
    imports,
    kept_submissions,
    lead_changes,
    lead_events,
    lead_map_previews,
    lead_views,
    leads,
    scheduled_callbacks,
    submissions,
    what_if,
    why,
)
from adapters.http.operator import contact_holds, dead_letters, operator, projection_jobs
from adapters.http.providers import callbacks
from adapters.http.records import audit_logs, company, conversions, previews, records, schedule_versions
from adapters.http.reports import channels, outcomes, queues, reports, steps
from adapters.http.sign_in import access_tokens, invitation_page, invitations, sessions
from adapters.http.webhooks import circuits, deliveries, manual_fires, webhook_logs

OPERATIONS: tuple[Operation, ...] = (
    *submissions.OPERATIONS,
    *leads.OPERATIONS,
    *lead_events.OPERATIONS,
    *lead_changes.OPERATIONS,
    *bulk_jobs.OPERATIONS,
    *imports.OPERATIONS,
    *lead_views.OPERATIONS,
    *scheduled_callbacks.OPERATIONS,
    *kept_submissions.OPERATIONS,
    *lead_map_previews.OPERATIONS,
    *callers.OPERATIONS,
    *contacts.OPERATIONS,
    *suppressions.OPERATIONS,
    *suppression_files.OPERATIONS,
    *calling_hours.OPERATIONS,
    *call_lists.OPERATIONS,
    *reports.OPERATIONS,
    *channels.OPERATIONS,
    *queues.OPERATIONS,
    *outcomes.OPERATIONS,
    *steps.OPERATIONS,
    *call_starts.OPERATIONS,
    *call_reports.OPERATIONS,
    *call_changes.OPERATIONS,
    *calls.OPERATIONS,
    *recordings.OPERATIONS,
    *transcriptions.OPERATIONS,
    *texts.OPERATIONS,
    *conversions.OPERATIONS,
    *impressions.OPERATIONS,
    *manual_fires.OPERATIONS,
    *webhook_logs.OPERATIONS,
    *circuits.OPERATIONS,
    *deliveries.OPERATIONS,
    *why.OPERATIONS,
    *what_if.OPERATIONS,
    *previews.OPERATIONS,
    *schedule_versions.OPERATIONS,
    *agents.OPERATIONS,
    *events.OPERATIONS,
    *records.OPERATIONS,
    *company.OPERATIONS,
    *audit_logs.OPERATIONS,
    *operator.OPERATIONS,
    *contact_holds.OPERATIONS,
    *dead_letters.OPERATIONS,
    *projection_jobs.OPERATIONS,
    *sessions.OPERATIONS,
    *callbacks.OPERATIONS,
    *unsubscribe.OPERATIONS,
    *access_tokens.OPERATIONS,
    *invitations.OPERATIONS,
    *invitation_page.OPERATIONS,
    *system.OPERATIONS,
)


def documented_operations() -> tuple[Operation, ...]:
    """Return the operations in the OpenAPI document, which is for companies.

    Without the probes, which are no public interface, and without the operator's, which deploy/docs/operators.md describes.
    """
    return tuple(
        operation for operation in OPERATIONS if operation.path.startswith("/api/v1") and operation.access != "operator"
    )
