"""Is a contact or webhook step carried out now? Its command is emitted, or the lead waits for it, or skips it."""

from typing import assert_never

from engine.contact.commands import backpressure, buyers, emission, list_lookups, questions, slots, veto_hooks
from engine.contact.consent import opt_in
from engine.contact.facts import ledger
from engine.contact.facts.person import Person
from engine.contact.facts.result import COMPLETED
from engine.contact.lifecycle.ending import begin_end
from engine.contact.lifecycle.step_position import skip_step
from engine.contact.lifecycle.stop import is_closed, is_opted_out_of, stop
from engine.contact.schedule.cadence import CONTACTS, COUNTED, Cadence, channel_of, duration
from engine.contact.timing.contact_hours import is_zone_unknown
from engine.contact.timing.earliest import misses_window
from engine.contact.timing.holding import hold_step
from engine.contact.timing.plan import hold, plan, plan_without_hours, schedule_recheck, source_of
from schemas.contact import Lead
from schemas.instant import EPOCH
from schemas.requests import SlotAnswered
from schemas.schedule import CallStep, EmailStep, SmsStep, Step, WebhookStep

ReachingStep = CallStep | SmsStep | EmailStep | WebhookStep

OPTED_OUT_OF = "opted_out_of_channel"

LARGE_BODY_LENGTH = 50_000
"""A longer e-mail is emitted by a decision about its lead alone: the decision of a call's outcome holds up to 640 KB of
tokens of call and lead, and must not exceed the size of a message because of the e-mail after it."""


def execute(  # noqa: PLR0911 - the reasons not to act, line by line
    person: Person, lead: Lead, cadence: Cadence, step: ReachingStep, grant: SlotAnswered | None
) -> bool:
    """Carry the step out if it is due and allowed; else plan, hold or skip it. Return whether to look at the lead again."""
    if _has_no_attempts_left(lead, cadence) and not lead.ending and cadence.is_counted_to_come(step.id):
        begin_end(person, lead, "exceeded_max_calls")
        return True
    skip_reason = _skip_reason(person, lead, cadence, step)
    if skip_reason == OPTED_OUT_OF and not lead.ending and _is_opted_out_of_all_contacts(person, lead, cadence):
        stop(person, lead, "opt_out")
        return False
    if skip_reason is not None:
        return _skip_when_due(person, lead, cadence, step, skip_reason)
    if not cadence.is_plain and misses_window(person, lead, cadence, step):
        _consume_requested_time(lead)
        return skip_step(person, lead, cadence, step, "window_missed")
    if not plan(person, lead, cadence, step) or hold_step(person, lead, step):
        return False
    if isinstance(step, SmsStep) and step.require_opt_in and opt_in.is_consent_missing(person, lead):
        if lead.ending:  # it does not expire any more, and would wait for ever
            return skip_step(person, lead, cadence, step, opt_in.CONSENT_MISSING)
        opt_in.wait_for_consent(person, lead)
        return False
    if _is_late(person, lead, step):
        return _handle_lateness(person, lead, cadence, step, grant)
    return _emit(person, lead, cadence, step, grant)


def _skip_when_due(person: Person, lead: Lead, cadence: Cadence, step: ReachingStep, reason: str) -> bool:
    """Skip a step when it is due, not before: until then a number may be added, or a channel open again.

    A lead that no contact reached yet fails if no later contact is possible either.
    """
    if lead.ending or isinstance(step, WebhookStep):
        return skip_step(person, lead, cadence, step, reason)
    ignores_hours = is_zone_unknown(lead, cadence, channel_of(step))
    if not (plan_without_hours(person, lead) if ignores_hours else plan(person, lead, cadence, step)) or hold_step(
        person, lead, step
    ):
        return False
    _consume_requested_time(lead)
    was_reached = lead.attempts > 0 or lead.emails_count > 0
    later = cadence.contacts_from(step.id)
    if was_reached or any(_skip_reason(person, lead, cadence, other) is None for other in later):
        return skip_step(person, lead, cadence, step, reason)
    person.draft.fact("step.failed", lead_id=lead.id, step_id=step.id, reason=reason)
    begin_end(person, lead, "failure")
    return True


def _consume_requested_time(lead: Lead) -> None:
    """Clear the time that was requested for a skipped step; the waits after it start there."""
    lead.base_at = max(lead.base_at or EPOCH, lead.requested_next_action_at or EPOCH)
    lead.requested_next_action_at = None


def _is_opted_out_of_all_contacts(person: Person, lead: Lead, cadence: Cadence) -> bool:
    """Return whether every contact that can still follow is on a channel that the person opted out of."""
    return all(is_opted_out_of(person.head, channel_of(step)) for step in cadence.contacts_from(lead.step))


def _skip_message(person: Person, lead: Lead, cadence: Cadence, step: SmsStep | EmailStep, reason: str) -> bool:
    """Skip a message that lacks a token or is too large, or fail the lead, by `missing_token`.

    A lead whose only contacts were too large fails in any case: `completed` would be false.
    """
    is_lost = reason == emission.TEXT_TOO_LARGE and _has_no_other_contact(lead, cadence, step)
    if (step.missing_token == emission.FAIL_LEAD or is_lost) and not lead.ending:
        person.draft.fact("step.failed", lead_id=lead.id, step_id=step.id, reason=reason)
        begin_end(person, lead, "failure")
        return True
    lead.requested_next_action_at = None
    lead.base_at = person.now
    return skip_step(person, lead, cadence, step, reason)


def _has_no_other_contact(lead: Lead, cadence: Cadence, step: Step) -> bool:
    """Return whether no contact was attempted for the lead yet, and none but this step can follow."""
    made = lead.outbound_calls_count + lead.sms_count + lead.emails_count
    return made == 0 and all(other.id == step.id for other in cadence.contacts_from(step.id))


def _has_no_attempts_left(lead: Lead, cadence: Cadence) -> bool:
    return ledger.is_at_limit(lead, cadence.schedule.max_contact_attempts)


def _skip_reason(person: Person, lead: Lead, cadence: Cadence, step: Step) -> str | None:
    """Return why the step must be skipped for this lead, or None."""
    if isinstance(step, WebhookStep):
        return None if emission.has_webhook(person, step) else "no_webhook"
    address = lead.email if isinstance(step, EmailStep) else lead.caller_id
    if not address:
        return "no_address"
    if is_closed(person, lead, channel_of(step)):
        return OPTED_OUT_OF if is_opted_out_of(person.head, channel_of(step)) else "channel_disabled"
    if not lead.ending:
        return None
    if lead.end_status == "expired" and not cadence.schedule.end_steps_may_contact:
        return "expired"  # an expired lead is not contacted once more
    return "attempts_used" if isinstance(step, COUNTED) and _has_no_attempts_left(lead, cadence) else None


def _is_late(person: Person, lead: Lead, step: Step) -> bool:
    if not isinstance(step, CONTACTS) or lead.planned_at is None:
        return False
    most = emission.MAX_LATENESS[channel_of(step)] if step.max_lateness is None else duration(step.max_lateness).elapsed
    return person.now - lead.planned_at > most


def _handle_lateness(person: Person, lead: Lead, cadence: Cadence, step: ReachingStep, grant: SlotAnswered | None) -> bool:
    on_late = None if isinstance(step, WebhookStep) else step.on_late
    match on_late or ("skip" if isinstance(step, SmsStep) else "run"):
        case "skip":
            lead.requested_next_action_at = None
            lead.base_at = person.now
            return skip_step(person, lead, cadence, step, "too_late")
        case "exit" if not lead.ending:
            begin_end(person, lead, COMPLETED)
            return True
        case _:
            return _emit(person, lead, cadence, step, grant)


def _emit(person: Person, lead: Lead, cadence: Cadence, step: ReachingStep, grant: SlotAnswered | None) -> bool:
    """Emit the command of the step; True where it was skipped, and the lead must be looked at again at once."""
    channel = channel_of(step)
    if not backpressure.has_place(person, lead, channel, grant):
        backpressure.wait_for_place(person, lead, channel)
        return False
    question = list_lookups.next_lookup(person, lead, step, channel) or veto_hooks.next_hook(person, lead, channel)
    if question is not None:
        questions.ask(person, lead, step.id, channel, question)
        return False
    match step:
        case CallStep():
            _call(person, lead, cadence, step, grant)
        case SmsStep() | EmailStep():
            try:
                message = emission.render_message(person, lead, step)
            except emission.RenderingError as error:
                return _skip_message(person, lead, cadence, step, error.reason)
            if isinstance(step, SmsStep):
                emission.send_sms(person, lead, cadence, step, message, source=source_of(lead))
            elif len(message.body) > LARGE_BODY_LENGTH and person.changes_others_than(lead):
                schedule_recheck(person, lead, 1)  # a decision has room for such a body and one lead
            else:
                emission.send_email(person, lead, cadence, step, message, source=source_of(lead))
        case WebhookStep():
            emission.post_webhook(person, lead, step, source=source_of(lead))
        case _:
            assert_never(step)
    return False


def _call(person: Person, lead: Lead, cadence: Cadence, step: CallStep, grant: SlotAnswered | None) -> None:
    choice = buyers.choice_for(person, lead, step)
    grant = slots.grant_for(lead, step, choice, grant)
    if grant is None and buyers.is_limited(person, lead, choice):
        slots.request_slot(person, lead, step.id, choice)
        return
    connection = buyers.connection(person, lead, choice, grant)
    if connection is None:
        hold(person, lead, "no_buyer_available")
        opens_at = buyers.next_opening(person, lead, choice)
        if opens_at is not None:  # nothing but the clock or a changed record, which wakes it, lets a buyer take the call
            lead.recheck_at = opens_at
        return
    emission.place_call(person, lead, cadence, step, connection, source=source_of(lead))
