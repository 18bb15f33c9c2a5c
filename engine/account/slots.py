"""Which lead may use a limited resource now (a buyer's concurrency cap, a buyer group, a traffic source, a number)?

Slots are granted most urgent first; only the contact releases one. A request waits in the queue of its resource
(`slot_queue.py`) until a slot is free: one is released, a limit is raised, a cap is reset, or a group or buyer is
unpaused. A buyer's own limits count over every resource that names the buyer. Where a cap is used up, so that only its
reset or a change of the record helps, the request is refused until then. A call that is placed already is only counted.
"""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from hashlib import blake2b
from typing import Any

from msgspec import Struct

from engine.account import agent_calls, caps, epc, slot_queue
from engine.account.caps import Capped
from engine.account.choice import Candidate, best_value, choose_buyer, choose_several
from engine.account.pausing import pauses_end_at
from engine.account.references import live_record
from engine.account.spacing import next_call_at
from engine.calendar.business import is_open_for_business, opens_for_business
from engine.partition.draft import Draft
from schemas.account import Claim, Hold, QueuedRequest, Slots
from schemas.commands import BUYER_LEGS_MAX
from schemas.decisions import Answer
from schemas.instant import DAY, Instant
from schemas.money import NOTHING
from schemas.records import CAPPED_TYPES, Buyer, BuyerGroup, Number, Record, TrafficSource, body_of
from schemas.requests import CallEarned, SlotAnswered, SlotReleased, SlotRequested
from schemas.state import claim_key, slots_key
from schemas.topics import CONTACTS_REQUESTS

ANSWERS_AT_ONCE_MAX = 200
"""Grants and refusals of one decision, some 1 KB each. Where a raised limit or a deleted group answers more requests, the
timer of the queue goes on with the next slice."""

CORRECTED_WITHIN = 7 * DAY
"""How long an unknown end is corrected: as long as commands are retained, and their outcomes relayed."""

RESOURCE_LENGTH_MAX = 200
"""Of the name of a resource; a longer one is replaced by its hash."""

NO_BUYER = "no_buyer_available"
BUSY_NOW = "concurrency_cap"
BUYER_CAP = "buyer_cap"
TRAFFIC_SOURCE_CAP = "traffic_source_cap"
NUMBER_CAP = "number_cap"
USED_UP = frozenset({BUYER_CAP, TRAFFIC_SOURCE_CAP, NUMBER_CAP})
"""Reasons for which nothing helps but a reset, or a change of the record."""


class Choice(Struct, frozen=True):
    """The group and the buyer of a call; both None where only the traffic source or the number is limited.

    `buyer_ids` are several buyers of the group to ring at once; then `buyer_id` is None.
    """

    buyer_group_id: int | None = None
    buyer_id: int | None = None
    buyer_ids: tuple[int, ...] = ()
    agent_id: int | None = None


class SlotObstacle(Struct, frozen=True):
    """Why a request gets no slot now.

    Without a `reason` it waits for a release, or for the reset at `until`; with one it is refused, until then.
    """

    reason: str | None = None
    until: Instant | None = None


GONE = SlotObstacle(NO_BUYER)
BUSY = SlotObstacle()


def request_slot(draft: Draft, request: SlotRequested) -> None:
    """Grant, enqueue or refuse a request for a slot. Idempotent: the same id gets the same answer.

    A request for an inbound call is never enqueued: the person hears it ring.
    """
    draft.answer = Answer(status=200)
    claim = draft.get(claim_key(request.company_id, request.request_id), Claim)
    if claim is not None:
        if claim.granted_at is not None and claim.wake_at is None and not request.is_placed:
            _send_answer(draft, claim, granted=True)
        return
    claim = _claim(draft, request)
    if request.is_placed:
        _count_placed(draft, request, claim)
        return
    slots = _slots_for(draft, request)
    # Requests wait only while nothing is free, so this grant overtakes none of them.
    most = BUYER_LEGS_MAX if request.call_id is None or request.rings_several else 1
    choice = None if slots.waiting else _choose(draft, slots, request.request_id, most)
    obstacle = _obstacle(draft, slots) if choice is None else BUSY
    if choice is not None:
        _grant(draft, slots, claim, choice)
    elif obstacle.reason is not None:
        _send_answer(draft, claim, granted=False, obstacle=obstacle)
    elif request.call_id is not None:
        _send_answer(draft, claim, granted=False, obstacle=SlotObstacle(BUSY_NOW, obstacle.until))
    else:
        slots.wake_at = obstacle.until
        _enqueue(draft, slots, claim, request)


def _count_placed(draft: Draft, request: SlotRequested, claim: Claim) -> None:
    """Count a call that is placed already, for its number and the agent who placed it; nobody waits for an answer."""
    claim.agent_id = next(iter(request.agent_ids), None)
    if claim.agent_id is not None and not agent_calls.is_free_to_call(draft, claim.company_id, claim.agent_id):
        claim.agent_id = None
    claim.granted_at, claim.holds = draft.now, tuple(_hold(draft, claim, name) for name in _placed_resources(request))
    if claim.agent_id is not None:
        agent_calls.reserve(draft, claim, claim.agent_id)
    draft.put(claim_key(claim.company_id, claim.request_id), claim)


def _placed_resources(request: SlotRequested) -> list[str]:
    numbers = () if request.number_id is None else (_number_resource(request.number_id),)
    return [*numbers, *(agent_calls.agent_resource(agent_id) for agent_id in request.agent_ids)]


def release_slot(draft: Draft, request: SlotReleased) -> None:
    """Release a slot, or withdraw a request for one; an unknown one has ended before."""
    draft.answer = Answer(status=200)
    key = claim_key(request.company_id, request.request_id)
    claim = draft.get(key, Claim)
    if claim is None:
        return
    if request.goes_on:
        _keep_answered(draft, claim, request.buyer_id)
        return
    if claim.wake_at is not None:
        _correct(draft, claim, request)
        return
    if request.ended == "unknown" and (claim.is_by_epc or any(hold.number for hold in claim.holds)):
        claim.wake_at = draft.now + CORRECTED_WITHIN
        draft.put(key, claim)
    else:
        draft.remove(key)
    if claim.granted_at is None:
        slots = _slots_of(draft, claim.company_id, claim.resource)
        slot_queue.remove(draft, slots, claim)
        _put_slots(draft, slots)
        _register_waits(draft, slots)
        return
    lost = _lost_resources(claim, request.buyer_id) if request.ended in {"connected", "unknown"} else set()
    freed: list[str] = []
    for hold in claim.holds or _holds_before_caps(claim):
        freed += _end_hold(draft, claim, hold, "attempted" if hold.resource in lost else request.ended)
    freed += _queues_for(draft, claim.company_id, agent_calls.give_back(draft, claim, request.ended))
    _grant_waiting(draft, claim.company_id, freed)


def _correct(draft: Draft, claim: Claim, request: SlotReleased) -> None:
    """Correct what a slot has used that was released as unknown: its end is known now. An agent stays as they are."""
    if request.ended == "unknown":
        return
    draft.remove(claim_key(claim.company_id, claim.request_id))
    lost = _lost_resources(claim, request.buyer_id)
    is_connected = claim.buyer_id is not None or bool(claim.buyer_ids)
    freed: list[str] = []
    for hold in claim.holds:
        slots = _slots_of(draft, claim.company_id, hold.resource)
        ended: caps.Ended = "attempted" if hold.resource in lost and request.ended == "connected" else request.ended
        caps.correct_use(slots, hold.number, ended, is_connected=is_connected)
        _count_for_epc(draft, claim, hold, slots, ended)
        _put_slots(draft, slots)
        freed += [slots.resource, *slots.wanted_by]
    _grant_waiting(draft, claim.company_id, freed)


def _count_for_epc(draft: Draft, claim: Claim, hold: Hold, slots: Slots, ended: caps.Ended) -> None:
    """Count a connected call in what its buyer earns by each call."""
    if claim.is_by_epc and ended == "connected" and claim.granted_at is not None and hold.resource in _rung_resources(claim):
        epc.add_call(slots, claim.granted_at, draft.now)


def _keep_answered(draft: Draft, claim: Claim, buyer_id: int | None) -> None:
    """Make a slot of several buyers one of the buyer that answered: the others were rung, and are free again."""
    lost = _lost_resources(claim, buyer_id)
    if not lost:
        return
    ended = [hold for hold in claim.holds if hold.resource in lost]
    claim.holds = tuple(hold for hold in claim.holds if hold.resource not in lost)
    claim.buyer_id, claim.buyer_ids = buyer_id, ()
    draft.put(claim_key(claim.company_id, claim.request_id), claim)
    freed = [name for hold in ended for name in _end_hold(draft, claim, hold, "attempted")]
    _grant_waiting(draft, claim.company_id, freed)


def _lost_resources(claim: Claim, buyer_id: int | None) -> set[str]:
    """Return the buyers of a slot, by resource, that another one of them answered before."""
    if buyer_id not in claim.buyer_ids:
        return set()
    return {_buyer_resource(other) for other in claim.buyer_ids if other != buyer_id}


def _rung_resources(claim: Claim) -> set[str]:
    """Return the buyers of a slot, by resource."""
    return {_buyer_resource(buyer_id) for buyer_id in (*claim.buyer_ids, claim.buyer_id) if buyer_id is not None}


def _end_hold(draft: Draft, claim: Claim, hold: Hold, ended: caps.Ended) -> list[str]:
    """End what a slot holds of one resource; return the resources whose queues may go on."""
    slots = _slots_of(draft, claim.company_id, hold.resource)
    slots.in_use -= 1
    is_connected = claim.buyer_id is not None or bool(claim.buyer_ids)
    before = _reached(draft, slots)
    caps.settle_reservation(slots, hold.number, ended, is_connected=is_connected)
    _count_for_epc(draft, claim, hold, slots, ended)
    _report_reached(draft, slots, before)
    _put_slots(draft, slots)
    return [slots.resource, *slots.wanted_by]


def grant_to_agent(draft: Draft, company_id: int, agent_id: int) -> None:
    """Grant what waits for an agent who may be available now."""
    _grant_waiting(draft, company_id, _queues_for(draft, company_id, agent_calls.resources_of(draft, company_id, agent_id)))


def _queues_for(draft: Draft, company_id: int, resources: Iterable[str]) -> list[str]:
    """Return the queues that wait for any of these resources."""
    return [queue for resource in resources for queue in _slots_of(draft, company_id, resource).wanted_by]


def _reached(draft: Draft, slots: Slots) -> dict[str, Decimal]:
    """Return the caps of a resource that are used up, with the amounts."""
    body = _capped(draft, slots.company_id, slots.resource) if slots.tallies else None
    return {} if body is None else caps.reached_caps(slots.tallies, body, draft.now)


def _report_reached(draft: Draft, slots: Slots, before: Mapping[str, Decimal]) -> None:
    """State each cap that this decision has used up."""
    newly = {cap: used for cap, used in _reached(draft, slots).items() if cap not in before}
    body = _capped(draft, slots.company_id, slots.resource) if newly else None
    if body is None:
        return
    record_type, _, record_id = slots.resource.partition("/")
    for cap, used in newly.items():
        resets_at = caps.resets_at(slots.tallies, body, cap, draft.now)
        about: dict[str, Any] = {"record_type": record_type, "record_id": int(record_id), "cap": cap}
        draft.fact("cap.reached", **about, limit=body.caps[cap], used=used, resets_at=resets_at)


def count_earned(draft: Draft, request: CallEarned) -> None:
    """Count what a call earned against the caps of its buyer, group and traffic source."""
    draft.answer = Answer(status=200)
    changed: list[str] = []
    for resource, amounts in request.amounts.items():
        body = _capped(draft, request.company_id, resource)
        if body is None:
            continue
        slots = _slots_of(draft, request.company_id, resource)
        caps.roll_periods(slots, body, draft.now)
        if slots.tallies:
            before = _reached(draft, slots)
            caps.add_amounts(slots, request.at, amounts)
            _report_reached(draft, slots, before)
            changed += [resource, *slots.wanted_by]
        is_epc = request.routed_by_epc and isinstance(body, Buyer)
        if is_epc:
            epc.add_revenue(slots, request.at, draft.now, amounts.get("revenue", NOTHING))
        if slots.tallies or is_epc:
            _put_slots(draft, slots)
    _grant_waiting(draft, request.company_id, changed)


def apply_record_change(draft: Draft, record: Record) -> None:
    """Grant what a changed record allows now; refuse requests for a deleted group."""
    if agent_calls.is_about_agent(record):
        grant_to_agent(draft, record.company_id, record.id)
    if record.type not in CAPPED_TYPES:
        return
    slots = draft.get(slots_key(record.company_id, f"{record.type}/{record.id}"), Slots)
    if slots is None:
        return
    before = slots.tallies
    caps.roll_periods(slots, caps.capped(body_of(record)), draft.now)
    if slots.tallies != before:
        _put_slots(draft, slots)
    _grant_waiting(draft, record.company_id, [slots.resource, *slots.wanted_by])


def wake(draft: Draft, slots: Slots) -> None:
    """Grant what the reset of a cap allows."""
    slots.wake_at = None
    _put_slots(draft, slots)
    _grant_waiting(draft, slots.company_id, [slots.resource])


# -- resources and claims --------------------------------------------------------------------------------------------------


def _claim(draft: Draft, request: SlotRequested) -> Claim:
    return Claim(
        company_id=request.company_id,
        request_id=request.request_id,
        contact_key=request.contact_key,
        lead_id=request.lead_id,
        resource=_resource(request),
        buyer_group_id=request.buyer_group_id,
        requested_at=draft.now,
        call_id=request.call_id,
        is_by_epc=request.route_by_type == "epc",
        number_id=request.number_id,
    )


def _limiting_number(request: SlotRequested) -> int | None:
    """Return the number whose caps may hold the request back."""
    return None if request.is_promised else request.number_id


def _resource(request: SlotRequested) -> str:
    named: list[str] = []
    number_id = _limiting_number(request)
    if request.agent_ids or request.call_center_ids:
        named.append(f"agents/{_joined(request.agent_ids)}/{_joined(request.call_center_ids)}")
    elif request.buyer_group_id is not None:
        named.append(f"buyer_group/{request.buyer_group_id}")
    elif request.buyer_group_ids:
        named.append(f"buyer_groups/{_joined(request.buyer_group_ids)}")
    is_of_nobody = not named and request.traffic_source_id is None and number_id is None
    if request.buyer_group_id is None and (request.buyer_ids or is_of_nobody):
        named.append(f"buyers/{_joined(request.buyer_ids)}")
    if request.traffic_source_id is not None:
        named.append(f"from/{request.traffic_source_id}")
    if number_id is not None:
        named.append(f"by_number/{number_id}")
    if request.route_by_type != "tier":
        named.append(f"by/{request.route_by_type}")
    if request.excluded_buyer_ids:
        named.append(f"without/{_joined(request.excluded_buyer_ids)}")
    if request.excluded_agent_ids:
        named.append(f"without_agents/{_joined(request.excluded_agent_ids)}")
    name = "/".join(named)
    return name if len(name) <= RESOURCE_LENGTH_MAX else f"named/{blake2b(name.encode(), digest_size=16).hexdigest()}"


def _joined(ids: Iterable[int]) -> str:
    return "+".join(str(record_id) for record_id in sorted(set(ids)))


def _buyer_resource(buyer_id: int) -> str:
    return f"buyer/{buyer_id}"


def _group_resource(group_id: int) -> str:
    return f"buyer_group/{group_id}"


def _number_resource(number_id: int) -> str:
    return f"number/{number_id}"


def _slots_for(draft: Draft, request: SlotRequested) -> Slots:
    resource = _resource(request)
    known = draft.get(slots_key(request.company_id, resource), Slots)
    slots = known or Slots(resource=resource, company_id=request.company_id)
    # So far this group may only have been counted; now it is requested.
    slots.buyer_group_id = request.buyer_group_id
    if request.buyer_group_id is None:
        slots.buyer_group_ids = tuple(sorted(set(request.buyer_group_ids)))
        slots.buyer_ids = tuple(sorted(set(request.buyer_ids)))
    slots.agent_ids = tuple(sorted(set(request.agent_ids)))
    slots.call_center_ids = tuple(sorted(set(request.call_center_ids)))
    slots.traffic_source_id = request.traffic_source_id
    slots.excluded_buyer_ids, slots.route_by_type = request.excluded_buyer_ids, request.route_by_type
    slots.number_id, slots.excluded_agent_ids = _limiting_number(request), request.excluded_agent_ids
    return slots


def _slots_of(draft: Draft, company_id: int, resource: str) -> Slots:
    return draft.get(slots_key(company_id, resource), Slots) or Slots(resource=resource, company_id=company_id)


def _put_slots(draft: Draft, slots: Slots) -> None:
    """Store the slots of a resource as a new version.

    The queue of a set of excluded buyers or agents is removed once it is empty: there may be as many sets as leads.
    """
    if not slots.waiting:
        slots.wake_at = None
    slots.version += 1
    excludes = slots.excluded_buyer_ids or slots.excluded_agent_ids
    if excludes and not (slots.in_use or slots.waiting or slots.wants):
        draft.remove(slots_key(slots.company_id, slots.resource))
    else:
        draft.put(slots_key(slots.company_id, slots.resource), slots)


def _group_ids(slots: Slots) -> tuple[int, ...]:
    return slots.buyer_group_ids if slots.buyer_group_id is None else (slots.buyer_group_id,)


def _shared_resources(slots: Slots) -> list[str]:
    """Return what limits each call of a queue, to any buyer or agent: the traffic source and the number."""
    source = () if slots.traffic_source_id is None else (f"traffic_source/{slots.traffic_source_id}",)
    return [*source, *(() if slots.number_id is None else (_number_resource(slots.number_id),))]


def _capped(draft: Draft, company_id: int, resource: str) -> Capped | None:
    """Return the live record whose limits a resource counts, or None for a mere queue."""
    record_type, _, record_id = resource.partition("/")
    if record_type not in CAPPED_TYPES or not record_id.isdigit():
        return None
    record = live_record(draft, company_id, record_type, int(record_id))
    return None if record is None else caps.capped(body_of(record))


# -- availability ------------------------------------------------------------------------------------------------------


class _Route(Struct, frozen=True):
    """One buyer, through a group or directly, and what blocks a call to it (None: nothing)."""

    buyer_group_id: int | None
    buyer_id: int
    obstacle: SlotObstacle | None
    buyer: Buyer
    group: BuyerGroup | None = None


def _routes(draft: Draft, slots: Slots) -> Iterator[_Route]:
    """Yield the routes of a call of the queue: the buyers of its groups, then those named directly."""
    for group_id in _group_ids(slots):
        group = _capped(draft, slots.company_id, _group_resource(group_id))
        if isinstance(group, BuyerGroup):
            closed = _record_obstacle(draft, slots.company_id, _group_resource(group_id), group)
            for buyer_id in _wanted(slots, group.buyer_ids):
                yield from _route(draft, slots.company_id, buyer_id, group_id, group, closed)
    for buyer_id in _wanted(slots, slots.buyer_ids):
        yield from _route(draft, slots.company_id, buyer_id)


def _wanted(slots: Slots, buyer_ids: Iterable[int]) -> list[int]:
    return [buyer_id for buyer_id in buyer_ids if buyer_id not in slots.excluded_buyer_ids]


def _route(  # noqa: PLR0917 - the group of the buyer
    draft: Draft,
    company_id: int,
    buyer_id: int,
    group_id: int | None = None,
    group: BuyerGroup | None = None,
    closed: SlotObstacle | None = None,
) -> Iterator[_Route]:
    buyer = _capped(draft, company_id, _buyer_resource(buyer_id))
    if isinstance(buyer, Buyer):
        obstacle = _harder_obstacle(closed, _record_obstacle(draft, company_id, _buyer_resource(buyer_id), buyer))
        yield _Route(group_id, buyer_id, obstacle, buyer, group)


def _record_obstacle(draft: Draft, company_id: int, resource: str, body: Capped) -> SlotObstacle | None:
    """Return what blocks a call to a record now: paused, closed, cap used up or busy; None where nothing does."""
    is_shut = body.concurrency_cap_limit == 0
    if is_shut or (isinstance(body, Buyer | BuyerGroup) and not _accepts_calls(draft, body)):
        return GONE
    spacing = body.spacing_seconds if isinstance(body, Buyer | BuyerGroup) else 0
    if body.concurrency_cap_limit is None and not body.caps and not spacing:
        return None
    slots = _slots_of(draft, company_id, resource)
    shut = caps.blocking_caps(slots.tallies, body, draft.now)
    if shut is not None and not shut.may_be_freed:
        return SlotObstacle(_cap_of(body), shut.until)
    if body.concurrency_cap_limit is not None and slots.in_use >= body.concurrency_cap_limit:
        return BUSY if shut is None else SlotObstacle(None, shut.until)
    next_at = next_call_at(spacing, slots.last_granted_at)
    if shut is None and next_at is not None and next_at > draft.now:
        return SlotObstacle(None, next_at)
    return None if shut is None else SlotObstacle(None, shut.until)


def _cap_of(body: Capped) -> str:
    """Return the reason where the caps of a record are used up."""
    if isinstance(body, Number):
        return NUMBER_CAP
    return TRAFFIC_SOURCE_CAP if isinstance(body, TrafficSource) else BUYER_CAP


def _accepts_calls(draft: Draft, body: Buyer | BuyerGroup) -> bool:
    return not body.paused and is_open_for_business(body.business_hours, body.time_zone, draft.now)


def _harder_obstacle(one: SlotObstacle | None, other: SlotObstacle | None) -> SlotObstacle | None:
    """Return the harder of two obstacles of one route: gone, then used up, then busy. The later reset counts."""
    if one is None or other is None:
        return one or other
    if GONE in {one, other}:
        return GONE
    if one.reason is None or other.reason is None:
        return one if one.reason is not None else other
    return SlotObstacle(one.reason, None if one.until is None or other.until is None else max(one.until, other.until))


def _shared_obstacle(draft: Draft, slots: Slots) -> SlotObstacle | None:
    """Return what blocks each call of a queue, to any buyer or agent."""
    hardest: SlotObstacle | None = None
    for resource in _shared_resources(slots):
        body = _capped(draft, slots.company_id, resource)
        found = None if body is None else _record_obstacle(draft, slots.company_id, resource, body)
        if body is not None and found == GONE:  # closed by a limit of 0
            found = SlotObstacle(_cap_of(body))
        hardest = _harder_obstacle(hardest, found)
    return hardest


def _choose(draft: Draft, slots: Slots, request_id: str, most: int = BUYER_LEGS_MAX) -> Choice | None:
    """Return the group and buyer for a request, or None where it must wait: groups first, then lower tiers.

    A group that is dialled simultaneously gives several buyers of its lowest tier, `most` of them.
    """
    if _shared_obstacle(draft, slots) is not None:
        return None
    if agent_calls.is_for_agents(slots):
        agent_id = agent_calls.free_agent(draft, slots)
        return None if agent_id is None else Choice(agent_id=agent_id)
    if not _group_ids(slots) and not slots.buyer_ids:
        return Choice() if _shared_resources(slots) else None
    free = [way for way in _routes(draft, slots) if way.obstacle is None]
    buyers_of = _candidates(draft, slots, free)
    groups = {way.buyer_group_id: way.group for way in free if way.group is not None}
    group_id: int | None = next(iter(groups), None)
    if len(groups) > 1:
        among = [
            Candidate(found or 0, group.tier, group.weight, best_value(buyers_of[found])) for found, group in groups.items()
        ]
        group_id = choose_buyer(among, f"{request_id}/group")
    buyers = buyers_of.get(group_id, [])
    group = groups.get(group_id)
    if group is not None and group.dial_buyers_type == "simultaneously":
        several = choose_several(buyers, request_id, most)
        if len(several) > 1:
            return Choice(group_id, buyer_ids=several)
    buyer_id = choose_buyer(buyers, request_id)
    return None if buyer_id is None else Choice(group_id, buyer_id)


def _candidates(draft: Draft, slots: Slots, free: Iterable[_Route]) -> dict[int | None, list[Candidate]]:
    """Return the free buyers by group (those named without one under None), with what they pay."""
    found: dict[int | None, list[Candidate]] = {}
    for way in free:
        candidate = Candidate(way.buyer_id, way.buyer.tier, way.buyer.weight, _value(draft, slots, way))
        found.setdefault(way.buyer_group_id, []).append(candidate)
    return found


def _value(draft: Draft, slots: Slots, way: _Route) -> Decimal:
    """Return what a buyer pays, by the way in which calls of the queue are routed."""
    match slots.route_by_type:
        case "tier":
            return NOTHING
        case "revenue":
            return way.buyer.bid_price or NOTHING
        case "epc":
            return epc.epc_of(_slots_of(draft, slots.company_id, _buyer_resource(way.buyer_id)), draft.now)


def _obstacle(draft: Draft, slots: Slots) -> SlotObstacle:
    """Return why a queue gets no slot now: the route that opens first counts, traffic source and number for all."""
    shared = _shared_obstacle(draft, slots)
    if shared is not None and shared.reason is not None:
        return shared
    if agent_calls.is_for_agents(slots):
        return shared or BUSY
    ways = list(_routes(draft, slots))
    waits = [way.obstacle or BUSY for way in ways if way.obstacle is None or way.obstacle.reason is None]
    if waits or (shared is not None and not ways):
        resets = [found.until for found in (*waits, shared) if found is not None and found.until is not None]
        return SlotObstacle(None, min(resets, default=None))
    used_up = [way.obstacle for way in ways if way.obstacle is not None and way.obstacle.reason == BUYER_CAP]
    opens = (*(found.until for found in used_up), *(_opens_at(draft, way) for way in ways if way.obstacle == GONE))
    return SlotObstacle(BUYER_CAP if used_up else NO_BUYER, min((at for at in opens if at is not None), default=None))


def _opens_at(draft: Draft, way: _Route) -> Instant | None:
    """Return when the hours of a closed route begin; None for a pause of which nobody knows when it ends."""
    bodies: list[Buyer | BuyerGroup] = [way.buyer] if way.group is None else [way.buyer, way.group]
    resumes_at = pauses_end_at(bodies, draft.now)
    if resumes_at is None or any(body.concurrency_cap_limit == 0 for body in bodies):
        return None
    opens_at = opens_for_business([(body.business_hours, body.time_zone) for body in bodies], resumes_at)
    return None if opens_at == draft.now else opens_at


# -- the queue ---------------------------------------------------------------------------------------------------------


def _enqueue(draft: Draft, slots: Slots, claim: Claim, request: SlotRequested) -> None:
    slot_queue.add(draft, slots, claim, request)
    draft.put(claim_key(claim.company_id, claim.request_id), claim)
    _put_slots(draft, slots)
    _register_waits(draft, slots)


def _grant_waiting(draft: Draft, company_id: int, resources: Iterable[str]) -> None:
    """Grant waiting requests of these resources while slots are free, the most urgent of all first.

    Refuse requests that wait for a record whose caps are used up by now.
    """
    queues = [_slots_of(draft, company_id, resource) for resource in dict.fromkeys(resources)]
    queues = [slots for slots in queues if slots.waiting]
    for _ in range(ANSWERS_AT_ONCE_MAX):
        found = _next_grant(draft, queues)
        if found is None:
            break
        slots, claim, choice = found
        slot_queue.remove(draft, slots, claim)
        _grant(draft, slots, claim, choice)
    else:
        _go_on_later(draft, queues)
        return
    for slots in queues:
        _update_wait(draft, slots)


def _go_on_later(draft: Draft, queues: Iterable[Slots]) -> None:
    """Let the timers of queues go on with the next slice: a decision has as many answers as it may."""
    for slots in queues:
        if slots.waiting:
            slots.wake_at = draft.now + 1  # a tick must leave a later timer: one at the same instant counts as stuck
        _put_slots(draft, slots)
        _register_waits(draft, slots)


def _update_wait(draft: Draft, slots: Slots) -> None:
    """Update what a queue waits for; refuse all of it where the caps are used up, or its group is deleted."""
    obstacle = _obstacle(draft, slots) if slots.waiting else BUSY
    if obstacle.reason in USED_UP or (slots.waiting and _is_group_deleted(draft, slots)):
        _refuse_all(draft, slots, obstacle)
        return
    if slots.waiting and slots.wake_at != obstacle.until:
        slots.wake_at = obstacle.until
        _put_slots(draft, slots)
    _register_waits(draft, slots)


def _is_group_deleted(draft: Draft, slots: Slots) -> bool:
    group_id = slots.buyer_group_id
    return group_id is not None and live_record(draft, slots.company_id, "buyer_group", group_id) is None


def _next_grant(draft: Draft, queues: Iterable[Slots]) -> tuple[Slots, Claim, Choice] | None:
    """Return the most urgent request that can be granted now, with its queue, group and buyer; None where all must wait."""
    heads = [(head, slots) for slots in queues if (head := slot_queue.first(draft, slots)) is not None]
    for head, slots in sorted(heads, key=lambda found: (found[0].rank(draft.now), found[1].resource)):
        choice = _choose(draft, slots, head.request_id)
        if choice is not None:
            return slots, _waiting_claim(draft, slots, head), choice
    return None


def _grant(draft: Draft, slots: Slots, claim: Claim, choice: Choice) -> None:
    names = [slots.resource, *(() if choice.buyer_group_id is None else (_group_resource(choice.buyer_group_id),))]
    names += _shared_resources(slots)
    names += () if claim.number_id is None else (_number_resource(claim.number_id),)
    rung = choice.buyer_ids or (() if choice.buyer_id is None else (choice.buyer_id,))
    names += [_buyer_resource(buyer_id) for buyer_id in rung]
    holds = tuple(_hold(draft, claim, name, slots, is_connected=bool(rung)) for name in dict.fromkeys(names))
    claim.granted_at, claim.holds = draft.now, holds
    claim.buyer_group_id, claim.buyer_id, claim.buyer_ids = choice.buyer_group_id, choice.buyer_id, choice.buyer_ids
    claim.agent_id = choice.agent_id
    if choice.agent_id is not None:
        agent_calls.reserve(draft, claim, choice.agent_id)
    draft.put(claim_key(claim.company_id, claim.request_id), claim)
    _send_answer(draft, claim, granted=True)


def _hold(draft: Draft, claim: Claim, name: str, queue: Slots | None = None, *, is_connected: bool = False) -> Hold:
    """Count one more slot of a resource, which may be that of the queue itself; return what the claim holds of it."""
    counted = queue if queue is not None and name == queue.resource else _slots_of(draft, claim.company_id, name)
    body = _capped(draft, claim.company_id, name)
    counted.in_use += 1
    if isinstance(body, Buyer | BuyerGroup) and body.spacing_seconds:
        counted.last_granted_at = draft.now
    caps.roll_periods(counted, body, draft.now)
    held = Hold(name, caps.reserve(counted, is_connected=is_connected))
    _put_slots(draft, counted)
    return held


def _holds_before_caps(claim: Claim) -> list[Hold]:
    """Return the resources of a slot that was granted before caps were counted."""
    buyers = [] if claim.buyer_id is None else [Hold(_buyer_resource(claim.buyer_id))]
    return [Hold(claim.resource), *buyers]


def _waiting_claim(draft: Draft, slots: Slots, place: QueuedRequest) -> Claim:
    claim = draft.get(claim_key(slots.company_id, place.request_id), Claim)
    assert claim is not None  # noqa: S101 - every waiting request has a claim
    return claim


def _register_waits(draft: Draft, slots: Slots) -> None:
    """Register the queue with each record that it waits for: a release of the record continues the queue."""
    wanted = tuple(sorted(_waited_resources(draft, slots))) if slots.waiting else ()
    known = {_buyer_resource(name) if isinstance(name, int) else name for name in slots.wants}
    if wanted == slots.wants or {*wanted} == known:
        return
    for name in sorted({*wanted} ^ known):
        counted = _slots_of(draft, slots.company_id, name)
        counted.wanted_by = tuple(sorted({*counted.wanted_by} ^ {slots.resource}))
        _put_slots(draft, counted)
    slots.wants = wanted
    _put_slots(draft, slots)


def _waited_resources(draft: Draft, slots: Slots) -> Iterator[str]:
    found = {_group_resource(group_id) for group_id in _group_ids(slots)}
    found |= {_buyer_resource(buyer_id) for buyer_id in _wanted(slots, slots.buyer_ids)}
    for group_id in _group_ids(slots):
        group = _capped(draft, slots.company_id, _group_resource(group_id))
        if isinstance(group, BuyerGroup):
            found |= {_buyer_resource(buyer_id) for buyer_id in _wanted(slots, group.buyer_ids)}
    found |= agent_calls.waited_agents(slots)
    yield from (found | {*_shared_resources(slots)}) - {slots.resource}


def _refuse_all(draft: Draft, slots: Slots, obstacle: SlotObstacle) -> None:
    """Refuse a queue, or the most urgent of it: its timer goes on with the next slice."""
    for _ in range(ANSWERS_AT_ONCE_MAX):
        head = slot_queue.first(draft, slots)
        if head is None:
            break
        claim = _waiting_claim(draft, slots, head)
        slot_queue.remove(draft, slots, claim)
        draft.remove(claim_key(claim.company_id, claim.request_id))
        _send_answer(draft, claim, granted=False, obstacle=obstacle)
    _go_on_later(draft, [slots])


def _send_answer(draft: Draft, claim: Claim, *, granted: bool, obstacle: SlotObstacle = BUSY) -> None:
    answer = SlotAnswered(
        company_id=claim.company_id,
        contact_key=claim.contact_key,
        lead_id=claim.lead_id,
        request_id=claim.request_id,
        granted=granted,
        buyer_id=claim.buyer_id,
        buyer_group_id=claim.buyer_group_id,
        reason=obstacle.reason,
        until=obstacle.until,
        call_id=claim.call_id,
        buyer_ids=claim.buyer_ids,
        agent_id=claim.agent_id,
        number_id=claim.number_id,
    )
    draft.send(CONTACTS_REQUESTS.name, claim.contact_key, answer)
