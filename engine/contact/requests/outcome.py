"""What does the outcome of a command do? It updates the contact, the call and the lead; then a waiting lead advances."""

from typing import Any

import msgspec

from engine.contact.commands import slots
from engine.contact.commands.emission import email_key
from engine.contact.facts import ledger
from engine.contact.facts.call_record import copy_handling, mark_repeat_caller, put_on_hold, take_off_hold, tier_of
from engine.contact.facts.clock_skew import skew_mark
from engine.contact.facts.ledger import counts_legally, row_of
from engine.contact.facts.person import Person
from engine.contact.lifecycle import callbacks, promises, vetoes
from engine.contact.lifecycle.charging import charge_lead
from engine.contact.lifecycle.moving import forward
from engine.contact.lifecycle.retrying import close_channel, retry_or_leave
from engine.contact.lifecycle.stop import opt_out
from engine.contact.lifecycle.walk import advance
from engine.contact.requests import dispositions, inbound_routing, late_outcomes
from engine.contact.requests.contact_relay import TEMPORARY, relay_outcome
from engine.contact.requests.settling import NOT_ATTEMPTED, advance_after, decrement_counters, slot_use, wake_siblings
from engine.contact.timing.holding import SIBLING_CALLED
from engine.law.caps import FREQUENCY_CAP_CODE
from engine.partition.draft import RefusedError
from schemas.contact import LIVE_STATUSES, Call, Flight, Lead, Relay
from schemas.instant import EPOCH, Instant
from schemas.money import amount
from schemas.outcomes import GATE_OUTCOMES, NOT_REACHED, OUTCOMES, TIMED_OUT, Outcome, Standing, standing
from schemas.requests import CallProgressed, OutcomeRecorded, ReachAnswered
from schemas.state import relay_key

ACCEPTED = "accepted"
"""The outcome of a question that was answered."""

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
    if request.final and request.call_id is not None:
        person.hung_up.add(request.call_id)  # it has ended: a stop that follows from its outcome ends no call
    _update_contact(person, request, row)
    if relay_outcome(person, request):
        return
    lead = person.lead(request.lead_id)
    call = _find_call(person, lead, request.command_id, request.call_id) if request.kind == "call" else None
    before, stands = (None, None) if call is None else (call.outcome, _standing(person, call, request))
    if call is not None and request.final and stands != "kept":
        _update_call(person, lead, call, request, row)
    if lead is None:
        sent_on = msgspec.structs.replace(request, reached=request.reached or person.key)
        is_elsewhere, cost = forward(person, sent_on, request.lead_id), _cost_of_deleted(person, request, request.call_id)
        if cost or (not is_elsewhere and person.call(request.call_id) is not None):
            about: dict[str, Any] = {"command_id": request.command_id, "kind": request.kind, "outcome": request.outcome}
            about |= cost
            person.draft.fact("outcome.recorded", lead_id=None, call_id=request.call_id, **about)
        return
    place = request.hold
    person.hold_is_unread = place is not None and person.rules.positions.get(place.partition, 0) < place.sequence
    flight = lead.flight
    if flight is not None and flight.asks is not None and flight.command_id == request.command_id:
        allows = request.allows if request.outcome == ACCEPTED else None
        _take_answer(person, lead, flight, allows=allows, detail=request.detail)
        return
    _update_lead(person, lead, request, row, _correction(lead, request, before, stands))
    if before not in {None, late_outcomes.UNKNOWN} and stands == "replaces":
        _replan(person, lead, request, row, before or "")
    if request.command_id == lead.left_command_id:
        callbacks.take_left_outcome(person, lead, request)
        _end_left_call(person, lead)


def _end_left_call(person: Person, lead: Lead) -> None:
    """Let a lead go on that waited for the end of the call to its number before."""
    lead.left_command_id = lead.left_until = None
    person.save(lead)
    if lead.flight is None and lead.status in LIVE_STATUSES and lead.status_wait == SIBLING_CALLED:
        advance(person, lead)


def _standing(person: Person, call: Call, request: OutcomeRecorded) -> Standing:
    """Return what the outcome does to that of its call: `kept` where the call has one that stands."""
    if call.outcome is None:
        return "replaces"
    found = standing("call", call.outcome, request.outcome)
    if found in {"later", "repeated"} and call.ended_at is not None and call.ended_at > min(request.occurred_at, person.now):
        return "kept"
    return "replaces" if found == "later" else found


def _correction(lead: Lead, request: OutcomeRecorded, before: str | None, stands: Standing | None) -> dict[str, Any]:
    """Return what the fact of an outcome says of an earlier one of its command, where there was one."""
    counted = late_outcomes.counted_outcome(lead, request.command_id)
    if before is None and counted is not None:
        before, stands = counted, standing(request.kind, counted, request.outcome)
    if before is None:
        return {}
    return {"corrects": before} if stands == "replaces" else {"standing": stands}


def _take_answer(person: Person, lead: Lead, flight: Flight, *, allows: bool | None, detail: str | None = None) -> None:
    """Take the answer to an open question; a known outcome that came meanwhile decides how the lead goes on."""
    is_decided = lead.unknown is not None and lead.unknown.outcome is not None
    vetoes.take_answer(person, lead, flight, allows=allows, detail=detail, advances=not is_decided)
    if is_decided and lead.status in LIVE_STATUSES and not _resume(person, lead, late_outcomes.TAKEN_BACK, NOT_REACHED):
        advance(person, lead)


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
    if _is_in_state(call, request.state):
        return  # a vendor repeats its reports, and somebody who captured one can
    call.initiated_at = call.initiated_at or at
    _enter_state(call, request.state, at)
    call.provider = request.provider or call.provider
    call.provider_ref = request.provider_ref or call.provider_ref
    person.save_call(call)
    person.draft.fact(f"call.{request.state}", lead_id=request.lead_id, call_id=call.id)


def _is_in_state(call: Call, state: str) -> bool:
    """Return whether a call is in a state already, so that its report is a repeat."""
    match state:
        case "initiated":
            return call.initiated_at is not None
        case "on-hold":
            return call.held_at is not None
        case "resumed":
            return call.held_at is None and call.placed_on_hold
        case _:
            return call.status == state or (state == "established" and call.held_at is not None)


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
    decrement_counters(lead, flight)
    person.save(lead)
    if lead.status not in LIVE_STATUSES or _resume(person, lead, late_outcomes.TAKEN_BACK, NOT_REACHED):
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
        _take_answer(person, lead, flight, allows=None)
        return
    row = OUTCOMES[flight.kind]["unknown"]
    call = person.call(flight.call_id)
    if call is not None and call.outcome is None:
        _mark_unknown(person, call)
    about: dict[str, Any] = {"command_id": flight.command_id, "kind": flight.kind, "outcome": "unknown", "timed_out": True}
    person.draft.fact("outcome.recorded", lead_id=lead.id, call_id=flight.call_id, **about)
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
            slot_use(outcome, has_agent=flight.agent_id is not None),
            buyer_id=buyer_id if outcome == "connected_buyer" and flight.buyer_ids else None,
        )
    if not row.counts_attempt:
        ledger.give_back(lead, flight)
    if outcome in NOT_ATTEMPTED:
        decrement_counters(lead, flight)
    if late_outcomes.is_uncertain(flight.kind, outcome):
        late_outcomes.remember(lead, flight, outcome)
    promises.judge_call(person, lead, flight, outcome)
    person.save(lead)
    if lead.status in LIVE_STATUSES:
        _go_on(person, lead, flight, outcome=outcome, row=row, occurred_at=occurred_at)
    promises.settle(person, lead)
    if flight.kind == "call":
        wake_siblings(person, lead)


def _go_on(person: Person, lead: Lead, flight: Flight, *, outcome: str, row: Outcome, occurred_at: Instant) -> None:
    """Let a live lead go on by the outcome, or by that of its attempt before, if that decides."""
    if _resume(person, lead, outcome, row):
        return
    attempt, is_uncertain = (
        late_outcomes.attempt_of_step(lead, flight, outcome),
        late_outcomes.is_uncertain(flight.kind, outcome),
    )
    if attempt is not None:
        lead.unknown = attempt if is_uncertain else None
    has_fired = advance_after(person, lead, flight, outcome=outcome, row=row, occurred_at=occurred_at)
    if attempt is not None and has_fired and is_uncertain:
        lead.unknown = msgspec.structs.replace(attempt, has_fired=True)


def _resume(person: Person, lead: Lead, ended: str, ended_row: Outcome) -> bool:
    """Go on by the known outcome of the attempt before, if it came while the command was open that has ended now."""
    attempt = lead.unknown
    row = None if attempt is None or attempt.outcome is None else row_of(attempt.flight.kind, attempt.outcome)
    return row is not None and late_outcomes.resume(person, lead, row, ended, ended_row)


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


def _update_lead(person: Person, lead: Lead, request: OutcomeRecorded, row: Outcome, correction: dict[str, Any]) -> None:
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
        **({} if is_awaited or _is_awaited_by_nobody(request) else {"late": True, **correction}),
        **skew_mark(person.now, request.occurred_at),
        **_cost_of_deleted(person, request, call_id),
    )
    if row.disables_channel and _reached_address(lead, request):
        lead.failed_channels = tuple(dict.fromkeys((*lead.failed_channels, request.kind)))
        person.save(lead)
    if row.connected:
        judged = dispositions.disposition_of(person, _find_call(person, lead, request.command_id, request.call_id))
        lead.connected = lead.connected or judged is None or judged.counts_as_contact
        lead.buyer_id = request.buyer_id or lead.buyer_id
        person.save(lead)
    if not is_awaited and request.final:
        late_outcomes.take(person, lead, request, row)
    if flight is not None and is_awaited and request.final:
        # A reported time before the command or in the future must not move the next step.
        occurred_at = max(flight.emitted_at, min(request.occurred_at, person.now))
        settle(person, lead, request.outcome, row, occurred_at, request.buyer_id)


def _reached_address(lead: Lead, request: OutcomeRecorded) -> bool:
    """Return whether a passed-on outcome is of the lead's present address: a number or address before it says nothing."""
    return request.kind == "email" and lead.email is not None and request.reached == email_key(lead.company_id, lead.email)


def _is_awaited_by_nobody(request: OutcomeRecorded) -> bool:
    """Return whether the outcome is of a webhook about a call, or fired by hand: no lead awaits it, so it is never late."""
    return request.kind == "webhook" and (request.call_id is not None or request.fire_id is not None)


def _cost_of_deleted(person: Person, request: OutcomeRecorded, call_id: int | None) -> dict[str, Any]:
    """Return the cost of a call that was deleted while in progress: no record of a call can hold it."""
    is_here = request.kind == "call" and request.reached is None
    is_gone = is_here and call_id is not None and person.call(call_id) is None
    return {"cost": request.cost} if is_gone and request.cost else {}


def _update_call(person: Person, lead: Lead | None, call: Call, request: OutcomeRecorded, row: Outcome) -> None:
    """Write the outcome into its call: for the first time, in the place of another one, or what a repeat of it adds."""
    before = msgspec.structs.replace(call)
    _copy_outcome(call, request)
    charge_lead(person, call, call.cost - before.cost)
    is_unsaid = lead is not None and _is_ringing_several(lead, request)
    if request.buyer_id is not None and request.buyer_id != call.buyer_id and not is_unsaid:
        _name_buyer(person, call, request.buyer_id)
    if before.outcome == call.outcome and call.ended_at is not None:
        _complete(person, before, call)
    else:
        _end_call(person, call, row, min(request.occurred_at, person.now), before)
    if lead is not None and row.connected:
        lead.connected_call_id = call.id
        person.save(lead)


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
    call.cost = call.cost if request.cost is None else amount(request.cost)
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


def _end_call(person: Person, call: Call, row: Outcome, at: Instant, before: Call | None = None) -> None:
    """End a call; of one that has ended with another outcome, correct that."""
    take_off_hold(call, at)
    call.status, call.ended_at, call.give_up_at = row.call_status or "canceled", at, None
    person.save_call(call)
    if before is None or before.outcome is None:
        person.draft.fact("call.ended", lead_id=call.lead_id, call_id=call.id, outcome=call.outcome)
        return
    corrects = {"outcome": before.outcome, "ended_at": before.ended_at}
    person.draft.fact("call.corrected", lead_id=call.lead_id, call_id=call.id, outcome=call.outcome, corrects=corrects)


def _find_call(person: Person, lead: Lead | None, command_id: str, call_id: int | None) -> Call | None:
    """Return the call of a command: by its own id, that of a lead's open or unknown command, or the lead's last one."""
    flights = () if lead is None else (lead.flight, *lead.unheard)
    of_command = (flight.call_id for flight in flights if flight is not None and flight.command_id == command_id)
    for candidate in (call_id, *of_command, lead.attempted_call_id if lead else None):
        call = person.call(candidate)
        if call is not None and call.command_id == command_id:
            return call
    return None
