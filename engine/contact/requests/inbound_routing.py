"""Which buyer or agent takes an inbound call? One of the offer of the number called, under the same caps as outbound calls.

Where none takes it, the offer says what the gateway does instead. Who does not answer is left out of the next try. An agent
is reserved for the call from its route until it ends, or another one is tried. A group that is dialled simultaneously rings
several buyers where the gateway can; the one that is reported to have the call keeps its slot.
"""

from typing import Any

from msgspec import structs

from engine.contact.commands import buyers, slots
from engine.contact.commands.buyers import BuyerChoice
from engine.contact.commands.emission import BuyerConnection
from engine.contact.facts.call_record import mark_repeat_caller, tier_of
from engine.contact.facts.person import Person
from engine.contact.lifecycle import callbacks
from engine.contact.lifecycle.promises import Promiser
from engine.contact.lifecycle.walk import advance
from engine.inbound_pause import inbound_pause
from schemas.contact import LIVE_STATUSES, Call, CallbackOwner, CallRoute, Lead
from schemas.instant import EPOCH, MINUTE, Instant
from schemas.outcomes import TIMED_OUT
from schemas.records import Offer
from schemas.requests import CallReceived, SlotAnswered

TRIED_MAX = 20
"""Once so many buyers or agents have been rung for one call, no other is. Nobody listens to ringing for longer: 20 buyers of
30 s are ten minutes."""

CALLBACK_AFTER = 15 * MINUTE
"""When a person is called back where nobody knows when the next buyer is free; then the call waits for one."""

TALKING = frozenset({"connected", "on-hold", "resumed"})
"""States of a call in which somebody has it."""

NO_BUYER = "no_buyer_available"
BLOCKED = "blocked"


def route(person: Person, call: Call, request: CallReceived) -> None:
    """Route a call, if its gateway wants that: once, and again after each buyer or agent that did not answer."""
    if not request.wants_route or request.buyer_id is not None or request.state not in {"ringing", "connected"}:
        return
    if call.ended_at is not None:
        if call.route is None and call.sub_status == "contact_blocked":
            _instead(person, call, "reject", (), reason=BLOCKED)
        return
    present = call.route
    unanswered = () if present is None else _unanswered(present, request)
    if present is not None and not unanswered:
        return
    tried: tuple[int, ...] = ()
    if present is None and call.attribution is not None and call.attribution.is_awaited:
        _await_attribution(person, call, rings_several=request.rings_several)
        return
    if present is not None:
        release(person, call, "attempted")
        tried = (*present.tried, *unanswered)
    _find_taker(person, call, tried, rings_several=request.rings_several)


def _unanswered(present: CallRoute, request: CallReceived) -> tuple[int, ...]:
    """Return the buyers or the agent of a route where a report says that none of them answered."""
    if present.agent_id is not None:
        return (present.agent_id,) if request.unanswered_agent_id == present.agent_id else ()
    rung = present.buyer_ids if present.buyer_id is None else (present.buyer_id,)
    return rung if request.unanswered_buyer_id in rung else ()


def take_answer(person: Person, answer: SlotAnswered) -> None:
    """Route a call by the answer to its request for a slot; release a slot that is not needed any more."""
    call = person.call(answer.call_id)
    found = None if call is None else call.route
    if call is None or found is None or call.ended_at is not None or found.slot_id != answer.request_id:
        if answer.granted:
            slots.release(person, answer.lead_id, answer.request_id)
        return
    if found.action != "pending":
        return
    lead = _caller(person, call)
    choice = buyers.choice_for_inbound(person, lead, call.offer_id, found.tried)
    paused = _paused(person, call)
    connection = None
    if answer.granted and paused is None and buyers.is_answered_by(choice, answer):
        connection = buyers.connection(person, lead, choice, answer, rings_several=found.rings_several)
    if connection is not None:
        _connect(person, call, connection, found.tried, rings_several=found.rings_several)
        return
    if answer.granted:  # a buyer, the lead or the offer changed since the request, or is paused
        release(person, call, "unused")
    call.route = structs.replace(found, slot_id=None)
    gone = buyers.gone(person, lead, answer) if answer.granted and paused is None else ()
    if gone:
        _find_taker(person, call, (*found.tried, *gone), rings_several=found.rings_several)
        return
    if paused is not None:
        _route_elsewhere(person, call, lead, found.tried, paused)
    else:
        reason = answer.reason or NO_BUYER
        _route_elsewhere(person, call, lead, found.tried, reason, _free_at(person, lead, choice, reason, answer.until))


def route_attributed(person: Person, call: Call) -> None:
    """Route a call that waited until it was known whose it is."""
    found = call.route
    if found is None or found.action != "pending" or found.slot_id is not None or call.ended_at is not None:
        return
    if _has_takers(person, call):
        _find_taker(person, call, (), rings_several=found.rings_several)
    else:  # taken from the offer meanwhile
        _route_elsewhere(person, call, _caller(person, call), (), NO_BUYER)


def _await_attribution(person: Person, call: Call, *, rings_several: bool) -> None:
    if _has_takers(person, call):
        call.route = CallRoute("pending", rings_several=rings_several)
        person.save_call(call)
        person.draft.fact("call.route_requested", lead_id=call.lead_id, call_id=call.id, request_id=None)


def _paused(person: Person, call: Call) -> str | None:
    return inbound_pause(person.rules, person.company_id, call.offer_id, call.number_id)


def _has_takers(person: Person, call: Call) -> bool:
    """Return whether the company names buyers or agents for a call; else its gateway knows who answers."""
    offer = buyers.offer_record(person, call.offer_id)
    return offer is not None and not buyers.choice_of_offer(offer).is_anyone


def reported_buyer(call: Call, request: CallReceived) -> int | None:
    """Return the buyer that a report names; one that answered and is not named is that of the route."""
    if request.buyer_id is None and request.buyer_answered_at is not None and is_only_routed(call):
        return call.buyer_id
    return request.buyer_id


def names_loser(call: Call, request: CallReceived) -> bool:
    """Return whether a report names one of several buyers that rang at once, and another of them has the call already."""
    found = call.route
    if found is None or found.buyer_id is None or request.buyer_id not in found.buyer_ids:
        return False
    return request.buyer_id != found.buyer_id


def is_undecided(call: Call) -> bool:
    """Return whether several buyers ring, or rang, at once, and no report has said which of them has the call."""
    return call.route is not None and bool(call.route.buyer_ids) and call.route.buyer_id is None


def mark_connected(person: Person, call: Call) -> None:
    """Mark whether the gateway connected the call to a buyer of its route, or to another one; the losers are free again."""
    if call.route is None:
        return
    _keep_winner(person, call, call.route)
    is_followed = call.route.buyer_id == call.buyer_id
    call.route = structs.replace(call.route, is_connected=is_followed)
    call.buyer_group_id = call.route.buyer_group_id if is_followed else None


def _keep_winner(person: Person, call: Call, found: CallRoute) -> None:
    """Make a route of several buyers one of the buyer that has the call."""
    if found.buyer_id is not None or call.buyer_id is None or call.buyer_id not in found.buyer_ids:
        return
    call.route = structs.replace(found, buyer_id=call.buyer_id)
    if found.slot_id is not None:
        slots.keep_answered(person, slots.caller_id_of(call), found.slot_id, call.buyer_id)


def mark_agent(call: Call, request: CallReceived) -> None:
    """Mark that the agent of the route has the call, where a report of talk names the agent."""
    found = call.route
    if found is None or found.agent_id is None or request.agent_id != found.agent_id:
        return
    if request.state in TALKING or request.talk_seconds:
        call.route = structs.replace(found, is_connected=True)


def is_only_routed(call: Call) -> bool:
    """Return whether the buyer of a call is where it was routed to, and not yet known to have it."""
    found = call.route
    if is_undecided(call):
        return call.buyer_id is None
    return found is not None and found.buyer_id is not None and found.buyer_id == call.buyer_id and not found.is_connected


def end(person: Person, call: Call) -> None:
    """Release the slot of a call that ended: its buyer or agent had it, was rung in vain, or nobody knows."""
    if call.route is None or call.route.slot_id is None:
        return
    if call.route.action == "pending":
        release(person, call, "unused")
    elif call.sub_status == TIMED_OUT or call.ended_at is None or _has_unnamed_buyer(call):
        release(person, call, "unknown")
    else:
        release(person, call, "connected" if call.route.is_connected and call.answered_at is not None else "attempted")


def _has_unnamed_buyer(call: Call) -> bool:
    """Return whether one of several buyers had the call, and no report said which: then all of them count in full."""
    return is_undecided(call) and call.buyer_id is None and call.buyer_answered_at is not None


def release(person: Person, call: Call, ended: slots.SlotUse) -> None:
    """Release the slot of a call, or the request for one, if it has any."""
    if call.route is None or call.route.slot_id is None:
        return
    slots.release_for_call(person, call, call.route.slot_id, ended)
    call.route = structs.replace(call.route, slot_id=None)


def _find_taker(person: Person, call: Call, tried: tuple[int, ...], *, rings_several: bool) -> None:
    """Connect to a buyer without caps, request a slot of one that has or of an agent, or route the call elsewhere."""
    lead = _caller(person, call)
    if (paused := _paused(person, call)) is not None:
        _route_elsewhere(person, call, lead, tried, paused)
        return
    if not _has_takers(person, call):
        return
    choice = buyers.choice_for_inbound(person, lead, call.offer_id, tried)
    if len(tried) < TRIED_MAX and buyers.is_limited(person, lead, choice):
        _request_slot(person, lead, call, choice, tried, rings_several=rings_several)
        return
    connection = None
    if len(tried) < TRIED_MAX:
        connection = buyers.connection(person, lead, choice, None, rings_several=rings_several)
    if connection is None:
        _route_elsewhere(person, call, lead, tried, NO_BUYER, _free_at(person, lead, choice, NO_BUYER, None))
    else:
        _connect(person, call, connection, tried, rings_several=rings_several)


def _caller(person: Person, call: Call) -> Lead:
    """Return the lead of a call, else what is known of its person: for filters and slots, stored nowhere."""
    lead = None if call.lead_id is None else person.lead(call.lead_id)
    if lead is not None:
        return lead
    columns = {} if call.traffic_source_id is None else {"traffic_source_id": call.traffic_source_id}
    return Lead(
        id=slots.caller_id_of(call),
        uuid=call.uuid,
        company_id=person.company_id,
        contact_key=person.key,
        version=0,
        created_at=call.created_at,
        updated_at=call.created_at,
        base_at=call.created_at,
        offer_id=call.offer_id,
        columns=columns,
        data=dict(call.token_values),
    )


def _request_slot(
    person: Person, lead: Lead, call: Call, choice: BuyerChoice, tried: tuple[int, ...], *, rings_several: bool
) -> None:
    request_id = f"{call.uuid}/{len(tried) + 1}"
    call.route = CallRoute("pending", slot_id=request_id, tried=tried, rings_several=rings_several)
    person.save_call(call)
    person.draft.fact("call.route_requested", lead_id=call.lead_id, call_id=call.id, request_id=request_id)
    slots.request_for_call(person, lead, call, choice, request_id, rings_several=rings_several)


def _connect(
    person: Person, call: Call, connection: BuyerConnection, tried: tuple[int, ...], *, rings_several: bool
) -> None:
    legs = connection.legs if rings_several else ()
    # Of several buyers that ring at once nobody knows yet who answers.
    buyer_id, group_id = None if legs else connection.buyer_id, connection.buyer_group_id
    rung = tuple(leg.buyer_id for leg in legs)
    call.route = CallRoute(
        "connect", buyer_id, group_id, connection.slot_id, tried, agent_id=connection.agent_id, buyer_ids=rung
    )
    call.buyer_id, call.buyer_group_id, call.agent_id = buyer_id, group_id, connection.agent_id or call.agent_id
    call.routed_by_epc = connection.routed_by_epc
    call.dial_tier = tier_of(person, group_id, buyer_id)
    mark_repeat_caller(person, call)
    person.save_call(call)
    about: dict[str, Any] = {
        "buyer_id": buyer_id,
        "buyer_group_id": group_id,
        "buyer_number": connection.number,
        "buyer_timeout_seconds": connection.timeout_seconds,
        "buyer_dtmf_tones": connection.dtmf_tones,
    }
    if connection.agent_id is not None:
        about["agent_id"] = connection.agent_id
    if legs:
        about |= {"buyer_legs": [structs.asdict(leg) for leg in legs], "buyer_number": None, "buyer_timeout_seconds": None}
        about["buyer_dtmf_tones"] = None
    person.draft.fact("call.routed", lead_id=call.lead_id, call_id=call.id, action="connect", **about)


def _free_at(person: Person, lead: Lead, choice: BuyerChoice, reason: str, resets_at: Instant | None) -> Instant | None:
    """Return when the first buyer takes the call who does not now: caps are reset and hours have begun.

    None where a pause, a call under way or a limit of 0 is in the way: no clock says when that ends.
    """
    if resets_at is None and reason != NO_BUYER:
        return None
    return buyers.next_opening(person, lead, choice, resets_at) or resets_at


def _route_elsewhere(  # noqa: PLR0917 - why no buyer takes it, and until when
    person: Person,
    call: Call,
    lead: Lead,
    tried: tuple[int, ...],
    reason: str,
    until: Instant | None = None,
) -> None:
    """Route a call that nobody takes to what its offer says."""
    offer = buyers.offer_record(person, call.offer_id)
    action = "voicemail" if offer is None else offer.no_buyer_action
    if action == "callback" and not _promise_callback(person, lead, offer, until):
        action = "voicemail"
    message = None if offer is None else offer.no_buyer_message
    _instead(person, call, action, tried, reason=reason, until=until, message=message)


def _instead(person: Person, call: Call, action: Any, tried: tuple[int, ...], **about: Any) -> None:
    if call.agent_id in tried:
        call.agent_id = None  # was rung and did not answer
    call.route = CallRoute(action, tried=tried)
    person.save_call(call)
    person.draft.fact("call.routed", lead_id=call.lead_id, call_id=call.id, action=action, **about)


def _promise_callback(person: Person, lead: Lead, offer: Offer | None, until: Instant | None) -> bool:
    """Schedule a callback of the offer's buyers or agents, when one is free; return whether the lead has one now."""
    if offer is None or not lead.caller_id or lead.status not in LIVE_STATUSES:
        return False
    if lead.callback_at is None:
        group_id, buyer_id = next(iter(offer.buyer_group_ids), None), next(iter(offer.buyer_ids), None)
        owner = None
        if not buyers.choice_of_offer(offer).is_for_agents:
            owner = CallbackOwner(buyer_group_id=group_id, buyer_id=buyer_id if group_id is None else None, grace_minutes=0)
        at = max(until or EPOCH, person.now + CALLBACK_AFTER)
        callbacks.schedule_callback(person, lead, at, owner, promiser=Promiser("caller"))
        person.save(lead)
        advance(person, lead)
    return True
