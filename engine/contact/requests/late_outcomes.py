"""What does a known outcome change that comes after `unknown`? The lead goes on as if it had come first.

So does a text that is known to be delivered after a status said that it was not: carriers report in any sequence. What the
first outcome planned is taken back: a retry that waits, a slot or the request for one, a command that no provider has yet,
a call that rings. What was sent or answered stays. Of an attempt that is not the newest, counts and records change alone.
A lead that has ended is never revived; its status follows the counts.
"""

from typing import Any

import msgspec

from engine.contact.commands import slots
from engine.contact.commands.hanging_up import hang_up_unanswered
from engine.contact.facts import ledger
from engine.contact.facts.person import Person
from engine.contact.facts.result import COMPLETED, earned
from engine.contact.lifecycle import callbacks, promises, stop, triggers
from engine.contact.lifecycle.retrying import retry_after
from engine.contact.lifecycle.step_position import enter_step
from engine.contact.lifecycle.walk import advance
from engine.contact.requests.dispositions import ANSWERED_OUTCOMES
from engine.contact.requests.settling import (
    NOT_ATTEMPTED,
    advance_after,
    decrement_counters,
    slot_use,
    trigger_types,
)
from engine.contact.schedule.cadence import CONTACTS, Cadence, cadence_for
from schemas.contact import LIVE_STATUSES, Flight, Lead, UnknownAttempt
from schemas.instant import Instant
from schemas.outcomes import Outcome, standing
from schemas.requests import OutcomeRecorded
from schemas.schedule import CallStep, TagStep, UpdateLeadStep, WaitStep, WebhookStep

UNKNOWN = "unknown"
UNDELIVERED = "undelivered"

UNHEARD_MAX = 8
"""Newest commands of a lead whose outcome is unknown that are remembered: of older ones, counts are not corrected."""

SUPERSEDED = "outcome_known"
"""Why a command is fenced that `unknown` had planned."""

MADE_STATUSES = frozenset({COMPLETED, "completed_attempted", "completed_connected"})
"""Statuses of an ended lead that say how far it got."""

STRAIGHT = (WaitStep, WebhookStep, TagStep, UpdateLeadStep, *CONTACTS)
"""Steps that every lead passes in the same way, whatever the outcome before them."""

TAKEN_BACK = "canceled"
"""The outcome of a call that was ended while it rang."""


def is_uncertain(kind: str, outcome: str) -> bool:
    """Return whether a later outcome of the command may change what the lead does."""
    return outcome == UNKNOWN or (kind == "sms" and outcome == UNDELIVERED)


def remember(lead: Lead, flight: Flight, outcome: str) -> None:
    """Remember a command whose outcome is uncertain."""
    if outcome != UNKNOWN:
        flight = msgspec.structs.replace(flight, outcome=outcome)
    lead.unheard = (*lead.unheard, flight)[-UNHEARD_MAX:]


def attempt_of_step(lead: Lead, flight: Flight, outcome: str) -> UnknownAttempt | None:
    """Return where a lead stands that settles a contact of its step by an outcome; None for what is none."""
    is_own_step = flight.enrolment == lead.enrolment and flight.step_id == lead.step
    if not is_own_step or flight.callback or flight.kind == "webhook":
        return None
    if outcome != UNKNOWN:
        flight = msgspec.structs.replace(flight, outcome=outcome)
    return UnknownAttempt(flight=flight, step_entered=lead.step_entered, retries=dict(lead.retries), ending=lead.ending)


def take(person: Person, lead: Lead, request: OutcomeRecorded, row: Outcome) -> None:
    """Take an outcome that the lead awaits no more: one of a command whose outcome was uncertain is known now."""
    flight = _forget(lead, request)
    if flight is not None:
        person.save(lead)
        _correct_counts(person, lead, flight, request, row)
        promises.judge_call(person, lead, flight, request.outcome)
    if lead.status not in LIVE_STATUSES:
        _correct_status(person, lead)
    elif flight is not None:
        _correct_way(person, lead, flight, request, row)
    if flight is not None:
        promises.settle(person, lead)


def counted_outcome(lead: Lead, command_id: str) -> str | None:
    """Return the uncertain outcome that counts for a command, None where it has none."""
    return next((one.outcome or UNKNOWN for one in lead.unheard if one.command_id == command_id), None)


def _forget(lead: Lead, request: OutcomeRecorded) -> Flight | None:
    """Return the command whose uncertain outcome is replaced, for the last time; None where none is."""
    before = counted_outcome(lead, request.command_id)
    if before is None or standing(request.kind, before, request.outcome) != "replaces":
        return None
    flight = next((one for one in lead.unheard if one.command_id == request.command_id), None)
    lead.unheard = tuple(one for one in lead.unheard if one is not flight)
    return flight


def _correct_way(person: Person, lead: Lead, flight: Flight, request: OutcomeRecorded, row: Outcome) -> None:
    """Let a live lead go on as if the outcome had come first, where that was its newest attempt."""
    attempt, occurred_at = lead.unknown, max(flight.emitted_at, min(request.occurred_at, person.now))
    if flight.callback:
        _retry_callback(person, lead, flight, request.outcome, row, occurred_at)
    elif attempt is not None and attempt.flight.command_id == flight.command_id:
        _take_back(person, lead, msgspec.structs.replace(attempt, outcome=request.outcome, occurred_at=occurred_at), row)


def resume(person: Person, lead: Lead, row: Outcome, ended: str, ended_row: Outcome) -> bool:
    """Go on by the known outcome that came while a later command was open, once that has `ended`; False where it decides.

    It does not where it was carried out, but for one reason: the attempt before had reached the person, and it has not.
    """
    attempt = lead.unknown
    if attempt is None or attempt.outcome is None:
        return False
    is_taken_back = ended in NOT_ATTEMPTED or ended == TAKEN_BACK
    if not is_taken_back and (ended_row.good or not row.good):
        return False
    return _go_on(person, lead, attempt, row)


def _correct_counts(person: Person, lead: Lead, flight: Flight, request: OutcomeRecorded, row: Outcome) -> None:
    """Correct the attempts and counters of the lead, and what its slot has used."""
    if not row.counts_attempt:
        ledger.give_back(lead, flight)
    if request.outcome in NOT_ATTEMPTED:
        decrement_counters(lead, flight)
    if flight.slot_id is not None:
        use = slot_use(request.outcome, has_agent=flight.agent_id is not None)
        slots.correct(person, lead.id, flight.slot_id, use, buyer_id=request.buyer_id)


def _correct_status(person: Person, lead: Lead) -> None:
    """Correct the status of an ended lead that says how far it got."""
    if lead.status not in MADE_STATUSES:
        return
    before, lead.status = lead.status, earned(lead, COMPLETED)
    if lead.status != before:
        person.save(lead)
        person.draft.fact("lead.status_corrected", lead_id=lead.id, status=lead.status, was=before)


def _retry_callback(  # noqa: PLR0917 - what is known now of which call
    person: Person, lead: Lead, flight: Flight, outcome: str, row: Outcome, occurred_at: Instant
) -> None:
    """Promise the callback again where it is known now that it reached nobody."""
    is_present = flight.enrolment == lead.enrolment and not lead.ending
    if is_present and callbacks.retry_callback(person, lead, flight, outcome, row, occurred_at):
        slots.withdraw(person, lead)
        advance(person, lead)


def _take_back(person: Person, lead: Lead, attempt: UnknownAttempt, row: Outcome) -> None:
    """Take back what `unknown` planned, now or once the command that is open has ended."""
    if lead.flight is None:
        _go_on(person, lead, attempt, row)
    elif _goes_another_way(person, lead, attempt, row):
        lead.unknown = attempt
        _withdraw_command(person, lead, lead.flight)


def _go_on(person: Person, lead: Lead, attempt: UnknownAttempt, row: Outcome) -> bool:
    """Let the lead go on as if the outcome had come first; False where that changes nothing."""
    lead.unknown = None
    if not _goes_another_way(person, lead, attempt, row):
        return False
    flight, outcome, cadence = attempt.flight, attempt.outcome or UNKNOWN, cadence_for(person, lead)
    about: dict[str, Any] = {"command_id": flight.command_id, "step_id": flight.step_id, "outcome": outcome}
    person.draft.fact("plan.taken_back", lead_id=lead.id, **about)
    slots.withdraw(person, lead)
    if _has_trigger_led(attempt):
        lead.status, lead.status_wait = "queue", None
        if triggers.fire_on_exit(person, lead, cadence, _further_triggers(attempt)):
            advance(person, lead)
        return True
    if not _is_still_there(lead, attempt):
        enter_step(lead, cadence.step(flight.step_id), person.now)
    lead.retries = dict(attempt.retries)
    lead.planned_at = lead.held_at = lead.disposition_due_at = None
    advance_after(person, lead, flight, outcome=outcome, row=row, occurred_at=attempt.occurred_at or person.now)
    return True


def _goes_another_way(person: Person, lead: Lead, attempt: UnknownAttempt, row: Outcome) -> bool:
    """Return whether the lead would stand elsewhere, or wait for something else, had the known outcome come first."""
    cadence, flight = cadence_for(person, lead), attempt.flight
    is_same_run = lead.enrolment == flight.enrolment and lead.ending == attempt.ending and cadence.has(flight.step_id)
    if not is_same_run or lead.status not in LIVE_STATUSES:
        return False
    if _has_trigger_led(attempt):
        return bool(_further_triggers(attempt))
    if _is_still_there(lead, attempt) or row.disables_channel or attempt.outcome in NOT_ATTEMPTED:
        return True
    step, outcome = cadence.step(flight.step_id), attempt.outcome or UNKNOWN
    awaits = isinstance(step, CallStep) and step.await_disposition is not None and outcome in ANSWERED_OUTCOMES
    return (
        awaits
        or bool(_further_triggers(attempt))
        or retry_after(step, outcome, row, attempt.retries.get(outcome, 0)) is not None
        or not _is_straight(cadence, flight.step_id, lead.step)
    )


def _has_trigger_led(attempt: UnknownAttempt) -> bool:
    """Return whether a trigger led the lead on, rightly: the attempt was made."""
    return attempt.has_fired and attempt.outcome not in NOT_ATTEMPTED


def _further_triggers(attempt: UnknownAttempt) -> tuple[str, ...]:
    """Return the trigger types that match the known outcome and did not match the uncertain one."""
    seen = trigger_types(attempt.flight, attempt.flight.outcome or UNKNOWN)
    return tuple(name for name in trigger_types(attempt.flight, attempt.outcome or UNKNOWN) if name not in seen)


def _is_still_there(lead: Lead, attempt: UnknownAttempt) -> bool:
    """Return whether the lead waits to retry the step of the attempt."""
    return lead.step == attempt.flight.step_id and lead.step_entered == attempt.step_entered


def _is_straight(cadence: Cadence, step_id: str, to: str | None) -> bool:
    """Return whether every lead comes from one step to the other in the same way, whatever the outcome was."""
    following = cadence.after(step_id)
    while following is not None and following.id != to:
        if not isinstance(following, STRAIGHT):
            return False
        following = cadence.after(following.id)
    return following is not None


def _withdraw_command(person: Person, lead: Lead, flight: Flight) -> None:
    """Fence a command that `unknown` has planned, and end its call if it is not answered: what it is then, is reported.

    A webhook or a question reaches nobody, and a callback or a call by hand was not planned by that: they are waited for.
    """
    if flight.kind == "webhook" or flight.callback or flight.asks is not None:
        return
    if flight.reached_by is not None:
        stop.recall(person, lead, SUPERSEDED)
        return
    stop.fence_command(person, SUPERSEDED, flight)
    call = person.call(flight.call_id)
    if call is not None:
        hang_up_unanswered(person, call)
