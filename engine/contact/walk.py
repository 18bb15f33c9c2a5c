"""How far does a lead get now? From step to step until a command is on its way, a time must come, or it has ended."""

from typing import assert_never

from engine.contact import buyers, callbacks, consent, effects, ledger, orders, slots, triggers
from engine.contact.branching import branch_goto, has_happened, split_goto
from engine.contact.cadence import CONTACTS, COUNTED, Cadence, cadence_of, channel_of, duration
from engine.contact.earliest import CALLED, misses_window
from engine.contact.ending import begin_end, end
from engine.contact.filters import lookup_for
from engine.contact.hours import after, local_time
from engine.contact.person import RECHECK_AFTER, Person
from engine.contact.plan import (
    SCHEDULE_PAUSED,
    hold,
    look_again,
    paused,
    plan,
    plan_callback,
    stand,
)
from engine.contact.result import COMPLETED
from engine.contact.steps import enter
from engine.contact.stop import is_opted_out_of, stop, stop_reason
from schemas.contact import LIVE_STATUSES, Lead
from schemas.instant import Instant
from schemas.records import Offer, Schedule
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
"""Steps that take no time, in one decision: more is a loop (research/domain.md 3.1)."""

EVENT_AWAITED = "awaiting_event"
DISPOSITION_AWAITED = "awaiting_disposition"
OPTED_OUT_OF = "opted_out_of_channel"
TOKEN_MISSING = "token_missing"  # noqa: S105 - a word, opens nothing


def go_on(person: Person, lead: Lead) -> None:
    """Bring a lead as far as it gets now. Changes nothing about one that has ended or waits for an outcome or a slot."""
    lead.recheck_at = None
    lead.slot_waits = False
    person.keep(lead)
    for _ in range(STEPS_AT_ONCE_MAX):
        if not _moves_on(person, lead):
            return
    hold(person, lead, effects.LOOP_GUARD)


def basis(lead: Lead) -> tuple[object, ...]:
    """Return what the plan of a lead rests on, of what can be changed from outside."""
    asked = lead.lead_priority, lead.requested_next_action_at, lead.callback_at
    return (*asked, lead.zones, lead.caller_id, lead.email, lead.enrolment, lead.ending)


def plan_again(person: Person, lead: Lead, before: tuple[object, ...]) -> None:
    """Plan anew after a change; where the plan rests on something else now, an open slot request is taken back first."""
    if basis(lead) != before:
        slots.withdraw(person, lead)
    go_on(person, lead)


def leave_step(person: Person, lead: Lead, cadence: Cadence, base: Instant) -> None:
    """Go from the present step to the one that follows, or end the list that it was in."""
    assert lead.step is not None  # noqa: S101 - a step was stood before
    following = cadence.after(lead.step)
    if following is not None:
        enter(lead, following, base)
    elif lead.ending:
        end(person, lead, lead.end_status or COMPLETED)
    else:
        begin_end(person, lead, COMPLETED)


def cadence_for(person: Person, lead: Lead) -> Cadence:
    """Return the steps that a lead is pinned to; a lead of an offer alone has none."""
    schedule = person.rules.schedule(lead.schedule_id, lead.schedule_version)
    if schedule is not None:
        return cadence_of(schedule)
    offer = person.rules.body(Offer, "offer", lead.offer_id)
    return Cadence(Schedule(name="", lead_token="", time_zone=offer.time_zone if offer else "UTC"))


def _moves_on(person: Person, lead: Lead) -> bool:  # noqa: PLR0911 - the order of precedence, line by line
    """Take one step; True where the lead must be looked at again at once."""
    if lead.status not in LIVE_STATUSES or lead.flight is not None:
        return False
    reason = stop_reason(person.head, lead.offer_id)
    if reason is not None:
        stop(person, lead, reason)
        return False
    cadence = cadence_for(person, lead)
    if not lead.ending and lead.expires_at is not None and lead.expires_at <= person.now:
        triggers.expires(person, lead, cadence)
    if cadence.triggers and triggers.happens(person, lead, cadence, ("tokens_match",)):
        return True
    if lead.slot_id is not None:
        return False
    if lead.schedule_id is not None and person.rules.body(Schedule, "schedule", lead.schedule_id) is None:
        end(person, lead, "disabled", "schedule_deleted")
        return False
    if lead.step is None:
        return _begins(person, lead, cadence)
    if lead.disposition_due_at is not None:
        return _waits_for_disposition(person, lead, cadence)
    return _takes(person, lead, cadence, cadence.step(lead.step))


def _begins(person: Person, lead: Lead, cadence: Cadence) -> bool:
    """Stand before the first step of the steps or end steps; a promise outlives the steps (research/domain.md 3.6)."""
    if lead.callback_at is not None and (lead.ending or lead.schedule_id is None):
        return _waits_for_callback(person, lead, cadence)
    if lead.schedule_id is None and not lead.ending:
        return _is_captured(lead)
    if cadence.triggers and not lead.ending and triggers.enters(person, lead, cadence):
        return True
    first = cadence.first(ending=lead.ending)
    if first is not None:
        enter(lead, first, lead.base_at or person.now)
        # A trigger may see what the one of entering changed; where there is none, nothing is left to look at again.
        return bool(cadence.triggers) or _takes(person, lead, cadence, first)
    if lead.ending:
        end(person, lead, lead.end_status or COMPLETED)
    else:
        begin_end(person, lead, COMPLETED)
    return True


def _waits_for_disposition(person: Person, lead: Lead, cadence: Cadence) -> bool:
    """Stand where the call was until somebody says how it went; a promised call is kept meanwhile."""
    if lead.callback_at is not None:
        return _waits_for_callback(person, lead, cadence)
    before = lead.status_wait
    lead.status, lead.status_wait = "waiting", DISPOSITION_AWAITED
    lead.next_action_at, lead.reasons, lead.zone_deciding = None, (), None
    if before != DISPOSITION_AWAITED:
        person.draft.fact("lead.waiting", lead_id=lead.id, step_id=lead.step, reason=DISPOSITION_AWAITED)
    return False


def _is_captured(lead: Lead) -> bool:
    lead.status, lead.status_wait, lead.next_action_at = "captured", None, None
    return False


def _takes(person: Person, lead: Lead, cadence: Cadence, step: Step) -> bool:  # noqa: PLR0911 - one line per kind of step
    match step:
        case WaitStep():
            return _waits(person, lead, cadence, step)
        case _ if lead.callback_at is not None and _is_promised_sooner(person, lead, step):
            return _waits_for_callback(person, lead, cadence)
        case CallStep() | SmsStep() | EmailStep() | WebhookStep():
            return _acts(person, lead, cadence, step)
        case ExitStep():
            return _exits(person, lead, step)
        case WaitForStep():
            return _waits_for(person, lead, cadence, step)
        case BranchStep() | SplitStep():
            return _chooses(person, lead, cadence, step)
        case MoveStep() | RestartStep():
            return _begins_again(person, lead, cadence, step)
        case UpdateLeadStep() | TagStep() | CallbackStep() | OptOutStep() | BlockStep() | SuppressStep():
            return _has_effect(person, lead, cadence, step)
        case ActionGroupStep():  # its steps took its place when the schedule was published
            return _passes_over(person, lead, cadence, step, "not_published")
        case _:
            assert_never(step)


def _waits(person: Person, lead: Lead, cadence: Cadence, step: WaitStep) -> bool:
    """Move the base by the wait and go on to the next step: a wait takes no time of its own, what follows does.

    Only behind a last wait does the lead stand until it is over, because nothing follows.
    """
    if lead.step_attempts == 0:  # not begun: else the base has been moved already
        lead.step_attempts = 1
        lead.base_at = wait_end(lead, cadence, step, lead.base_at or person.now)
    if cadence.after(step.id) is None:
        if _is_promised_sooner(person, lead, step):
            return _waits_for_callback(person, lead, cadence)
        if not stand(person, lead):
            return False
    leave_step(person, lead, cadence, lead.base_at or person.now)
    return True


def wait_end(lead: Lead, cadence: Cadence, step: WaitStep, base: Instant) -> Instant:
    """Return when a wait that began at base is over."""
    if step.until is not None:
        return local_time(lead, cadence, step.until, base)
    wait = duration(step.duration or "0s")
    return after(base, wait, lead, cadence, step.mode)


def _exits(person: Person, lead: Lead, step: ExitStep) -> bool:
    if not stand(person, lead):
        return False
    if lead.ending:
        end(person, lead, lead.end_status or COMPLETED)
        return False
    begin_end(person, lead, step.result)
    return True


def _waits_for(person: Person, lead: Lead, cadence: Cadence, step: WaitForStep) -> bool:
    """Wait until something is true of the lead, or the time is up; every change of the lead comes by here."""
    if lead.step_attempts == 0:  # not begun: the wait before it comes first
        if not _is_due(person, lead, step):
            return False
        lead.step_attempts = 1
        lead.base_at = after(person.now, duration(step.timeout), lead, cadence)
        lead.planned_at = None
    if has_happened(step, lead, lookup_for(lead, cadence, person.now, person.head.ledger)):
        if step.event in lead.heard:  # this schedule heeds it: no pause for the same
            lead.heard, lead.pause = tuple(event for event in lead.heard if event != step.event), None
        return _goes_to(person, lead, cadence, step.on_match)
    if not stand(person, lead, EVENT_AWAITED):
        return False
    lead.requested_next_action_at = None
    return _goes_to(person, lead, cadence, step.on_timeout)


def _chooses(person: Person, lead: Lead, cadence: Cadence, step: BranchStep | SplitStep) -> bool:
    if not _is_due(person, lead, step):
        return False
    if isinstance(step, SplitStep):
        goto: str | None = split_goto(step, lead)
    else:
        goto = branch_goto(step, lookup_for(lead, cadence, person.now, person.head.ledger))
    person.draft.fact("step.chose", lead_id=lead.id, step_id=step.id, goto=goto)
    return _goes_to(person, lead, cadence, goto)


def _begins_again(person: Person, lead: Lead, cadence: Cadence, step: MoveStep | RestartStep) -> bool:
    """Begin this schedule again or another one; go on where that cannot be, wait where it was too often today."""
    if not _is_due(person, lead, step):
        return False
    reason = effects.reason_to_stay(person, lead, step)
    if reason is not None:
        lead.base_at = person.now
        return _passes_over(person, lead, cadence, step, reason)
    if effects.moves_too_often(person, lead):
        hold(person, lead, effects.LOOP_GUARD)
        return False
    effects.begin_again(person, lead, step)
    return True


def _has_effect(
    person: Person,
    lead: Lead,
    cadence: Cadence,
    step: UpdateLeadStep | TagStep | CallbackStep | OptOutStep | BlockStep | SuppressStep,
) -> bool:
    if not _is_due(person, lead, step):
        return False
    if isinstance(step, CallbackStep) and (not lead.caller_id or is_closed(person, lead, "call")):
        lead.base_at = person.now
        return _passes_over(person, lead, cadence, step, "not_callable")
    effects.apply(person, lead, cadence, step)
    if lead.status in LIVE_STATUSES:
        leave_step(person, lead, cadence, person.now)
    return True


def _is_due(person: Person, lead: Lead, step: Step) -> bool:
    """Tell whether a step that takes no time happens now: what stands behind a wait is decided when the wait is over."""
    if not stand(person, lead) or _is_held(person, lead, step):
        return False
    lead.requested_next_action_at = None
    return True


def _goes_to(person: Person, lead: Lead, cadence: Cadence, goto: str | None) -> bool:
    if goto is None:
        leave_step(person, lead, cadence, person.now)
    else:
        enter(lead, cadence.step(goto), person.now)
    return True


def _acts(  # noqa: PLR0911 - the reasons not to act, line by line
    person: Person, lead: Lead, cadence: Cadence, step: CallStep | SmsStep | EmailStep | WebhookStep
) -> bool:
    """Carry the step out where it may be, now; else say when, or why not, or pass over it."""
    if _is_spent(lead, cadence) and not lead.ending and cadence.is_counted_to_come(step.id):
        begin_end(person, lead, "exceeded_max_calls")
        return True
    passed_over = _reason_to_pass_over(person, lead, cadence, step)
    if passed_over == OPTED_OUT_OF and not lead.ending and _wants_only_what_is_opted_out_of(person, lead, cadence):
        stop(person, lead, "opt_out")
        return False
    if passed_over is not None:
        return _passes_over(person, lead, cadence, step, passed_over)
    if not cadence.is_plain and misses_window(person, lead, cadence, step):
        lead.base_at = max(lead.base_at or 0, lead.requested_next_action_at or 0)
        lead.requested_next_action_at = None
        return _passes_over(person, lead, cadence, step, "window_missed")
    if not plan(person, lead, cadence, step) or _is_held(person, lead, step):
        return False
    if isinstance(step, SmsStep) and step.require_opt_in and consent.is_missing(person, lead):
        if lead.ending:  # it has no expiry any more, and would wait for ever
            return _passes_over(person, lead, cadence, step, consent.CONSENT_MISSING)
        consent.wait(person, lead)
        return False
    if _is_late(person, lead, step):
        return _is_too_late(person, lead, cadence, step)
    if isinstance(step, SmsStep | EmailStep) and orders.lacks_token(person, lead, step):
        return _has_nothing_to_say(person, lead, cadence, step)
    _order(person, lead, cadence, step)
    return False


def _wants_only_what_is_opted_out_of(person: Person, lead: Lead, cadence: Cadence) -> bool:
    """Tell whether every contact that may still come is on a channel that the person opted out of."""
    return all(is_opted_out_of(person.head, channel_of(step)) for step in cadence.contacts_from(lead.step))


def _has_nothing_to_say(person: Person, lead: Lead, cadence: Cadence, step: SmsStep | EmailStep) -> bool:
    """Pass over a message of which a part is missing, or leave the schedule as failed: as its step says."""
    if step.missing_token == orders.FAILS and not lead.ending:
        person.draft.fact("step.failed", lead_id=lead.id, step_id=step.id, reason=TOKEN_MISSING)
        begin_end(person, lead, "failure")
        return True
    lead.requested_next_action_at = None
    lead.base_at = person.now
    return _passes_over(person, lead, cadence, step, TOKEN_MISSING)


def _is_spent(lead: Lead, cadence: Cadence) -> bool:
    return ledger.is_at_limit(lead, cadence.schedule.max_contact_attempts)


def _reason_to_pass_over(person: Person, lead: Lead, cadence: Cadence, step: Step) -> str | None:
    """Return why the step cannot be carried out for this lead at all, or None."""
    if isinstance(step, WebhookStep):
        return None if orders.has_webhook(person, step) else "no_webhook"
    address = lead.email if isinstance(step, EmailStep) else lead.caller_id
    if not address:
        return "no_address"
    if is_closed(person, lead, channel_of(step)):
        return OPTED_OUT_OF if is_opted_out_of(person.head, channel_of(step)) else "channel_disabled"
    if not lead.ending:
        return None
    if lead.end_status == "expired" and not cadence.schedule.end_steps_may_contact:
        return "expired"  # research/domain.md E11: who expired is not contacted once more
    return "attempts_used" if isinstance(step, COUNTED) and _is_spent(lead, cadence) else None


def is_closed(person: Person, lead: Lead, channel: str) -> bool:
    """Tell whether a channel is not to be used for this lead: an invalid number, an address that bounced, an opt-out."""
    head = person.head
    if not (head.disabled_until or head.opt_outs or lead.failed_channels):  # of almost everybody nothing is known
        return False
    until = head.disabled_until.get(channel)
    is_disabled = channel in lead.failed_channels or (until is not None and until > person.now)
    return is_disabled or is_opted_out_of(head, channel)


def _passes_over(person: Person, lead: Lead, cadence: Cadence, step: Step, reason: str) -> bool:
    person.draft.fact("step.skipped", lead_id=lead.id, step_id=step.id, reason=reason)
    leave_step(person, lead, cadence, lead.base_at or person.now)
    return True


def _is_held(person: Person, lead: Lead, step: Step) -> bool:
    """Hold a due lead back where it must not act now: a pause, unread requests, a call of the same person."""
    reason = paused(person, lead)
    if reason is not None:
        hold(person, lead, reason)
        return True
    if not isinstance(step, CONTACTS):
        return False
    if person.draft.behind:
        look_again(person, lead, RECHECK_AFTER)
        return True
    if _is_on_the_line(person, lead):
        return True
    return isinstance(step, CallStep) and _waits_for_sibling(person, lead)


def _is_on_the_line(person: Person, lead: Lead) -> bool:
    """Hold every contact while the person is calling us; whoever ends that call wakes the lead."""
    until = person.head.inbound_until
    if until is None or until <= person.now:
        return False
    hold(person, lead, CALLED)
    return True


def _waits_for_sibling(person: Person, lead: Lead) -> bool:
    """Hold the call while another lead of the same person is being called: one telephone, one call."""
    flights = (other.flight for other in person.leads() if other.id != lead.id)
    due_at = max((flight.due_at for flight in flights if flight is not None and flight.kind == "call"), default=None)
    if due_at is None:
        return False
    hold(person, lead, SIBLING_CALLED)
    # Whoever goes on with the other lead wakes this one; this is for the case that nobody does.
    lead.recheck_at = max(due_at, person.now) + RECHECK_AFTER
    return True


SIBLING_CALLED = "awaiting_outcome"


def _is_late(person: Person, lead: Lead, step: Step) -> bool:
    if not isinstance(step, CONTACTS) or lead.planned_at is None:
        return False
    most = orders.MAX_LATENESS[channel_of(step)] if step.max_lateness is None else duration(step.max_lateness).elapsed
    return person.now - lead.planned_at > most


def _is_too_late(person: Person, lead: Lead, cadence: Cadence, step: CallStep | SmsStep | EmailStep | WebhookStep) -> bool:
    on_late = None if isinstance(step, WebhookStep) else step.on_late
    match on_late or ("skip" if isinstance(step, SmsStep) else "run"):
        case "skip":
            lead.requested_next_action_at = None
            lead.base_at = person.now
            return _passes_over(person, lead, cadence, step, "too_late")
        case "exit" if not lead.ending:
            begin_end(person, lead, COMPLETED)
            return True
        case _:
            _order(person, lead, cadence, step)
            return False


def _order(person: Person, lead: Lead, cadence: Cadence, step: CallStep | SmsStep | EmailStep | WebhookStep) -> None:
    match step:
        case CallStep():
            _call(person, lead, cadence, step)
        case SmsStep():
            orders.send_sms(person, lead, cadence, step)
        case EmailStep():
            orders.send_email(person, lead, cadence, step)
        case WebhookStep():
            orders.post_webhook(person, lead, step)
        case _:
            assert_never(step)


def _call(person: Person, lead: Lead, cadence: Cadence, step: CallStep) -> None:
    grant = slots.grant_for(person, lead, step)
    if grant is None and buyers.is_limited(person, step.connect):
        slots.ask(person, lead, step)
        return
    connection = buyers.connection(person, lead, step.connect, grant)
    if connection is None:
        hold(person, lead, "no_buyer_available")
        return
    orders.place_call(person, lead, cadence, step, connection)


def _is_promised_sooner(person: Person, lead: Lead, step: Step) -> bool:
    """Tell whether a promised call goes before the step: before every contact, and before what is due only later."""
    if lead.callback_at is None or lead.ending:
        return False
    base = lead.base_at if lead.requested_next_action_at is None else lead.requested_next_action_at
    return isinstance(step, CONTACTS) or (base or 0) > max(lead.callback_at, person.now)


def _waits_for_callback(person: Person, lead: Lead, cadence: Cadence) -> bool:
    """Hold the steps that would contact a person to whom a call was promised, until that call; place it when it is due."""
    if not lead.caller_id or is_closed(person, lead, "call") or _has_no_callback_left(lead, cadence):
        lead.callback_at = None
        person.draft.fact("callback.cancelled", lead_id=lead.id, reason="not_callable")
        return True
    if not plan_callback(person, lead, cadence):
        return False
    if person.draft.behind:
        look_again(person, lead, RECHECK_AFTER)
    elif not any(is_held(person, lead) for is_held in (_is_paused_for_callbacks, _is_on_the_line, _waits_for_sibling)):
        callbacks.place(person, lead, cadence)
    return False


def _is_paused_for_callbacks(person: Person, lead: Lead) -> bool:
    """A promise outlives the pause of a schedule, not that of the offer or the company."""
    reason = paused(person, lead)
    if reason is None or reason == SCHEDULE_PAUSED:
        return False
    hold(person, lead, reason)
    return True


def _has_no_callback_left(lead: Lead, cadence: Cadence) -> bool:
    """A callback may go one beyond the limit, never two (research/domain.md 3.7)."""
    most = lead.attempts_max if lead.attempts_max is not None else cadence.schedule.max_contact_attempts
    return most is not None and lead.attempts > most
