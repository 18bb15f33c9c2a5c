"""Where does a lead go on that a stop of its person ended? At its former step of the same run, as it was planned."""

from engine.contact.facts.person import Person
from engine.contact.lifecycle import callbacks
from engine.contact.lifecycle.step_position import enter_step
from engine.contact.schedule.cadence import cadence_for
from schemas.contact import Lead, StoppedPlan


def resume(person: Person, lead: Lead) -> None:
    """Resume a lead that a stop of the person ended, at its former step of the same run, as it was planned.

    Its expiry and its waits have run on, and its attempts stay counted. A lead that had no step yet starts with the first. A
    callback comes back whose instant is still ahead.
    """
    cadence = cadence_for(person, lead)
    plan, lead.stopped = lead.stopped or StoppedPlan(), None
    if lead.schedule_id is None:
        lead.status = "captured"
    else:
        if plan.step is not None and cadence.has(plan.step):
            _return_to(lead, plan)
        else:
            enter_step(lead, cadence.first(ending=False), person.now)
        lead.status, lead.status_wait = ("queue", None) if lead.flight is None else ("running", "awaiting_outcome")
    lead.schedule_ended_at = None
    person.draft.fact("lead.resumed", lead_id=lead.id, step_id=lead.step)
    if plan.callback_at is not None and plan.callback_at > person.now:
        callbacks.schedule_callback(person, lead, plan.callback_at, lead.callback_owner, lead.scheduled_callback_id)
    person.save(lead)


def _return_to(lead: Lead, plan: StoppedPlan) -> None:
    """Put a lead back where a stop found it: at its step, with the instant and the rest of the wait that were planned."""
    lead.step, lead.step_attempts, lead.base_at = plan.step, plan.step_attempts, plan.base_at
    lead.requested_next_action_at, lead.disposition_due_at = plan.requested_next_action_at, plan.disposition_due_at
    lead.pause = plan.pause
