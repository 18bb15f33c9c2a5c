"""How does a lead end? It runs its end steps, then takes the status that it earned; a stop skips the end steps."""

from typing import Any

from engine.contact.commands.emission import has_webhook, step_webhook
from engine.contact.commands.slots import withdraw
from engine.contact.facts.person import Person
from engine.contact.facts.result import COMPLETED, earned
from engine.contact.lifecycle import promises
from engine.contact.schedule.cadence import cadence_of
from engine.limits import RECORD_BYTES_MAX
from schemas.contact import Lead, LeadStatus
from schemas.schedule import WebhookStep
from schemas.wire import to_json

LEAD_BYTES_MAX = RECORD_BYTES_MAX // 2
"""Of an ended lead as JSON. Since version 2 of the decision rules tokens have their own, far smaller limit."""


def begin_end(person: Person, lead: Lead, status: LeadStatus, *, keeps_callback: bool = True) -> None:
    """Leave the steps for the end steps and then the status. An open command and a callback are waited for."""
    withdraw(person, lead)
    if lead.callback_at is not None and not keeps_callback:
        lead.callback_at = None
        person.draft.fact("callback.cancelled", lead_id=lead.id, reason=status)
        promises.close(person, lead, status)
    lead.ending, lead.end_status = True, status
    lead.step, lead.base_at, lead.planned_at, lead.disposition_due_at = None, person.now, None, None
    lead.next_action_at = lead.requested_next_action_at = lead.recheck_at = lead.held_at = None
    person.draft.fact("lead.ending", lead_id=lead.id, status=status)
    person.save(lead)


def revive(person: Person, lead: Lead) -> None:
    """Let a lead live on that had ended as completed: for a callback, after which it ends again. Its end steps have run."""
    lead.status, lead.status_wait, lead.is_revived = "queue", None, True
    lead.ending, lead.end_status, lead.schedule_ended_at = True, COMPLETED, None
    lead.base_at = person.now
    person.draft.fact("lead.revived", lead_id=lead.id)
    person.save(lead)


def end(person: Person, lead: Lead, status: LeadStatus, reason: str | None = None) -> None:
    """End a lead now. The outcome of an open command is still awaited, for the records and the slot."""
    withdraw(person, lead)
    if lead.callback_at is not None:
        person.draft.fact("callback.cancelled", lead_id=lead.id, reason=status)
        promises.close(person, lead, status)
    lead.status = earned(lead, status)
    lead.status_wait = lead.step = lead.end_status = None
    lead.next_action_at = lead.requested_next_action_at = lead.planned_at = lead.base_at = None
    lead.callback_at = lead.recheck_at = lead.held_at = lead.disposition_due_at = lead.pause = None
    lead.reasons, lead.zone_deciding, lead.ending, lead.is_revived = (), None, False, False
    lead.schedule_ended_at = lead.schedule_ended_at or person.now
    person.draft.fact("lead.ended", lead_id=lead.id, status=lead.status, **_reason_field(reason))
    person.save(lead)


def emit_end_webhooks(person: Person, lead: Lead) -> bool:
    """Emit the webhooks of the end steps at once: they are all that still happens for a person who must not be contacted.

    Nothing waits for their outcomes; a gateway retries a webhook by itself. Return whether any was emitted.
    """
    schedule = None
    if lead.schedule_id is not None and lead.schedule_version is not None:
        schedule = person.rules.schedule(lead.schedule_id, lead.schedule_version)
    has_emitted = False
    for step in () if schedule is None else cadence_of(schedule).end_steps:
        if isinstance(step, WebhookStep) and has_webhook(person, step):
            lead.step_entered += 1
            command = step_webhook(person, lead, step)
            person.draft.emit(command)
            has_emitted = True
            person.draft.fact(
                "command.emitted", lead_id=lead.id, command_id=command.command_id, kind="webhook", step_id=step.id
            )
    return has_emitted


def remove_excess_tokens(person: Person, lead: Lead, reason: str) -> None:
    """Remove the tokens of a lead that is too large for a decision: it was stored before tokens had a limit."""
    if lead.data and len(to_json(lead)) > LEAD_BYTES_MAX:
        lead.data = {}
        person.draft.fact("lead.tokens_removed", lead_id=lead.id, reason=reason)


def _reason_field(reason: str | None) -> dict[str, Any]:
    return {"reason": reason} if reason else {}
