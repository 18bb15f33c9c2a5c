"""What does the outcome of a command do? It updates the contact, the call and the lead; then a waiting lead advances."""

from typing import Any

import msgspec

from engine.contact.commands import slots
from engine.contact.facts import ledger
from engine.contact.facts.call_record import copy_handling, mark_repeat_caller, put_on_hold, take_off_hold, tier_of
from engine.contact.facts.clock_skew import skew_mark
from engine.contact.facts.ledger import counts_legally, row_of
from engine.contact.facts.person import Person, bounded_batch
from engine.contact.lifecycle import callbacks, triggers, vetoes
from engine.contact.lifecycle.moving import forward
from engine.contact.lifecycle.retrying import close_channel, retry_or_leave
from engine.contact.lifecycle.stop import opt_out
from engine.contact.lifecycle.walk import advance
from engine.contact.requests import dispositions, inbound_routing
from engine.contact.requests.contact_relay import TEMPORARY, relay_outcome
from engine.contact.schedule.cadence import cadence_for
from engine.contact.timing.holding import SIBLING_CALLED
from engine.law.caps import FREQUENCY_CAP_CODE
from engine.partition.draft import RefusedError
from schemas.contact import LIVE_STATUSES, Call, Flight, Lead, Relay
from schemas.instant import EPOCH, HOUR, SECOND, Instant
from schemas.outcomes import EXPIRED, GATE_OUTCOMES, NOT_REACHED, OUTCOMES, TIMED_OUT, Outcome
from schemas.requests import CallProgressed, OutcomeRecorded, ReachAnswered
from schemas.state import relay_key

GATE_BACKOFF = 30 * SECOND
GATE_BACKOFF_MAX = HOUR
GATE_DROPS_MAX = 20
"""A command that a gate dropped is planned again with exponential backoff; after this many drops (some 14 hours) the lead
leaves the step: a gate that drops everything must neither spin a lead nor hold it for ever."""

ACCEPTED = "accepted"
"""The outcome of a question that was answered."""

DROPPED = "(dropped)"
"""Counts the drops of a step, beside its retries; in brackets, so that it is no outcome's name."""

LATENESS_RESET = "(late)"
"""Marks a step whose lateness was reset because our own delay expired its command; at most once a step."""

TIMED_OUT_MAX = 8
"""Newest timed-out commands of a lead that are remembered: one that a gateway drops later is not counted."""

NOT_ATTEMPTED = GATE_OUTCOMES | {"not_placed"}

REFUSED = Outcome(counts_attempt=False, counts_legal=False, disables_channel=True)
"""The effects of a refusal by the contact of another address."""

CALL_STATES = {"initiated": 0, "ringing": 1, "established": 2, "on-hold": 2, "resumed": 2}
"""State of a call -> rank; a call does not go back."""


def record(person: Person, request: OutcomeRecorded) -> None:
    """Record an outcome for the number, the call and the lead. Raises `RefusedError` for an unknown outcome."""
    row = row_of(request.kind, request.outcome)
    if row is None:
        known = ", ".join([*OUTCOMES[request.kind], *sorted(GATE_OUTCOMES)])
        problem = f"is not an outcome of a {request.kind}; those are {known}"
        raise RefusedError("validation_failed", f"outcome {problem}", {"outcome": [problem]})
    _update_contact(person, request, row)
    if relay_outcome(person, request):
        return
    lead = person.lead(request.lead_id)
    replaced = _update_call(person, lead, request, row)
    if lead is None:
        sent_on = msgspec.structs.replace(request, reached=request.reached or person.key)
        is_elsewhere, cost = forward(person, sent_on, request.lead_id), _cost_of_deleted(person, request, request.call_id)
        if cost or (not is_elsewhere and person.call(request.call_id) is not None):
            about: dict[str, Any] = {"command_id": request.command_id, "kind": request.kind, "outcome": request.outcome}
            about |= cost
            person.draft.fact("outcome.recorded", lead_id=None, call_id=request.call_id, **about)
        return
    flight = lead.flight
    if flight is not None and flight.asks is not None and flight.command_id == request.command_id:
        allows = request.allows if request.outcome == ACCEPTED else None
        vetoes.take_answer(person, lead, flight, allows=allows, detail=request.detail)
        return
    _update_lead(person, lead, request, row)
    if replaced not in {None, "unknown", request.outcome}:
        _replan(person, lead, request, row, replaced or "")


def progress(person: Person, request: CallProgressed) -> None:
    """Record the state of a call; a later state is never reverted."""
    if request.state == "initiated":
        ledger.move_to_placement(person, request.command_id, request.occurred_at)
    if relay_outcome(person, request):
        return
    lead = person.lead(request.lead_id)
    call = _find_call(person, lead, request.command_id, request.call_id)
    if call is None and lead is None:
        forward(person, request, request.lead_id)
        return
    if call is None:
        return
    if request.buyer_id is not None:
        _connect_one(person, lead, call, request, min(request.occurred_at, person.now))
    else:
        _progress(person, call, request, min(request.occurred_at, person.now))


def _connect_one(person: Person, lead: Lead | None, call: Call, request: CallProgressed, at: Instant) -> None:
    """Record which of several buyers answered, once; release the slots of the others."""
    flight = None if lead is None else lead.flight
    is_awaited = flight is not None and flight.command_id == request.command_id and request.buyer_id in flight.buyer_ids
    if lead is None or flight is None or not is_awaited or request.buyer_id is None or call.ended_at is not None:
        return
    lead.flight = msgspec.structs.replace(flight, buyer_ids=())
    person.save(lead)
    if flight.slot_id is not None:
        slots.keep_answered(person, lead.id, flight.slot_id, request.buyer_id)
    call.answered_at, call.buyer_answered_at = call.answered_at or at, at
    _name_buyer(person, call, request.buyer_id)
    person.save_call(call)
    person.draft.fact("call.buyer_answered", lead_id=lead.id, call_id=call.id, buyer_id=request.buyer_id)


def _name_buyer(person: Person, call: Call, buyer_id: int) -> None:
    call.buyer_id = buyer_id
    call.dial_tier = tier_of(person, call.buyer_group_id, buyer_id)
    mark_repeat_caller(person, call)


def _progress(person: Person, call: Call, request: CallProgressed, at: Instant) -> None:
    if CALL_STATES.get(call.status, len(CALL_STATES)) > CALL_STATES[request.state]:
        _backfill_ringing(person, call, request.state, at)
        return
    call.initiated_at = call.initiated_at or at
    _enter_state(call, request.state, at)
    call.provider = request.provider or call.provider
    call.provider_ref = request.provider_ref or call.provider_ref
    person.save_call(call)
    person.draft.fact(f"call.{request.state}", lead_id=request.lead_id, call_id=call.id)


def _enter_state(call: Call, state: str, at: Instant) -> None:
    match state:
        case "on-hold":
            put_on_hold(call, at)
        case "resumed":
            take_off_hold(call, at)
        case "established" if call.held_at is not None:
            pass
        case _:
            call.status = state
    if state == "ringing":
        call.ringing_at = call.ringing_at or at
    if state == "established":
        call.answered_at = call.answered_at or at


def _backfill_ringing(person: Person, call: Call, state: str, at: Instant) -> None:
    """Record when a call rang that is already further, if that is unknown."""
    if state == "ringing" and call.ringing_at is None and at <= (call.answered_at or call.ended_at or at):
        call.ringing_at = at
        person.save_call(call)


def take_refusal(person: Person, request: ReachAnswered) -> None:
    """Handle the refusal of the contact of another address: retry if it is temporary, else close the channel."""
    lead = person.lead(request.lead_id)
    if lead is None or lead.flight is None or lead.flight.command_id != request.command_id or request.emitted:
        return
    person.draft.fact("reach.refused", lead_id=lead.id, command_id=request.command_id, reason=request.reason)
    if request.until is not None:
        _wait_for_release(person, lead, lead.flight, request.until)
        return
    if request.reason in TEMPORARY:
        settle(person, lead, "rejected_at_gate", NOT_REACHED, person.now)
        return
    lead.failed_channels = tuple(dict.fromkeys((*lead.failed_channels, lead.flight.kind)))
    settle(person, lead, "not_placed", REFUSED, person.now)


def _wait_for_release(person: Person, lead: Lead, flight: Flight, until: Instant) -> None:
    """Plan the same step again when the number may be contacted (after a cap or the review of a text)."""
    lead.flight = None
    if flight.slot_id is not None:
        slots.release(person, lead.id, flight.slot_id)
    ledger.give_back(lead, flight)
    _decrement_counters(lead, flight)
    person.save(lead)
    if lead.status not in LIVE_STATUSES:
        return
    lead.status, lead.status_wait, lead.planned_at = "queue", None, None
    lead.base_at = max(until, lead.base_at or EPOCH)
    advance(person, lead)
    if lead.flight is None and lead.next_action_at is not None and lead.next_action_at >= until > person.now:
        lead.status, lead.status_wait = "waiting", FREQUENCY_CAP_CODE
        lead.reasons = (FREQUENCY_CAP_CODE, *lead.reasons)


def time_out(person: Person, lead: Lead, flight: Flight) -> None:
    """Time out a command: its outcome is unknown, and its attempt counts unless a gateway reports a drop later."""
    if flight.asks is not None:
        vetoes.take_answer(person, lead, flight, allows=None)
        return
    row = OUTCOMES[flight.kind]["unknown"]
    call = person.call(flight.call_id)
    if call is not None and call.outcome is None:
        _mark_unknown(person, call)
    about: dict[str, Any] = {"command_id": flight.command_id, "kind": flight.kind, "outcome": "unknown", "timed_out": True}
    person.draft.fact("outcome.recorded", lead_id=lead.id, call_id=flight.call_id, **about)
    lead.unheard = (*lead.unheard, flight)[-TIMED_OUT_MAX:]
    settle(person, lead, "unknown", row, person.now)


def give_up(person: Person, call: Call) -> None:
    """End a call whose end was not reported in time and that no lead awaits: inbound, or of a deleted lead."""
    if person.head.inbound_call_id == call.id:
        person.head.inbound_call_id = None
        person.save_head()
    _mark_unknown(person, call)
    if call.route is not None:
        inbound_routing.end(person, call)
        person.save_call(call)


def _mark_unknown(person: Person, call: Call) -> None:
    """End a call now with an unknown outcome."""
    call.outcome, call.sub_status, call.hangup_cause = "unknown", TIMED_OUT, "unknown"
    _end_call(person, call, OUTCOMES["call"]["unknown"], person.now)


def settle(  # noqa: PLR0917 - the outcome, and who answered
    person: Person, lead: Lead, outcome: str, row: Outcome, occurred_at: Instant, buyer_id: int | None = None
) -> None:
    """Close the open command of a lead and let it advance; `buyer_id` is the buyer that answered, of several."""
    flight = lead.flight
    assert flight is not None  # noqa: S101 - the caller has matched it
    lead.flight = None
    if flight.slot_id is not None:
        slots.release(
            person,
            lead.id,
            flight.slot_id,
            _slot_use(outcome, has_agent=flight.agent_id is not None),
            buyer_id=buyer_id if outcome == "connected_buyer" and flight.buyer_ids else None,
        )
    if not row.counts_attempt:
        ledger.give_back(lead, flight)
    if outcome in NOT_ATTEMPTED:
        _decrement_counters(lead, flight)
    person.save(lead)
    if lead.status in LIVE_STATUSES:
        _advance_after(person, lead, flight, outcome=outcome, row=row, occurred_at=occurred_at)
    if flight.kind == "call":
        _wake_siblings(person, lead)


def _slot_use(outcome: str, *, has_agent: bool) -> slots.SlotUse:
    """Return how far a call used its slot; a timed-out outcome counts in full. An agent speaks to the person who answers."""
    if outcome in NOT_ATTEMPTED:
        return "unused"
    if outcome == "unknown":
        return "unknown"
    is_connected = outcome == "connected_buyer" or (has_agent and outcome == "connected_human")
    return "connected" if is_connected else "attempted"


def _advance_after(person: Person, lead: Lead, flight: Flight, *, outcome: str, row: Outcome, occurred_at: Instant) -> None:
    lead.status, lead.status_wait = "queue", None
    is_own_step = flight.enrolment == lead.enrolment and flight.step_id == lead.step
    if flight.enrolment == lead.enrolment and triggers.fire_on_exit(
        person, lead, cadence_for(person, lead), _trigger_types(flight, outcome)
    ):
        advance(person, lead)
        return
    if flight.callback:
        if flight.enrolment == lead.enrolment:
            callbacks.retry_callback(person, lead, flight, outcome, row, occurred_at)
        lead.base_at = max(lead.base_at or EPOCH, occurred_at)
    elif is_own_step and outcome in GATE_OUTCOMES and lead.retries.get(DROPPED, 0) < GATE_DROPS_MAX:
        drops = lead.retries.get(DROPPED, 0)
        lead.retries[DROPPED] = drops + 1
        if outcome == EXPIRED and LATENESS_RESET not in lead.retries:
            lead.retries[LATENESS_RESET], lead.planned_at = 1, None
        lead.base_at = person.now + min(GATE_BACKOFF_MAX, GATE_BACKOFF << drops)
    elif is_own_step:
        lead.last_outcome = outcome
        if flight.kind != "call" or not dispositions.await_disposition(person, lead, flight, outcome, occurred_at):
            retry_or_leave(person, lead, outcome, row, occurred_at)
    advance(person, lead)


def _trigger_types(flight: Flight, outcome: str) -> tuple[str, ...]:
    """Return the trigger types that match the outcome of a command."""
    if flight.kind != "call" or outcome in NOT_ATTEMPTED:
        return ()
    return ("dial", "buyer_connected") if outcome == "connected_buyer" else ("dial",)


def _replan(person: Person, lead: Lead, request: OutcomeRecorded, row: Outcome, replaced: str) -> None:
    """Plan a retry again for a newer outcome, if one is planned for the outcome that it replaces."""
    call = person.call(request.call_id)
    can_retry = lead.flight is None and lead.status in LIVE_STATUSES and not lead.ending and lead.disposition_due_at is None
    if not can_retry or call is None or lead.attempted_call_id != call.id or lead.last_action_at != call.created_at:
        return
    if replaced not in lead.retries or lead.step != call.schedule_action_id or lead.last_outcome != replaced:
        return
    lead.retries[replaced] -= 1
    lead.last_outcome = request.outcome
    slots.withdraw(person, lead)
    lead.status, lead.status_wait = "queue", None
    retry_or_leave(person, lead, request.outcome, row, min(request.occurred_at, person.now))
    advance(person, lead)


def _decrement_counters(lead: Lead, flight: Flight) -> None:
    """Decrement the counters of a lead for a command that was not attempted."""
    match flight.kind:
        case "call":
            lead.outbound_calls_count = max(0, lead.outbound_calls_count - 1)
        case "sms":
            lead.sms_count = max(0, lead.sms_count - 1)
        case "email":
            lead.emails_count = max(0, lead.emails_count - 1)
            if lead.last_email_at == flight.emitted_at:
                lead.last_email_at = (
                    None  # the earlier one is out of reach of the spacing, else this would not have been sent
                )


def _wake_siblings(person: Person, lead: Lead) -> None:
    """Advance the person's leads that waited for the end of this call."""
    if len(person.head.lead_ids) == 1:
        return
    waiting = person.live_leads(lambda other: other.flight is None and other.status_wait == SIBLING_CALLED)
    for other in bounded_batch([other for other in waiting if other.id != lead.id]):
        advance(person, other)


def _update_contact(person: Person, request: OutcomeRecorded, row: Outcome) -> None:
    """Apply the outcome to the number or address itself, whichever lead it was for."""
    if request.reached is None:
        if request.final and not counts_legally(row, rang=request.rang):
            ledger.release(person, request.command_id)
        # Nothing is sent while a channel is closed: a report then is about what was sent before, and closes it no longer.
        if row.disables_channel and person.head.disabled_until.get(request.kind, EPOCH) <= person.now:
            close_channel(person, request.lead_id, request.kind, request.outcome)
    if row.opts_out:
        opt_out(person, f"outcome {request.outcome}", offer_id=_offer_of(person, request), channel=request.kind)


def _offer_of(person: Person, request: OutcomeRecorded) -> int | None:
    """Return the offer of a command: of its lead, which may belong to another contact."""
    lead = person.lead(request.lead_id)
    if lead is not None:
        return lead.offer_id
    relay = person.draft.get(relay_key(request.command_id), Relay)
    return None if relay is None else relay.offer_id


def _update_lead(person: Person, lead: Lead, request: OutcomeRecorded, row: Outcome) -> None:
    flight = lead.flight
    is_awaited = flight is not None and flight.command_id == request.command_id
    call_id = request.call_id or (flight.call_id if flight is not None and is_awaited else None)
    person.draft.fact(
        "outcome.recorded",
        lead_id=lead.id,
        call_id=call_id,
        command_id=request.command_id,
        kind=request.kind,
        outcome=request.outcome,
        **({} if is_awaited or _is_awaited_by_nobody(request) else {"late": True}),
        **skew_mark(person.now, request.occurred_at),
        **_cost_of_deleted(person, request, call_id),
    )
    if row.disables_channel and request.reached is not None:
        lead.failed_channels = tuple(dict.fromkeys((*lead.failed_channels, request.kind)))
        person.save(lead)
    if row.connected:
        judged = dispositions.disposition_of(person, _find_call(person, lead, request.command_id, request.call_id))
        lead.connected = lead.connected or judged is None or judged.counts_as_contact
        lead.buyer_id = request.buyer_id or lead.buyer_id
        person.save(lead)
    if not is_awaited and request.final:
        _record_late(person, lead, request)
    if flight is not None and is_awaited and request.final:
        # A reported time before the command or in the future must not move the next step.
        occurred_at = max(flight.emitted_at, min(request.occurred_at, person.now))
        settle(person, lead, request.outcome, row, occurred_at, request.buyer_id)


def _record_late(person: Person, lead: Lead, request: OutcomeRecorded) -> None:
    """Subtract the attempt of a timed-out command that a gateway reports as dropped; once a command."""
    flight = next((one for one in lead.unheard if one.command_id == request.command_id), None)
    if flight is None:
        return
    lead.unheard = tuple(one for one in lead.unheard if one is not flight)
    if request.outcome in NOT_ATTEMPTED:
        ledger.give_back(lead, flight)
        _decrement_counters(lead, flight)
    person.save(lead)


def _is_awaited_by_nobody(request: OutcomeRecorded) -> bool:
    """Return whether the outcome is of a webhook about a call, or fired by hand: no lead awaits it, so it is never late."""
    return request.kind == "webhook" and (request.call_id is not None or request.fire_id is not None)


def _cost_of_deleted(person: Person, request: OutcomeRecorded, call_id: int | None) -> dict[str, Any]:
    """Return the cost of a call that was deleted while in progress: no record of a call can hold it."""
    is_here = request.kind == "call" and request.reached is None
    is_gone = is_here and call_id is not None and person.call(call_id) is None
    return {"cost": request.cost} if is_gone and request.cost else {}


def _update_call(person: Person, lead: Lead | None, request: OutcomeRecorded, row: Outcome) -> str | None:
    """Write the outcome into its call; return the outcome that it replaces, if any."""
    if request.kind != "call":
        return None
    call = _find_call(person, lead, request.command_id, request.call_id)
    occurred_at = min(request.occurred_at, person.now)
    if call is None or not request.final:
        return None
    is_known = call.outcome not in {None, "unknown"}
    if is_known and call.ended_at is not None and call.ended_at > occurred_at:
        return None  # of two outcomes the later one counts
    replaced, before = call.outcome, msgspec.structs.replace(call)
    _copy_outcome(call, request)
    is_unsaid = lead is not None and _is_ringing_several(lead, request)
    if request.buyer_id is not None and request.buyer_id != call.buyer_id and not is_unsaid:
        _name_buyer(person, call, request.buyer_id)
    if is_known and call.outcome == replaced and call.ended_at is not None:
        _complete(person, before, call)
    else:
        _end_call(person, call, row, occurred_at)
    if lead is not None and row.connected:
        lead.connected_call_id = call.id
        person.save(lead)
    return replaced


def _complete(person: Person, before: Call, call: Call) -> None:
    """Record what a repeat of the outcome adds, such as the cost or the recording: the call has not ended again."""
    changed = [name for name in call.__struct_fields__ if getattr(call, name) != getattr(before, name)]
    if changed:
        person.save_call(call)
        person.draft.fact("call.updated", lead_id=call.lead_id, call_id=call.id, fields=changed)


def _is_ringing_several(lead: Lead, request: OutcomeRecorded) -> bool:
    """Return whether several buyers were rung and none of them got the call: then no report names one."""
    flight = lead.flight
    is_awaited = flight is not None and flight.command_id == request.command_id and bool(flight.buyer_ids)
    return is_awaited and request.outcome != "connected_buyer"


def _copy_outcome(call: Call, request: OutcomeRecorded) -> None:
    """Copy the fields of an outcome into its call; missing ones keep their values."""
    call.outcome = request.outcome
    call.sub_status = _sub_status(request)
    call.answered_by = request.answered_by or call.answered_by
    call.answered_at = request.answered_at or call.answered_at
    call.ringing_at = request.ringing_at or call.ringing_at
    call.talk_seconds = request.talk_seconds
    call.hung_up_by = request.hung_up_by or call.hung_up_by
    call.hangup_cause = request.hangup_cause or request.outcome
    call.cost = call.cost if request.cost is None else request.cost
    call.recording_url = request.recording_url or call.recording_url
    copy_handling(call, request)
    call.detail = request.detail
    if request.outcome == "connected_buyer":
        call.buyer_answered_at = request.buyer_answered_at or call.answered_at


def _sub_status(request: OutcomeRecorded) -> str | None:
    """Return the detail beside an outcome: the gate that dropped it, or that a machine answered."""
    if request.outcome in NOT_ATTEMPTED:
        return request.outcome
    return "machine" if request.answered_by == "machine" else None


def _end_call(person: Person, call: Call, row: Outcome, at: Instant) -> None:
    take_off_hold(call, at)
    call.status, call.ended_at, call.give_up_at = row.call_status or "canceled", at, None
    person.save_call(call)
    person.draft.fact("call.ended", lead_id=call.lead_id, call_id=call.id, outcome=call.outcome)


def _find_call(person: Person, lead: Lead | None, command_id: str, call_id: int | None) -> Call | None:
    """Return the call of a command: by its own id, or the lead's last one."""
    flight = None if lead is None else lead.flight
    candidates = [call_id, flight.call_id if flight else None, lead.attempted_call_id if lead else None]
    for candidate in candidates:
        call = person.call(candidate)
        if call is not None and call.command_id == command_id:
            return call
    return None
