"""How does a lead enter and leave a step? It enters with no attempts, to be planned from a base time."""

from collections.abc import Iterable, Mapping
from typing import Any

from engine.contact.facts.person import Person
from engine.contact.facts.result import COMPLETED
from engine.contact.lifecycle.ending import begin_end, end
from engine.contact.schedule.cadence import Cadence
from engine.tokens import LEAD_BYTES_MAX, fits
from schemas.contact import Lead
from schemas.instant import Instant
from schemas.schedule import Step


def enter_step(lead: Lead, step: Step | None, base: Instant) -> None:
    """Move the lead to a step, to be planned from a base time; None: behind the last one."""
    lead.step = None if step is None else step.id
    lead.step_entered += 1
    lead.step_attempts = 0
    lead.retries = {}
    lead.base_at = base
    lead.planned_at = lead.next_action_at = lead.recheck_at = lead.held_at = lead.disposition_due_at = None
    lead.reasons = lead.allowed_by = ()


def leave_step(person: Person, lead: Lead, cadence: Cadence, base: Instant) -> None:
    """Move from the current step to the next one, or end the list of steps."""
    assert lead.step is not None  # noqa: S101 - the lead is at a step
    following = cadence.after(lead.step)
    if following is not None:
        enter_step(lead, following, base)
    elif lead.ending:
        end(person, lead, lead.end_status or COMPLETED)
    else:
        begin_end(person, lead, COMPLETED)


def skip_step(person: Person, lead: Lead, cadence: Cadence, step: Step, reason: str) -> bool:
    """Skip a step with a reason; return True, because the next one must be looked at."""
    person.draft.fact("step.skipped", lead_id=lead.id, step_id=step.id, reason=reason)
    leave_step(person, lead, cadence, lead.base_at or person.now)
    return True


def set_tokens(
    person: Person, lead: Lead, given: Mapping[str, Any], removed: Iterable[str] = (), *, step_id: str | None
) -> None:
    """Set and remove tokens of a lead; if they exceed the limit, set none and record the skip."""
    data = {**lead.data, **given}
    for name in removed:
        data.pop(name, None)
    if given and not fits(data, LEAD_BYTES_MAX):
        person.draft.fact("step.skipped", lead_id=lead.id, step_id=step_id, reason="too_large")
        return
    lead.data = data
