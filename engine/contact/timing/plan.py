"""When is the next action of a lead? The first allowed instant, written into the lead with what was weighed."""

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
from schemas.instant import MINUTE, SECOND, Instant
from schemas.law import CHANNELS
from schemas.records import Company, Offer, Schedule
from schemas.schedule import Step

SCHEDULE_PAUSED = "schedule_paused"
EXPIRES_FIRST = "expires_first"
"""The lead will expire before the step is due; where hours moved the step, their code says so instead."""

RECHECK_SOONEST = 5 * SECOND
RECHECK_LATEST = 15 * MINUTE
"""A held lead is looked at again after a quarter of the time that it has been held, within these bounds: what was
paused for a moment goes on at once, and a million leads that are held for hours cost some thousand looks a second."""

CLASS_CALLBACK = CLASS_REAL_TIME = 1
CLASS_FIRST_ATTEMPT = 2
CLASS_RETRY = 3
CLASS_MESSAGE = 4
CLASS_OTHER = 5
"""Which of the due leads goes first (research/domain.md 3.8); 0 is left to calls that somebody asked for just now."""


SCHEDULE_STEP = "schedule_step"
RETRY = "retry"
CALLBACK = "callback"
EXPLICIT = "explicit"
"""Where the base of a plan came from (research/domain.md 3.9): the schedule, a retry, a promise, a `next_action_at`."""


def plan(person: Person, lead: Lead, cadence: Cadence, step: Step) -> bool:
    """Work out `next_action_at` of the step that the lead stands before; True where it is now."""
    lead.urgency_class = _class_of(lead, cadence, step)
    if lead.aging != cadence.schedule.priority_aging:  # zeros are equal, but only its own default is not written out
        lead.aging = cadence.schedule.priority_aging
    base = base_of(person, lead)
    earliest = (first_allowed if cadence.is_plain else first_allowed_with_spread)(person, lead, cadence, step, base)
    is_due = _write_plan(person, lead, earliest, source_of(lead), base)
    if lead.pause is not None and isinstance(step, CONTACTS):
        _apply_pause(person, lead, lead.pause)
    return is_due


def plan_callback(person: Person, lead: Lead, cadence: Cadence) -> bool:
    """Work out when the promised call can be placed (True: now): the law holds, preferred hours do not."""
    lead.urgency_class = CLASS_CALLBACK
    base = max(lead.callback_at or 0, person.now)
    is_due = _write_plan(person, lead, earliest_callback(person, lead, cadence, base), CALLBACK, base)
    lead.status, lead.status_wait = "waiting", "callback_pending"
    return is_due


def plan_without_hours(person: Person, lead: Lead, reason: str | None = None) -> bool:
    """Let the lead stand before a step without hours, and say what for; True where it is due."""
    lead.urgency_class = CLASS_OTHER
    base = base_of(person, lead)
    return _write_plan(person, lead, Earliest(base, decider=reason), source_of(lead), base)


def schedule_recheck(person: Person, lead: Lead, after: Instant) -> None:
    """Leave a due lead as it is for a moment: requests are unread that may forbid what it is about to do."""
    lead.status, lead.status_wait = "scheduled", None
    lead.recheck_at = person.now + after


def hold(person: Person, lead: Lead, reason: str) -> None:
    """Keep a due lead back, and look again ever less often."""
    now = person.now
    if lead.status_wait != reason:
        person.draft.fact("lead.waiting", lead_id=lead.id, reason=reason)
    if lead.held_at is None:
        lead.held_at = now
    lead.status, lead.status_wait = "waiting", reason
    if reason in PAUSES:  # whoever lifts the pause wakes them (engine/contact/lifecycle/replan.py)
        lead.recheck_at = None
        person.save(lead)
        return
    lead.recheck_at = now + min(RECHECK_LATEST, max(RECHECK_SOONEST, (now - lead.held_at) // 4))
    person.save(lead)


def pause_reason(person: Person, offer_id: int | None, schedule_id: int | None) -> str | None:
    """Return which pause holds the leads of an offer and schedule, or None."""
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
    """Say of a lead that waits because the person answered that it does; who called in vain is called back soon."""
    if pause.code == INBOUND_MISSED:
        lead.urgency_class = CLASS_CALLBACK
    if pause.code in lead.reasons and lead.next_action_at is not None and lead.next_action_at > person.now:
        lead.status, lead.status_wait = "waiting", pause.code


def _write_plan(person: Person, lead: Lead, earliest: Earliest, source: str, base: Instant) -> bool:
    """Write the plan into the lead; True where it is due now, and whoever carries it out says what it then is.

    The fact of a plan holds what was weighed (research/domain.md 3.9); what the lead itself says (zones, states, attempts,
    schedule version) stands beside it in the same decision.
    """
    status_before, now = lead.status, person.now
    at, reasons, reason = earliest.at, earliest.codes, earliest.decider
    if at is not None and lead.expires_at is not None and at >= lead.expires_at and not lead.ending:
        at, reasons, reason = None, reasons or (EXPIRES_FIRST,), reason or EXPIRES_FIRST
    is_new = at != lead.next_action_at or reasons != lead.reasons
    lead.next_action_at, lead.reasons, lead.zone_deciding = at, reasons, earliest.zone
    lead.rule_deciding = earliest.rule
    if at is not None and (lead.planned_at is None or lead.planned_at > now):
        # What was due once stays measured from then: lateness is not forgotten by planning again.
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
    """Leave a due lead to the queue of those that are due, in its place by when it became due."""
    lead.sweep_key = sweep_key
    lead.status, lead.status_wait, lead.held_at = "scheduled", None, None
    lead.recheck_at = lead.planned_at or now


def _plan_inputs(person: Person, lead: Lead, earliest: Earliest, source: str, base: Instant) -> dict[str, Any]:
    """Return what was weighed, as far as it is not said by `at`: a plan that nothing moved began and ended there."""
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
    if earliest.constraints and person.rules.rule_packs(person.company_id):
        found["law"] = person.law.stamp
    if source != SCHEDULE_STEP and source != RETRY and lead.base_at is not None:  # noqa: PLR1714 - a set would be made anew
        found["passed_over"] = [{"source": SCHEDULE_STEP, "base": lead.base_at}]
    return found


def _class_of(lead: Lead, cadence: Cadence, step: Step) -> int:
    channel = channel_of(step)
    if channel != "call":
        return CLASS_MESSAGE if channel in CHANNELS else CLASS_OTHER
    if lead.attempts:
        return CLASS_RETRY
    return CLASS_REAL_TIME if cadence.schedule.real_time_priority else CLASS_FIRST_ATTEMPT
