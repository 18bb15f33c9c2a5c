"""How does a lead come to stand before a step? With nothing tried yet, to be planned from a base."""

from schemas.contact import Lead
from schemas.instant import Instant
from schemas.schedule import Step


def enter(lead: Lead, step: Step | None, base: Instant) -> None:
    """Let the lead stand before a step, to be planned from a base; None: behind the last one."""
    lead.step = None if step is None else step.id
    lead.step_entered += 1
    lead.step_attempts = 0
    lead.retries = {}
    lead.base_at = base
    lead.planned_at = lead.next_action_at = lead.recheck_at = lead.held_at = lead.disposition_due_at = None
    lead.reasons = ()
