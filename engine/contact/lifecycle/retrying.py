"""Is a step retried after its outcome, or left? By its `retry`; where no later step can reach the person, the lead ends."""

from engine.contact.facts.person import Person
from engine.contact.lifecycle.ending import begin_end
from engine.contact.lifecycle.step_position import leave_step
from engine.contact.lifecycle.stop import is_closed
from engine.contact.schedule.cadence import cadence_for, channel_of, duration
from engine.contact.timing.contact_hours import after
from schemas.contact import Lead
from schemas.instant import DAY, Instant
from schemas.outcomes import Outcome
from schemas.schedule import ActingStep, EmailStep, Retry, Step

CHANNEL_CLOSED_FOR = 15 * DAY
"""An invalid number may have been assigned again after two weeks (Convoso's default)."""


def close_channel(person: Person, lead_id: int | None, channel: str, outcome: str) -> None:
    """Close a channel: the number or address does not work, or belongs to somebody else."""
    person.head.disabled_until[channel] = person.now + CHANNEL_CLOSED_FOR
    person.save_head()
    person.draft.fact("channel.closed", lead_id=lead_id, channel=channel, outcome=outcome)


def retry_or_leave(person: Person, lead: Lead, outcome: str, row: Outcome, occurred_at: Instant) -> None:
    """Plan a retry of the lead's step, or go on to the next one."""
    cadence = cadence_for(person, lead)
    step = cadence.step(lead.step or "")
    if row.disables_channel and not lead.ending and _is_out_of_reach(person, lead):
        begin_end(person, lead, "failure")
        return
    made = lead.retries.get(outcome, 0)
    retry = retry_after(step, outcome, row, made)
    if retry is None:
        leave_step(person, lead, cadence, occurred_at)
        return
    lead.retries[outcome] = made + 1
    wait = row.retry_delay if retry.delay is None else None
    lead.base_at = occurred_at + wait if wait is not None else after(occurred_at, duration(retry.delay or ""), lead, cadence)
    lead.planned_at = None
    person.draft.fact("step.retried", lead_id=lead.id, step_id=step.id, outcome=outcome, times=made + 1)


def retry_after(step: Step, outcome: str, row: Outcome, made: int) -> Retry | None:
    """Return the retry of a step after an outcome that has caused so many already; None where the step is left."""
    retry = step.retry.get(outcome) if isinstance(step, ActingStep) else None
    most = row.retry_max if retry is None or retry.max is None else retry.max
    return retry if made < most else None


def _is_out_of_reach(person: Person, lead: Lead) -> bool:
    """Return whether no later step can reach the person, or none is left and none has reached them."""
    cadence = cadence_for(person, lead)
    later = cadence.contacts_from(lead.step)[1:]
    if not later:
        return lead.attempts == 0 and lead.emails_count == 0
    return not any(_can_reach(person, lead, channel_of(step), isinstance(step, EmailStep)) for step in later)


def _can_reach(person: Person, lead: Lead, channel: str, is_email: bool) -> bool:
    return bool(lead.email if is_email else lead.caller_id) and not is_closed(person, lead, channel)
