"""When is the next action of a lead? The first allowed instant, written into the lead with its reasons."""

from typing import Any

from engine.contact.facts.person import PAUSES, Person
from engine.contact.schedule.cadence import CONTACTS, Cadence, channel_of
from engine.contact.timing.earliest import (
    DEFAULT_PURPOSE,
    INBOUND_MISSED,
    Earliest,
    base_of,
    earliest_callback,
    first_allowed,
    first_allowed_with_spread,
)
from schemas.contact import ContactPause, Lead, LeadStatus
from schemas.decisions import Fact
from schemas.instant import EPOCH, MINUTE, SECOND, Instant, Millis
from schemas.law import CHANNELS
from schemas.records import Company, Offer, Schedule
from schemas.schedule import Step

SCHEDULE_PAUSED = "schedule_paused"
EXPIRES_FIRST = "expires_first"
"""The lead expires before the step is due; where hours moved the step, their code is the reason instead."""

RECHECK_SOONEST = 5 * SECOND
RECHECK_LATEST = 15 * MINUTE
"""A held lead is checked again after a quarter of the time that it has been held, within these bounds (backoff): a short
pause costs seconds, and a million leads held for hours cost some thousand checks a second."""

CLASS_CALLBACK = CLASS_REAL_TIME = 1
CLASS_FIRST_ATTEMPT = 2
CLASS_RETRY = 3
CLASS_MESSAGE = 4
CLASS_OTHER = 5
"""Urgency classes: the lowest goes first. 0 is a call that a person asked for now (`call_start.CLASS_NOW`)."""


SCHEDULE_STEP = "schedule_step"
RETRY = "retry"
CALLBACK = "callback"
EXPLICIT = "explicit"
"""Sources of the base time of a plan: the schedule, a retry, a callback, a requested `next_action_at`."""


def plan(person: Person, lead: Lead, cadence: Cadence, step: Step) -> bool:
    """Compute `next_action_at` of the lead's step; True where it is due now."""
    lead.urgency_class = _class_of(lead, cadence, step)
    if lead.aging != cadence.schedule.priority_aging:  # assign only a change: 0 and 0.0 are equal, but encode differently
        lead.aging = cadence.schedule.priority_aging
    base = base_of(person, lead)
    earliest = (first_allowed if cadence.is_plain else first_allowed_with_spread)(person, lead, cadence, step, base)
    is_due = _write_plan(person, lead, earliest, source_of(lead), base)
    if lead.pause is not None and isinstance(step, CONTACTS):
        _apply_pause(person, lead, lead.pause)
    return is_due


def plan_callback(person: Person, lead: Lead, cadence: Cadence) -> bool:
    """Compute when the callback can be placed (True: now): the law applies, preferred hours do not."""
    lead.urgency_class = CLASS_CALLBACK
    base = max(lead.callback_at or EPOCH, person.now)
    is_due = _write_plan(person, lead, earliest_callback(person, lead, cadence, base), CALLBACK, base)
    lead.status, lead.status_wait = "waiting", "callback_pending"
    return is_due


def plan_without_hours(person: Person, lead: Lead, reason: str | None = None) -> bool:
    """Compute when a step without hours is due; until then the lead waits for `reason`. True where it is due now."""
    lead.urgency_class = CLASS_OTHER
    base = base_of(person, lead)
    return _write_plan(person, lead, Earliest(base, decider=reason), source_of(lead), base)


def schedule_recheck(person: Person, lead: Lead, after: Millis) -> None:
    """Check a due lead again after a moment: unread requests may forbid its action."""
    lead.status, lead.status_wait = "scheduled", None
    lead.recheck_at = person.now + after


def hold(person: Person, lead: Lead, reason: str) -> None:
    """Hold a due lead, and check it again with backoff."""
    now = person.now
    if lead.status_wait != reason:
        person.draft.fact("lead.waiting", lead_id=lead.id, reason=reason)
    if lead.held_at is None:
        lead.held_at = now
    lead.status, lead.status_wait = "waiting", reason
    if reason in PAUSES:  # lifting the pause wakes them (engine/contact/lifecycle/replan.py)
        lead.recheck_at = None
        person.save(lead)
        return
    lead.recheck_at = now + min(RECHECK_LATEST, max(RECHECK_SOONEST, (now - lead.held_at) // 4))
    person.save(lead)


def pause_reason(person: Person, offer_id: int | None, schedule_id: int | None) -> str | None:
    """Return the pause that holds the leads of an offer and schedule, or None."""
    rules = person.rules
    company = rules.body(Company, "company", person.company_id)
    if company is not None and company.paused:
        return "company_paused"
    offer = rules.body(Offer, "offer", offer_id)
    if offer is not None and offer.paused:
        return "offer_paused"
    schedule = rules.body(Schedule, "schedule", schedule_id)
    return SCHEDULE_PAUSED if schedule is not None and schedule.paused else None


def source_of(lead: Lead) -> str:
    """Return what set the base time of the next step: the schedule, a retry, or a requested time."""
    if lead.requested_next_action_at is not None:
        return EXPLICIT
    return RETRY if lead.retries else SCHEDULE_STEP


def _apply_pause(person: Person, lead: Lead, pause: ContactPause) -> None:
    """Show the pause after a reply as the lead's wait; a missed inbound call makes the lead urgent."""
    if pause.code == INBOUND_MISSED:
        lead.urgency_class = CLASS_CALLBACK
    if pause.code in lead.reasons and lead.next_action_at is not None and lead.next_action_at > person.now:
        lead.status, lead.status_wait = "waiting", pause.code


def _write_plan(person: Person, lead: Lead, earliest: Earliest, source: str, base: Instant) -> bool:
    """Write the plan into the lead; True where it is due now, and its execution sets the status.

    The fact of a plan holds the inputs of the computation; those that are fields of the lead (zones, states, attempts,
    schedule version) are in the same decision.
    """
    status_before, now = lead.status, person.now
    at, reasons, reason = earliest.at, earliest.codes, earliest.decider
    is_promised = lead.ending or lead.callback_at is not None  # a callback is made after the end of the steps, too
    if at is not None and lead.expires_at is not None and at >= lead.expires_at and not is_promised:
        at, reasons, reason = None, reasons or (EXPIRES_FIRST,), reason or EXPIRES_FIRST
    is_new = at != lead.next_action_at or reasons != lead.reasons
    lead.next_action_at, lead.reasons, lead.zone_deciding = at, reasons, earliest.zone
    lead.rule_deciding = earliest.rule
    if at is not None and (lead.planned_at is None or lead.planned_at > now):
        # Lateness counts from the first due time, however often the lead is planned again.
        lead.planned_at = at
    if at == now:
        if person.sweep_key is None:
            return True
        _wait_for_sweep(lead, person.sweep_key, now)
        return False
    status: LeadStatus = "scheduled" if reason is None else "waiting"
    lead.status, lead.status_wait, lead.held_at = status, reason, None
    if is_new or status != status_before:
        found = {"step_id": lead.step, "at": at, "reasons": reasons, **_plan_inputs(person, lead, earliest, source, base)}
        person.draft.facts.append(Fact(type=f"lead.{status}", lead_id=lead.id, data=found))
    return False


def _wait_for_sweep(lead: Lead, sweep_key: str, now: Instant) -> None:
    """Leave a due lead to the timer queue, in its place by when it became due."""
    lead.sweep_key = sweep_key
    lead.status, lead.status_wait, lead.held_at = "scheduled", None, None
    lead.recheck_at = lead.planned_at or now


def _plan_inputs(person: Person, lead: Lead, earliest: Earliest, source: str, base: Instant) -> dict[str, Any]:
    """Return the inputs of a plan that `at` does not already show."""
    found: dict[str, Any] = {"source": source}
    if base != lead.next_action_at:
        found["base"] = base
    if earliest.constraints:
        found["constraints"] = earliest.constraints
    elif earliest.decider is not None:
        found["waits_for"] = earliest.decider
    if earliest.at != lead.next_action_at:
        found["earliest"] = earliest.at
    if earliest.purpose != DEFAULT_PURPOSE:
        found["purpose"] = earliest.purpose
    if earliest.constraints and person.rules.own_law(person.company_id)[0]:
        found["law"] = person.law.stamp
    if source != SCHEDULE_STEP and source != RETRY and lead.base_at is not None:  # noqa: PLR1714 - a set would be built each time
        found["passed_over"] = [{"source": SCHEDULE_STEP, "base": lead.base_at}]
    return found


def _class_of(lead: Lead, cadence: Cadence, step: Step) -> int:
    channel = channel_of(step)
    if channel != "call":
        return CLASS_MESSAGE if channel in CHANNELS else CLASS_OTHER
    if lead.attempts:
        return CLASS_RETRY
    return CLASS_REAL_TIME if cadence.schedule.real_time_priority else CLASS_FIRST_ATTEMPT
