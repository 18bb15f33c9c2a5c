"""What does a lead do after the disposition of its call, or without one? It waits, retries, ends, or follows its rules."""

from collections.abc import Sequence
from typing import Any

from engine.contact.commands import slots
from engine.contact.commands.emission import call_webhook, has_webhook
from engine.contact.facts.person import Person
from engine.contact.facts.result import COMPLETED
from engine.contact.lifecycle import callbacks, effects, triggers
from engine.contact.lifecycle.ending import begin_end
from engine.contact.lifecycle.promises import promiser_of
from engine.contact.lifecycle.retrying import close_channel, retry_or_leave
from engine.contact.lifecycle.step_position import enter_step, leave_step
from engine.contact.lifecycle.stop import block, opt_out, suppress
from engine.contact.schedule.cadence import cadence_for, duration
from engine.identity import command_id
from engine.partition.draft import RefusedError
from schemas.contact import LIVE_STATUSES, Call, Flight, Lead, LeadStatus
from schemas.instant import SECOND, Instant
from schemas.outcomes import CALL_OUTCOMES, Outcome
from schemas.records import ActionGroup, CallDisposition
from schemas.schedule import (
    BlockStep,
    CallbackStep,
    CallStep,
    MoveStep,
    OptOutStep,
    Step,
    SuppressStep,
    TagStep,
    UpdateLeadStep,
    WebhookStep,
)

DISPOSITION_EVENT = "disposition"
"""The event of a `wait_for` step, and the type of a trigger."""

DISPOSITION_RETRIES = "(disposition)"
"""Counts the retries by disposition; in brackets, so that it is no outcome's name."""

WEBHOOK_EVENT = "call.dispositioned"
"""The event type in a webhook of a disposition's action group."""

ANSWERED_OUTCOMES = frozenset({"connected_human", "connected_buyer", "caller_hung_up"})
"""Outcomes after which a disposition is awaited: a person answered, so an agent can judge the call."""

WRONG_NUMBER = Outcome(disables_channel=True)


def code_of(disposition: CallDisposition) -> str:
    """Return the name of a disposition in filters: its code, else its name."""
    return disposition.code or disposition.name


def disposition_of(person: Person, call: Call | None) -> CallDisposition | None:
    """Return the disposition of a call."""
    found = None if call is None else call.call_disposition_id
    return person.rules.body(CallDisposition, "call_disposition", found)


def await_disposition(person: Person, lead: Lead, flight: Flight, outcome: str, occurred_at: Instant) -> bool:
    """Let the lead await a disposition after this outcome, or follow the one that the call has already.

    False where the outcome itself moves the lead on.
    """
    step = cadence_for(person, lead).step(lead.step or "")
    if not isinstance(step, CallStep):
        return False
    call = person.call(flight.call_id)
    disposition = disposition_of(person, call)
    if step.await_disposition is None:
        return call is not None and disposition is not None and retry_step(person, lead, call, disposition)
    is_known = call is not None and disposition is not None and is_awaiting(person, lead, call)
    if not is_known and outcome not in ANSWERED_OUTCOMES:
        return False
    lead.disposition_due_at = max(person.now, occurred_at + duration(step.await_disposition).elapsed)
    if call is not None and disposition is not None and is_known:
        lead_on(person, lead, call, disposition)
    return True


def check_callback_time(lead: Lead | None, disposition: CallDisposition, callback_at: Instant | None) -> None:
    """Refuse a disposition that needs a callback time without one. Raises `RefusedError`."""
    has_time = callback_at is not None or disposition.retry_delay_seconds is not None
    if disposition.requires_callback_time and not has_time and (lead is None or lead.callback_at is None):
        problem = "needs a time to call back: send schedule_callback_at with it"
        raise RefusedError("validation_failed", f"call_disposition_id {problem}", {"call_disposition_id": [problem]})


def stops_contact(person: Person, disposition: CallDisposition | None) -> bool:
    """Return whether a disposition, or a step of its action group, ends contact with the person or closes a channel."""
    if disposition is None:
        return False
    if disposition.sets_opt_out or disposition.sets_suppression or disposition.category in {"dnc", "wrong_number"}:
        return True
    return any(isinstance(step, OptOutStep | BlockStep | SuppressStep) for step in _group_steps(person, disposition))


def refuses(disposition: CallDisposition) -> bool:
    """Return whether a disposition says that the person refused the offer: a law may ask for a pause from then on."""
    return disposition.is_refusal or disposition.category == "final_negative"


def apply_stops(person: Person, lead: Lead | None, disposition: CallDisposition) -> None:
    """Apply the opt-out, suppression and closed channels of a disposition, whatever the lead does."""
    source = f"disposition {code_of(disposition)}"
    if disposition.sets_opt_out:
        opt_out(person, source, offer_id=None if lead is None else lead.offer_id)
    if disposition.sets_suppression or disposition.category == "dnc":
        suppress(person, source)
    if disposition.category == "wrong_number":
        for channel in ("call", "sms"):
            close_channel(person, None if lead is None else lead.id, channel, "wrong_number")
    if refuses(disposition):
        person.head.refused_at = person.now
        person.save_head()


def run_action_group(person: Person, lead: Lead, call: Call, disposition: CallDisposition) -> None:
    """Run the steps of the disposition's action group in sequence, at once; skip those that would contact or wait.

    An ended lead does not start again: only its tokens and tags change, and webhooks are emitted.
    """
    for step in _group_steps(person, disposition):
        is_live = lead.status in LIVE_STATUSES and lead.schedule_id is not None
        match step:
            case UpdateLeadStep() | TagStep():
                effects.apply(person, lead, cadence_for(person, lead), step)
            case WebhookStep():
                _post_webhook(person, call, step)
            case CallbackStep() | OptOutStep() | BlockStep() | SuppressStep() if is_live:
                effects.apply(person, lead, cadence_for(person, lead), step)
            case MoveStep() if is_live and effects.reason_to_stay(person, lead, step) is None:
                if not effects.moves_too_often(person, lead):
                    effects.start_new_run(person, lead, step)
            case _:
                person.draft.fact("step.skipped", lead_id=lead.id, step_id=step.id, reason="not_at_once")


def apply_group_stops(person: Person, lead: Lead, disposition: CallDisposition) -> None:
    """Run only the steps of the disposition's action group that stop contact with the person."""
    is_live = lead.status in LIVE_STATUSES and lead.schedule_id is not None
    for step in _group_steps(person, disposition) if is_live else ():
        match step:
            case OptOutStep():
                opt_out(person, f"step {step.id}", offer_id=lead.offer_id, channel=step.channel, scope=step.scope)
            case BlockStep():
                block(person, f"step {step.id}")
            case SuppressStep():
                suppress(person, f"step {step.id}")
            case _:
                pass


def _group_steps(person: Person, disposition: CallDisposition) -> Sequence[Step]:
    """Return the steps of the disposition's action group."""
    group = person.rules.body(ActionGroup, "action_group", disposition.action_group_id)
    return () if group is None else group.steps


def _post_webhook(person: Person, call: Call, step: WebhookStep) -> None:
    if not has_webhook(person, step):
        person.draft.fact("step.skipped", lead_id=call.lead_id, call_id=call.id, step_id=step.id, reason="no_webhook")
        return
    identity = command_id(call.uuid, step.outgoing_webhook_id, call.version + 1, f"{DISPOSITION_EVENT}/{step.id}", 1)
    person.draft.emit(call_webhook(person, call, step.outgoing_webhook_id, identity, step_id=step.id, event=WEBHOOK_EVENT))
    about: dict[str, Any] = {"command_id": identity, "kind": "webhook", "step_id": step.id}
    about |= {"outgoing_webhook_id": step.outgoing_webhook_id}
    person.draft.fact("command.emitted", lead_id=call.lead_id, call_id=call.id, **about)


def promise_callback(
    person: Person, lead: Lead, call: Call, disposition: CallDisposition, callback_at: Instant | None
) -> None:
    """Schedule the callback: at the agreed time, else after the disposition's delay, unless the lead has one."""
    at = callback_at
    if at is None and disposition.category == "callback" and lead.callback_at is None:
        delay = disposition.retry_delay_seconds
        at = None if delay is None else person.now + delay * SECOND
    if at is None or not lead.caller_id or at == lead.callback_promised_at:
        return
    callbacks.schedule_callback(person, lead, at, promiser=promiser_of(call.agent_id))
    person.save(lead)


def follow_disposition(person: Person, lead: Lead, call: Call, disposition: CallDisposition) -> None:
    """Move a live lead by the disposition; the caller advances it. An open command is waited for."""
    person.save(lead)
    lead.unknown = None  # somebody has said what the call was
    if triggers.fire_on_exit(person, lead, cadence_for(person, lead), (DISPOSITION_EVENT,)):
        return
    if disposition.is_final:
        begin_end(person, lead, _result(disposition))
    elif lead.flight is None and is_awaiting(person, lead, call):
        lead_on(person, lead, call, disposition)
    elif lead.flight is None:
        retry_step(person, lead, call, disposition)


def retry_step(person: Person, lead: Lead, call: Call, disposition: CallDisposition) -> bool:
    """Retry the step of the call for a lead that awaited no disposition, if the disposition has a retry delay.

    Only if the lead has done nothing since the call, and as often in a run as the disposition allows; repeated for one call
    it counts once.
    """
    step_id = call.schedule_action_id
    asks = disposition.retry_delay_seconds is not None and disposition.category not in {"callback", "wrong_number"}
    if step_id is None or not asks or not _is_last_thing_done(lead, call) or not cadence_for(person, lead).has(step_id):
        return False
    tried = lead.judged.get(step_id, ())
    if call.id not in tried and len(tried) >= _retry_limit(disposition):
        return False
    slots.withdraw(person, lead)
    lead.judged = {**lead.judged, step_id: tuple(dict.fromkeys((*tried, call.id)))}
    if lead.step != step_id:
        enter_step(lead, cadence_for(person, lead).step(step_id), person.now)
    _plan_from(person, lead, disposition, len(lead.judged[step_id]))
    return True


def _retry_limit(disposition: CallDisposition) -> int:
    return 1 if disposition.retry_max is None else disposition.retry_max


def _plan_from(person: Person, lead: Lead, disposition: CallDisposition, times: int) -> None:
    lead.status, lead.status_wait = "queue", None
    lead.base_at = person.now + (disposition.retry_delay_seconds or 0) * SECOND
    lead.planned_at = None
    person.draft.fact("step.retried", lead_id=lead.id, step_id=lead.step, disposition=code_of(disposition), times=times)
    person.save(lead)


def lead_on(person: Person, lead: Lead, call: Call, disposition: CallDisposition) -> None:
    """Let the lead retry the step of the call, or go on to the next one."""
    lead.status, lead.status_wait = "queue", None
    if disposition.category == "wrong_number" and _is_at_step_of(lead, call):
        _end_wait(lead)
        retry_or_leave(person, lead, "wrong_number", WRONG_NUMBER, person.now)
    elif disposition.retry_delay_seconds is not None and disposition.category != "callback":
        _try_again(person, lead, call, disposition)
    elif _is_at_step_of(lead, call):
        _leave(person, lead, disposition)


def time_out(person: Person, lead: Lead) -> None:
    """No disposition came in time: the outcome itself moves the lead on; the caller advances it."""
    person.draft.fact("disposition.timed_out", lead_id=lead.id, call_id=lead.attempted_call_id)
    _end_wait(lead)
    lead.status, lead.status_wait = "queue", None
    _follow_outcome(person, lead)


def _follow_outcome(person: Person, lead: Lead) -> None:
    outcome = lead.last_outcome or "unknown"
    retry_or_leave(person, lead, outcome, CALL_OUTCOMES.get(outcome, CALL_OUTCOMES["unknown"]), person.now)


def _end_wait(lead: Lead) -> None:
    lead.disposition_due_at = None


def _result(disposition: CallDisposition) -> LeadStatus:
    return "success" if disposition.category == "final_positive" else COMPLETED


def is_awaiting(person: Person, lead: Lead, call: Call) -> bool:
    """Return whether the lead has done nothing since this call of a step that awaits dispositions, in this run."""
    if not _is_last_thing_done(lead, call):
        return False
    step = next((step for step in cadence_for(person, lead).steps if step.id == call.schedule_action_id), None)
    return isinstance(step, CallStep) and step.await_disposition is not None


def _is_last_thing_done(lead: Lead, call: Call) -> bool:
    """Return whether the lead has done nothing since this call of a step, in this run."""
    is_last = lead.attempted_call_id == call.id and lead.last_action_at == call.created_at and lead.attempts > 0
    return is_last and not lead.ending and call.schedule_id == lead.schedule_id and call.schedule_action_id is not None


def _is_at_step_of(lead: Lead, call: Call) -> bool:
    """Return whether the lead is still at the step of the call: it awaits the disposition or a retry."""
    return lead.step == call.schedule_action_id


def _try_again(person: Person, lead: Lead, call: Call, disposition: CallDisposition) -> None:
    """Retry the step of the call as often as the disposition allows; repeated for one call, it counts once."""
    cadence = cadence_for(person, lead)
    is_first = lead.disposition_due_at is not None
    if not _is_at_step_of(lead, call):  # the lead had gone on: a later disposition replaces the earlier one
        enter_step(lead, cadence.step(call.schedule_action_id or ""), person.now)
    made = lead.retries.get(DISPOSITION_RETRIES, 0)
    if is_first and made >= _retry_limit(disposition):
        _end_wait(lead)
        leave_step(person, lead, cadence, person.now)
        return
    lead.retries[DISPOSITION_RETRIES] = made + 1 if is_first else max(1, made)
    _end_wait(lead)
    _plan_from(person, lead, disposition, lead.retries[DISPOSITION_RETRIES])


def _leave(person: Person, lead: Lead, disposition: CallDisposition) -> None:
    """Go on by the outcome if the disposition says that no one was reached, else to the next step."""
    is_waiting = lead.disposition_due_at is not None
    _end_wait(lead)
    if disposition.category == "no_contact" and is_waiting:
        _follow_outcome(person, lead)
    else:
        leave_step(person, lead, cadence_for(person, lead), person.now)
