"""Why is an action when it is? What moved it later, gathered from the plans that were made for it.

A plan is made once with the reasons that move it, and again when it is due, when nothing moves it any more: the reasons of
the earlier ones must be kept.
"""

from typing import Any

from msgspec import Struct

from engine.contact.schedule.cadence import Cadence, home_zone
from schemas.contact import Lead

CALLBACK_PENDING = "callback_pending"
"""Said of a step that had to wait until a promised call was made."""


class ActionReason(Struct, frozen=True):
    """What is told of one action: the zone whose edge decided, the codes that moved it, which counted attempt it is."""

    zone: str
    reasons: tuple[str, ...] = ()
    attempt: int | None = None


class PlanHistory:
    """The plans of one lead for what comes next; a plan for something else begins anew."""

    def __init__(self, cadence: Cadence) -> None:
        self._cadence = cadence
        self._about: tuple[Any, ...] = ()
        self._reasons: dict[str, None] = {}
        self._zone: str | None = None
        self._held: tuple[int, int] | None = None

    def record(self, lead: Lead) -> None:
        """Take in a lead after a decision on it. Of one that acts nothing is planned; what follows begins anew."""
        if lead.flight is not None:
            self._about, self._reasons, self._zone = (), {}, None
            self._held = self._held if lead.flight.callback else None
            return
        about = (lead.enrolment, lead.step_entered, lead.base_at, lead.callback_at)
        if about != self._about:
            self._about, self._reasons, self._zone = about, {}, None
        self._reasons |= dict.fromkeys(lead.reasons)
        self._zone = lead.zone_deciding or self._zone
        if lead.status_wait == CALLBACK_PENDING and (lead.base_at or 0) < (lead.next_action_at or 0):
            self._held = lead.enrolment, lead.step_entered

    def why(self, lead: Lead, *, is_callback: bool, step_id: str, attempt: int | None) -> ActionReason:
        """Return why an action was ordered just now; `lead` is as it was before."""
        zone = self._zone or home_zone(lead, self._cadence)
        if is_callback:
            return ActionReason(zone, tuple(self._reasons), attempt)
        if step_id != lead.step:  # walked to in the same decision: nothing moved it
            return ActionReason(home_zone(lead, self._cadence), (), attempt)
        held = (CALLBACK_PENDING,) if self._held == (lead.enrolment, lead.step_entered) else ()
        return ActionReason(zone, (*held, *self._reasons), attempt)

    def unplanned(self, lead: Lead) -> ActionReason:
        """Return what is told of an action that was never planned: it came with the end of the lead."""
        return ActionReason(home_zone(lead, self._cadence))
