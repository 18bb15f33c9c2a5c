"""Why does an action happen when it does? The reasons of all plans that were made for it.

A plan is made with the reasons that move it, and again when it is due and nothing moves it: the earlier reasons must be
remembered.
"""

from typing import Any

from msgspec import Struct

from engine.contact.schedule.cadence import Cadence, home_zone
from schemas.contact import Lead
from schemas.instant import EPOCH

CALLBACK_PENDING = "callback_pending"
"""The reason of a step that waited for a callback."""


class ActionReason(Struct, frozen=True):
    """The deciding zone of an action, the codes that moved it, and its attempt number.

    `rule` is the row of the rule pack behind the last of these codes, where the law moved it.
    """

    zone: str
    reasons: tuple[str, ...] = ()
    attempt: int | None = None
    rule: str | None = None


class PlanHistory:
    """The plans of one lead for its next action; a plan for another action starts over."""

    def __init__(self, cadence: Cadence) -> None:
        self._cadence = cadence
        self._about: tuple[Any, ...] = ()
        self._reasons: dict[str, None] = {}
        self._zone: str | None = None
        self._rule: str | None = None
        self._held: tuple[int, int] | None = None

    def record(self, lead: Lead) -> None:
        """Record the plan of a lead after a decision. A lead in flight has no plan: start over."""
        if lead.flight is not None:
            self._about, self._reasons, self._zone, self._rule = (), {}, None, None
            self._held = self._held if lead.flight.callback else None
            return
        about = (lead.enrolment, lead.step_entered, lead.base_at, lead.callback_at)
        if about != self._about:
            self._about, self._reasons, self._zone, self._rule = about, {}, None, None
        self._reasons |= dict.fromkeys(lead.reasons)
        self._zone = lead.zone_deciding or self._zone
        self._rule = lead.rule_deciding or self._rule
        if lead.status_wait == CALLBACK_PENDING and (lead.base_at or EPOCH) < (lead.next_action_at or EPOCH):
            self._held = lead.enrolment, lead.step_entered

    def why(self, lead: Lead, *, is_callback: bool, step_id: str, attempt: int | None) -> ActionReason:
        """Return why an action was emitted; `lead` is its state before."""
        zone = self._zone or home_zone(lead, self._cadence)
        if is_callback:
            return ActionReason(zone, tuple(self._reasons), attempt, self._rule)
        if step_id != lead.step:  # reached in the same decision: nothing moved it
            return ActionReason(home_zone(lead, self._cadence), (), attempt)
        held = (CALLBACK_PENDING,) if self._held == (lead.enrolment, lead.step_entered) else ()
        return ActionReason(zone, (*held, *self._reasons), attempt, self._rule)

    def unplanned(self, lead: Lead) -> ActionReason:
        """Return the reason of an unplanned action: it came with the end of the lead."""
        return ActionReason(home_zone(lead, self._cadence))
