"""How far does a lead advance now? From step to step, until a command is open, a time must come, or it has ended."""

from typing import assert_never

from engine.contact.commands import slots
from engine.contact.commands.buyers import choice_for, has_filters
from engine.contact.facts.person import Person
from engine.contact.facts.result import COMPLETED
from engine.contact.lifecycle import effects, triggers
from engine.contact.lifecycle.callbacks import is_callback_first, wait_for_callback
from engine.contact.lifecycle.ending import begin_end, end
from engine.contact.lifecycle.step_execution import execute
from engine.contact.lifecycle.step_position import enter_step, leave_step, skip_step
from engine.contact.lifecycle.stop import end_reason, is_closed, stop
from engine.contact.schedule.branching import branch_goto, has_happened, split_goto
from engine.contact.schedule.cadence import Cadence, cadence_for, duration
from engine.contact.schedule.filters import lookup_for
from engine.contact.timing.contact_hours import after, local_time
from engine.contact.timing.holding import hold_step
from engine.contact.timing.plan import hold, plan_without_hours
from engine.rules import Rules
from schemas.contact import LIVE_STATUSES, Lead
from schemas.instant import Instant
from schemas.records import Schedule
from schemas.requests import SlotAnswered
from schemas.schedule import (
    ActionGroupStep,
    BlockStep,
    BranchStep,
    CallbackStep,
    CallStep,
    EmailStep,
    ExitStep,
    MoveStep,
    OptOutStep,
    RestartStep,
    SmsStep,
    SplitStep,
    Step,
    SuppressStep,
    TagStep,
    UpdateLeadStep,
    WaitForStep,
    WaitStep,
    WebhookStep,
)

STEPS_AT_ONCE_MAX = 100
"""Steps without a wait in one decision: more is a loop."""

IS_TEST = "is_test"
"""Why a lead ends that is a test: it contacts nobody, also where it is restarted or moved."""

EVENT_AWAITED = "awaiting_event"
DISPOSITION_AWAITED = "awaiting_disposition"


def advance(person: Person, lead: Lead, *, grant: SlotAnswered | None = None) -> None:
    """Advance a lead as far as possible now. One that has ended or awaits an outcome or a slot does not move."""
    lead.recheck_at = None
    if lead.slot_id is None:
        lead.slot_queue = None
    lead.sweep_key = lead.awaits_place = None
    person.save(lead)
    for _ in range(STEPS_AT_ONCE_MAX):
        if not _advance_once(person, lead, grant):
            return
    hold(person, lead, effects.LOOP_GUARD)


def plan_inputs(lead: Lead) -> tuple[object, ...]:
    """Return the inputs of a lead's plan that a request can change."""
    asked = lead.lead_priority, lead.requested_next_action_at, lead.callback_at
    return (*asked, lead.zones, lead.caller_id, lead.email, lead.enrolment, lead.ending)


def replan_lead(person: Person, lead: Lead, before: tuple[object, ...]) -> None:
    """Plan again after a change; if the inputs of the plan changed, withdraw an open slot request first."""
    if plan_inputs(lead) != before or asks_filtered_buyers(person, lead):
        slots.withdraw(person, lead)
    advance(person, lead)


def asks_filtered_buyers(person: Person, lead: Lead) -> bool:
    """Return whether a lead asks for a slot of buyers with filters: others may take its call once it has changed."""
    if lead.slot_id is None or lead.callback_asks:
        return False
    step = cadence_for(person, lead).step(lead.step or "")
    return isinstance(step, CallStep) and has_filters(person, choice_for(person, lead, step))


def deleted_home(rules: Rules, lead: Lead) -> str | None:
    """Return why a lead has nothing to run and nobody to wait for: its schedule, or without one its offer, was deleted."""
    if lead.schedule_id is not None:
        return "schedule_deleted" if rules.body(Schedule, "schedule", lead.schedule_id) is None else None
    offer = None if lead.offer_id is None else rules.record("offer", lead.offer_id)
    return "offer_deleted" if offer is not None and offer.deleted_at is not None else None


def _advance_once(person: Person, lead: Lead, grant: SlotAnswered | None) -> bool:  # noqa: PLR0911 - the order of precedence, line by line
    """Take one step; return whether the lead must be looked at again at once."""
    if lead.status not in LIVE_STATUSES or lead.flight is not None:
        return False
    if lead.is_test:
        end(person, lead, "disabled", IS_TEST)
        return False
    reason = end_reason(person, lead.offer_id, lead.schedule_id)
    if reason is not None:
        stop(person, lead, reason)
        return False
    cadence = cadence_for(person, lead)
    if not lead.ending and lead.expires_at is not None and lead.expires_at <= person.now:
        triggers.fire_on_expiry(person, lead, cadence)
    if cadence.triggers and triggers.fire_on_exit(person, lead, cadence, ("tokens_match",)):
        return True
    if lead.slot_id is not None:
        return False
    if (gone := deleted_home(person.rules, lead)) is not None:
        end(person, lead, "disabled", gone)
        return False
    if lead.step is None:
        return _begin(person, lead, cadence, grant)
    if lead.disposition_due_at is not None:
        return _wait_for_disposition(person, lead, cadence, grant)
    return _take_step(person, lead, cadence, cadence.step(lead.step), grant)


def _begin(person: Person, lead: Lead, cadence: Cadence, grant: SlotAnswered | None) -> bool:
    """Enter the first of the steps or end steps; a callback outlives the steps."""
    if lead.callback_at is not None and (lead.ending or lead.schedule_id is None):
        return wait_for_callback(person, lead, cadence, grant)
    if lead.schedule_id is None and not lead.ending:
        return _capture(lead)
    if cadence.triggers and not lead.ending and triggers.fire_on_enter(person, lead, cadence):
        return True
    first = None if lead.is_revived else cadence.first(ending=lead.ending)
    if first is not None:
        enter_step(lead, first, lead.base_at or person.now)
        # The trigger of entering may have made another one true; without triggers go on directly.
        return bool(cadence.triggers) or _take_step(person, lead, cadence, first, grant)
    if lead.ending:
        end(person, lead, lead.end_status or COMPLETED)
    else:
        begin_end(person, lead, COMPLETED)
    return True


def _wait_for_disposition(person: Person, lead: Lead, cadence: Cadence, grant: SlotAnswered | None) -> bool:
    """Wait at the step of the call for its disposition; a callback is placed meanwhile."""
    if lead.callback_at is not None:
        return wait_for_callback(person, lead, cadence, grant)
    before = lead.status_wait
    lead.status, lead.status_wait = "waiting", DISPOSITION_AWAITED
    lead.next_action_at, lead.reasons, lead.zone_deciding = None, (), None
    if before != DISPOSITION_AWAITED:
        person.draft.fact("lead.waiting", lead_id=lead.id, step_id=lead.step, reason=DISPOSITION_AWAITED)
    return False


def _capture(lead: Lead) -> bool:
    lead.status, lead.status_wait, lead.next_action_at = "captured", None, None
    return False


def _take_step(person: Person, lead: Lead, cadence: Cadence, step: Step, grant: SlotAnswered | None) -> bool:  # noqa: PLR0911 - one line per kind of step
    match step:
        case WaitStep():
            return _wait(person, lead, cadence, step, grant)
        case _ if lead.callback_at is not None and is_callback_first(person, lead, step):
            return wait_for_callback(person, lead, cadence, grant)
        case CallStep() | SmsStep() | EmailStep() | WebhookStep():
            return execute(person, lead, cadence, step, grant)
        case ExitStep():
            return _exit(person, lead, step)
        case WaitForStep():
            return _wait_for_event(person, lead, cadence, step)
        case BranchStep() | SplitStep():
            return _choose_path(person, lead, cadence, step)
        case MoveStep() | RestartStep():
            return _restart_or_move(person, lead, cadence, step)
        case UpdateLeadStep() | TagStep() | CallbackStep() | OptOutStep() | BlockStep() | SuppressStep():
            return _apply_effect(person, lead, cadence, step)
        case ActionGroupStep():  # its steps took its place when the schedule was published
            return skip_step(person, lead, cadence, step, "not_published")
        case _:
            assert_never(step)


def _wait(person: Person, lead: Lead, cadence: Cadence, step: WaitStep, grant: SlotAnswered | None) -> bool:
    """Move the base time by the wait and go on to the next step, which is planned from there.

    Only at a last wait does the lead stay until it is over, because no step follows.
    """
    if lead.step_attempts == 0:  # not started: else the base time has moved already
        lead.step_attempts = 1
        lead.base_at = wait_end(lead, cadence, step, lead.base_at or person.now)
    if cadence.after(step.id) is None:
        if is_callback_first(person, lead, step):
            return wait_for_callback(person, lead, cadence, grant)
        if not plan_without_hours(person, lead):
            return False
    leave_step(person, lead, cadence, lead.base_at or person.now)
    return True


def wait_end(lead: Lead, cadence: Cadence, step: WaitStep, base: Instant) -> Instant:
    """Return the end of a wait that starts at base."""
    if step.until is not None:
        return local_time(lead, cadence, step.until, base)
    wait = duration(step.duration or "0s")
    return after(base, wait, lead, cadence, step.mode)


def _exit(person: Person, lead: Lead, step: ExitStep) -> bool:
    if not plan_without_hours(person, lead):
        return False
    if lead.ending:
        end(person, lead, lead.end_status or COMPLETED)
        return False
    begin_end(person, lead, step.result)
    return True


def _wait_for_event(person: Person, lead: Lead, cadence: Cadence, step: WaitForStep) -> bool:
    """Wait until an event has happened, or the timeout; every change of the lead is checked here."""
    if lead.step_attempts == 0:  # not started: a wait before it comes first
        if not _reach_step(person, lead, step):
            return False
        lead.step_attempts = 1
        lead.base_at = after(person.now, duration(step.timeout), lead, cadence)
        lead.planned_at = None
    if has_happened(step, lead, lookup_for(person, lead, cadence)):
        lead.unknown = None  # what follows was planned by the event
        if step.event in lead.heard:  # the step handles the event: no pause for it
            lead.heard, lead.pause = tuple(event for event in lead.heard if event != step.event), None
        return _go_to(person, lead, cadence, step.on_match)
    if not plan_without_hours(person, lead, EVENT_AWAITED):
        return False
    lead.requested_next_action_at = None
    return _go_to(person, lead, cadence, step.on_timeout)


def _choose_path(person: Person, lead: Lead, cadence: Cadence, step: BranchStep | SplitStep) -> bool:
    if not _reach_step(person, lead, step):
        return False
    if isinstance(step, SplitStep):
        goto: str | None = split_goto(step, lead)
    else:
        goto = branch_goto(step, lookup_for(person, lead, cadence))
    person.draft.fact("step.chose", lead_id=lead.id, step_id=step.id, goto=goto)
    return _go_to(person, lead, cadence, goto)


def _restart_or_move(person: Person, lead: Lead, cadence: Cadence, step: MoveStep | RestartStep) -> bool:
    """Restart this schedule or move to another one; skip the step where impossible, wait where too often today."""
    if not _reach_step(person, lead, step):
        return False
    reason = effects.reason_to_stay(person, lead, step)
    if reason is not None:
        lead.base_at = person.now
        return skip_step(person, lead, cadence, step, reason)
    if effects.moves_too_often(person, lead):
        hold(person, lead, effects.LOOP_GUARD)
        return False
    effects.start_new_run(person, lead, step)
    return True


def _apply_effect(
    person: Person,
    lead: Lead,
    cadence: Cadence,
    step: UpdateLeadStep | TagStep | CallbackStep | OptOutStep | BlockStep | SuppressStep,
) -> bool:
    if not _reach_step(person, lead, step):
        return False
    if isinstance(step, CallbackStep) and (not lead.caller_id or is_closed(person, lead, "call")):
        lead.base_at = person.now
        return skip_step(person, lead, cadence, step, "not_callable")
    effects.apply(person, lead, cadence, step)
    if lead.status in LIVE_STATUSES:
        leave_step(person, lead, cadence, person.now)
    return True


def _reach_step(person: Person, lead: Lead, step: Step) -> bool:
    """Plan a step that takes no time; True where it is due and not held. After a wait it runs when the wait is over."""
    if not plan_without_hours(person, lead) or hold_step(person, lead, step):
        return False
    lead.requested_next_action_at = None
    return True


def _go_to(person: Person, lead: Lead, cadence: Cadence, goto: str | None) -> bool:
    if goto is None:
        leave_step(person, lead, cadence, person.now)
    else:
        enter_step(lead, cadence.step(goto), person.now)
    return True
