"""What does an inbound call do? It gets a record, finds or creates its lead, and the person's leads react."""

from typing import assert_never

import msgspec

from engine.contact.facts.call_record import (
    add_call,
    copy_handling,
    is_deleted,
    listed_calls,
    mark_repeat_caller,
    new_inbound_call,
    put_on_hold,
    take_off_hold,
    tier_of,
)
from engine.contact.facts.clock_skew import skew_mark
from engine.contact.facts.kept_submissions import hand_to_call
from engine.contact.facts.person import Outline, Person
from engine.contact.facts.references import check_references
from engine.contact.facts.result import COMPLETED
from engine.contact.lifecycle.charging import charge_lead
from engine.contact.lifecycle.ending import begin_end
from engine.contact.lifecycle.enrolment import expiry, new_lead
from engine.contact.lifecycle.stop import stop_reason
from engine.contact.lifecycle.walk import advance
from engine.contact.requests import attribution, inbound_routing, reactions
from engine.identity import identity_number, withheld_key
from engine.partition.draft import RefusedError
from schemas.contact import LIVE_STATUSES, Call, Lead
from schemas.decisions import Answer
from schemas.instant import EPOCH, SECOND, Instant
from schemas.money import amount
from schemas.outcomes import CALL_OUTCOMES, TIMED_OUT
from schemas.records import Number, Offer
from schemas.requests import CallReceived

CALLS_SEARCHED = 20
"""Newest calls that are searched for the call of a report: a person makes one at a time."""

BLOCKED_STATUS = "blocked"

TRANSCRIBED = frozenset({"completed", "failed"})
"""Final states of a transcription."""


def receive(person: Person, request: CallReceived) -> None:
    """Record the state of an inbound call, and answer with it; an ended call stays ended, and may be completed."""
    if not _is_withheld(person, request) and f"{person.company_id}|{identity_number(request.from_number)}" != person.key:
        problem = "is not the number of this contact"
        raise RefusedError("validation_failed", f"from_number {problem}", {"from_number": [problem]})
    named = (("buyer_id", request.buyer_id), ("unanswered_buyer_id", request.unanswered_buyer_id))
    buyers = [(field, "buyer", buyer_id) for field, buyer_id in named]
    check_references(person, [*buyers, ("unanswered_agent_id", "agent", request.unanswered_agent_id)])
    if is_deleted(person, request.gateway_ref):
        raise RefusedError("deleted", "This call was deleted.")
    call = _find_call(person, request.gateway_ref) or _begin(person, request)
    person.draft.answer = Answer(status=200, record_type="call", record_id=call.id, record_ids=(call.id,))
    if skew := skew_mark(person.now, request.occurred_at):
        person.draft.fact("call.reported", lead_id=call.lead_id, call_id=call.id, state=request.state, **skew)
    if call.ended_at is None:
        _move_on(person, call, request)
        person.save_call(call)
    elif call.sub_status == TIMED_OUT:
        _complete_timed_out(person, call, request)
    elif request.state == "ended":
        _complete(person, call, request)
    elif call.outcome is not None and call.status != BLOCKED_STATUS and request.occurred_at <= call.ended_at:
        _backfill(person, call, request)
    inbound_routing.route(person, call, request)


def _is_withheld(person: Person, request: CallReceived) -> bool:
    """Return whether nobody knows whose call it is: it has no lead, and is compared with no other call."""
    return person.key == withheld_key(person.company_id, request.gateway_ref)


def _find_call(person: Person, gateway_ref: str) -> Call | None:
    for call, _ in zip(listed_calls(person), range(CALLS_SEARCHED), strict=False):
        if call.gateway_ref == gateway_ref:
            return call
    return None


def _begin(person: Person, request: CallReceived) -> Call:
    """Create the record of a new call, for its lead."""
    is_blocked = person.head.blocked_at is not None
    lead = None if is_blocked or _is_withheld(person, request) else _find_lead(person, request)
    call = new_inbound_call(person, lead, from_number=request.from_number, number_called=request.number_called)
    at = _not_in_future(person, request.occurred_at)
    call.gateway_ref, call.provider, call.provider_ref = request.gateway_ref, request.provider, request.provider_ref
    # Where only the end of a call is reported, the talk was before that.
    call.initiated_at = call.ringing_at = at - (request.talk_seconds * SECOND if request.state == "ended" else 0)
    if is_blocked:
        call.status, call.sub_status, call.outcome = BLOCKED_STATUS, "contact_blocked", "declined"
        call.hung_up_by, call.hangup_cause, call.ended_at = "us", "contact_blocked", at
    if lead is not None:
        hand_to_call(person, call)
    add_call(person, call)
    if is_blocked:
        person.draft.fact("call.refused", call_id=call.id, reason=BLOCKED_STATUS)
        return call
    if lead is not None:
        lead.inbound_calls_count += 1
        lead.last_call_at = person.now
        person.save(lead)
        if lead.status == "captured":
            person.draft.fact("lead.picked_up", lead_id=lead.id, call_id=call.id)
    attribution.ask(person, call)
    reactions.start_inbound(person, call)
    return call


def _find_lead(person: Person, request: CallReceived) -> Lead | None:
    """Return the lead of the call: first of the offer of the number called, then live ones, then captured ones.

    Where the number has an offer and the person no lead of it, create one, as if it had been submitted. A removed lead
    gets no more calls, and its data is not copied to them.
    """
    number = person.rules.number(person.company_id, request.number_called)
    own = None if number is None else person.rules.body(Number, "number", number.id)
    offer_id = None if own is None else own.offer_id
    leads = [lead for lead in person.outlines() if lead.status != "removed"]
    of_offer = [lead for lead in leads if offer_id is not None and lead.offer_id == offer_id]
    is_new = offer_id is not None and not of_offer and person.make_room()
    if is_new and offer_id is not None and person.rules.body(Offer, "offer", offer_id) is not None:
        return _create_lead(person, request, offer_id)
    chosen = min(of_offer or leads, key=_rank, default=None)
    return None if chosen is None else person.lead(chosen.id)


def _rank(lead: Outline) -> tuple[bool, bool, int]:
    return lead.status not in LIVE_STATUSES, lead.status != "captured", -lead.id


def _create_lead(person: Person, request: CallReceived, offer_id: int) -> Lead:
    lead = new_lead(person)
    lead.status, lead.offer_id = "captured", offer_id
    lead.caller_id, lead.columns = request.from_number, dict(request.columns)
    lead.zones, lead.zone_source, lead.states = request.zones, request.zone_source, request.states
    lead.expires_at = expiry(person, lead, person.now, None)
    lead.opt_out = stop_reason(person.head, offer_id) == "opt_out"
    person.add(lead)
    person.draft.fact("lead.created", lead_id=lead.id, offer_id=offer_id, schedule_id=None, source="inbound_call")
    return lead


def _move_on(person: Person, call: Call, request: CallReceived) -> None:
    at = _not_in_future(person, request.occurred_at)
    call.give_up_at = person.now + reactions.INBOUND_MAX
    if request.state != "ended":
        _move_start_back(call, at)
    _record_buyer(person, call, request, at)
    copy_handling(call, request)
    inbound_routing.mark_agent(call, request)
    if call.attribution is None:
        call.ring_pool_id = request.ring_pool_id or call.ring_pool_id
    match request.state:
        case "ringing":
            pass
        case "connected":
            if call.answered_at is None:
                _connect(person, call, at)
        case "on-hold":
            put_on_hold(call, at)
            person.draft.fact("call.held", lead_id=call.lead_id, call_id=call.id)
        case "resumed":
            take_off_hold(call, at)
            person.draft.fact("call.resumed", lead_id=call.lead_id, call_id=call.id)
        case "ended":
            _end(person, call, request, at)
        case _:
            assert_never(request.state)


def _record_buyer(person: Person, call: Call, request: CallReceived, at: Instant) -> None:
    """Record which buyer the report names, and when that answered. Of several that rang at once the first has the call."""
    if inbound_routing.names_loser(call, request):
        return
    buyer_id = inbound_routing.reported_buyer(call, request)
    is_awaited = inbound_routing.is_only_routed(call) or inbound_routing.is_undecided(call)
    if buyer_id is not None and (buyer_id != call.buyer_id or is_awaited):
        _connect_to(person, call, buyer_id)
    is_known = request.state == "ended" and call.buyer_answered_at is not None  # some gateways count back from the end
    if request.buyer_answered_at is not None and not is_known:
        call.buyer_answered_at = _not_in_future(person, request.buyer_answered_at)
    elif call.route is not None and buyer_id is not None and request.state == "connected":
        call.buyer_answered_at = call.buyer_answered_at or at  # a gateway that rings the buyer itself knows who answered


def _not_in_future(person: Person, reported_at: Instant) -> Instant:
    """Return a reported instant, not before 1970 and not in the future."""
    return min(max(reported_at, EPOCH), person.now)


def _move_start_back(call: Call, at: Instant) -> None:
    """Move the start of the call back to this instant: reports may arrive out of sequence."""
    call.initiated_at = at if call.initiated_at is None else min(call.initiated_at, at)
    call.ringing_at = at if call.ringing_at is None else min(call.ringing_at, at)


def _backfill(person: Person, call: Call, request: CallReceived) -> None:
    """Record what happened before the end and is reported after it: ringing, answer, buyer; the end stays."""
    before, at = msgspec.structs.replace(call), _not_in_future(person, request.occurred_at)
    _move_start_back(call, at)
    call.placed_on_hold = call.placed_on_hold or request.state == "on-hold"
    buyer_id = inbound_routing.reported_buyer(call, request)
    if buyer_id is not None and (call.buyer_id is None or inbound_routing.is_only_routed(call)):
        _connect_to(person, call, buyer_id)
    is_of_loser = inbound_routing.names_loser(call, request)
    if call.buyer_answered_at is None and request.buyer_answered_at is not None and not is_of_loser:
        call.buyer_answered_at = _not_in_future(person, request.buyer_answered_at)
    was_missed = call.answered_at is None
    if request.state == "connected" and call.answered_at is not None:
        call.answered_at = min(call.answered_at, at)
    elif request.state == "connected":
        _connect(person, call, at)
    for name in ("provider", "provider_ref", "agent_id", "ring_pool_id", "provider_configuration_id"):
        setattr(call, name, getattr(call, name) or getattr(request, name))
    _name_outcome(call)
    call.hangup_cause = call.outcome if call.hangup_cause == before.outcome else call.hangup_cause
    changed = [name for name in call.__struct_fields__ if getattr(call, name) != getattr(before, name)]
    if not changed:
        return
    person.save_call(call)
    person.draft.fact("call.updated", lead_id=call.lead_id, call_id=call.id, fields=changed)
    if was_missed and call.answered_at is not None:
        _react_to_end(person, call)


def _complete(person: Person, call: Call, request: CallReceived) -> None:
    """Record what is known only after the end: the recording, the transcription, and the cost.

    A finished transcription does not become pending again: that is an earlier report that came late.
    """
    reported = {name: getattr(request, name) for name in ("recording_url", "transcription_status", "cost")}
    changes = {name: value for name, value in reported.items() if value is not None and value != getattr(call, name)}
    if call.transcription_status in TRANSCRIBED and changes.get("transcription_status") not in TRANSCRIBED:
        changes.pop("transcription_status", None)
    if not changes:
        return
    charge_lead(person, call, changes.get("cost", call.cost) - call.cost)
    for name, value in changes.items():
        setattr(call, name, value)
    person.save_call(call)
    person.draft.fact("call.updated", lead_id=call.lead_id, call_id=call.id, fields=list(changes))


def _connect(person: Person, call: Call, at: Instant) -> None:
    call.status = "established" if call.held_at is None else call.status
    call.answered_at, call.answered_by = at, "human"
    person.draft.fact("call.answered", lead_id=call.lead_id, call_id=call.id)
    lead = None if call.lead_id is None else person.lead(call.lead_id)
    if lead is not None:
        lead.connected, lead.connected_call_id = True, call.id
        if not inbound_routing.is_only_routed(call):
            _copy_buyer(person, lead, call)
        person.save(lead)


def _connect_to(person: Person, call: Call, buyer_id: int) -> None:
    """Record the buyer of the call, and of the lead if the call was answered: later reports may name the buyer."""
    call.buyer_id = buyer_id
    inbound_routing.mark_connected(person, call)
    call.dial_tier = tier_of(person, call.buyer_group_id, call.buyer_id)
    mark_repeat_caller(person, call)
    lead = None if call.lead_id is None else person.lead(call.lead_id)
    if call.answered_at is not None and lead is not None:
        _copy_buyer(person, lead, call)


def _copy_buyer(person: Person, lead: Lead, call: Call) -> None:
    lead.buyer_id = call.buyer_id or lead.buyer_id
    lead.dial_tier = lead.dial_tier if call.dial_tier is None else call.dial_tier
    person.save(lead)


def _end(person: Person, call: Call, request: CallReceived, at: Instant) -> None:
    """Record the end and the outcome of the call."""
    _write_end(person, call, request, at)
    inbound_routing.end(person, call)
    person.save_call(call)
    person.draft.fact("call.ended", lead_id=call.lead_id, call_id=call.id, outcome=call.outcome)
    _react_to_end(person, call)


def _complete_timed_out(person: Person, call: Call, request: CallReceived) -> None:
    """Record the end of a call that timed out; leads that waited for it have gone on."""
    if request.state != "ended":
        return
    call.sub_status = None
    _write_end(person, call, request, _not_in_future(person, request.occurred_at))
    person.save_call(call)
    person.draft.fact("call.updated", lead_id=call.lead_id, call_id=call.id, fields=["outcome", "ended_at"])


def _write_end(person: Person, call: Call, request: CallReceived, at: Instant) -> None:
    take_off_hold(call, at)
    if call.answered_at is None and request.talk_seconds:
        # A call with talk time was answered, although the report of that was lost.
        _connect(person, call, max(call.ringing_at or EPOCH, at - request.talk_seconds * SECOND))
    call.ended_at, call.give_up_at = at, None
    call.talk_seconds, call.hung_up_by = request.talk_seconds, request.hung_up_by
    _name_outcome(call)
    call.hangup_cause = request.hangup_cause or call.outcome
    if request.cost is not None:
        charge_lead(person, call, request.cost - call.cost)
        call.cost = amount(request.cost)
    call.recording_url = request.recording_url or call.recording_url
    call.detail = request.detail


def _name_outcome(call: Call) -> None:
    """Set the outcome of an ended call, by whether it was answered."""
    if call.answered_at is not None:
        call.outcome = "connected_human" if call.buyer_answered_at is None else "connected_buyer"
    else:
        call.outcome = "caller_hung_up" if call.hung_up_by == "caller" else "no_answer"
    call.status = CALL_OUTCOMES[call.outcome].call_status or call.status


def _react_to_end(person: Person, call: Call) -> None:
    """Let the person's leads react to the end of the call; a captured lead that was connected ends."""
    is_connected = call.answered_at is not None
    reactions.end_inbound(person, call, connected=is_connected)
    lead = None if call.lead_id is None else person.lead(call.lead_id)
    if is_connected and lead is not None and lead.status == "captured" and lead.callback_at is None:
        begin_end(person, lead, COMPLETED)
        advance(person, lead)
