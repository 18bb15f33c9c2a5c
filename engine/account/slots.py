"""Who may call with a limited resource now? Slots are granted most urgent first, and ended by the contact alone.

A request waits in the queue of its resource until a slot is free: because one is released, a limit was raised, or a group
or buyer is no longer paused. A buyer's own cap counts over every resource that names the buyer.
"""

from bisect import bisect_right
from collections.abc import Iterable
from functools import partial

from msgspec import structs

from engine.account.choice import Candidate, choose_buyer
from engine.account.references import live
from engine.calendar.business import is_open_for_business
from engine.partition.draft import Draft
from schemas.account import Claim, Slots, Waiting
from schemas.decisions import Answer
from schemas.instant import HOUR, Instant
from schemas.records import Buyer, BuyerGroup, Record, body_of
from schemas.requests import SlotAnswered, SlotReleased, SlotRequested
from schemas.state import claim_key, slots_key
from schemas.topics import CONTACTS_REQUESTS

WAITING_MAX = 200
"""In the queue of one resource: each decision about it carries the whole queue (some 18 KB). A less urgent request than
all of them is refused as `rate_limited`, and its contact asks again; a more urgent one takes the last one's place."""

NO_BUYER = "no_buyer_available"
QUEUE_FULL = "rate_limited"


def request_slot(draft: Draft, request: SlotRequested) -> None:
    """Grant, keep waiting, or refuse; asked again under the same id, the answer is the same."""
    draft.answer = Answer(status=200)
    claim = draft.get(claim_key(request.company_id, request.request_id), Claim)
    if claim is not None:
        if claim.granted_at is not None:
            _tell(draft, claim, granted=True)
        return
    claim = _claim(draft, request)
    slots = _slots_for(draft, request)
    # Whoever waits is waiting because nothing is free, so nobody is passed over here.
    buyer_id = None if slots.waiting else _free_buyer(draft, slots, request.request_id)
    if buyer_id is not None:
        _grant(draft, slots, claim, buyer_id)
    elif not _open(draft, slots):
        _tell(draft, claim, granted=False, reason=NO_BUYER)
    elif _is_hopeless(slots, request):
        _tell(draft, claim, granted=False, reason=QUEUE_FULL)
    else:
        draft.put(claim_key(claim.company_id, claim.request_id), claim)
        _enqueue(draft, slots, request)


def release_slot(draft: Draft, request: SlotReleased) -> None:
    """End a slot, or a request for one; what is not known has ended before."""
    draft.answer = Answer(status=200)
    key = claim_key(request.company_id, request.request_id)
    claim = draft.get(key, Claim)
    if claim is None:
        return
    draft.remove(key)
    slots = _known(draft, claim.company_id, claim.resource)
    if claim.granted_at is None:
        slots.waiting = tuple(waiting for waiting in slots.waiting if waiting.request_id != claim.request_id)
        _keep(draft, slots)
        _want(draft, slots)
        return
    slots.in_use -= 1
    _keep(draft, slots)
    freed = [slots.resource]
    if claim.buyer_id is not None:
        buyer = _known(draft, claim.company_id, _buyer_resource(claim.buyer_id))
        buyer.in_use -= 1
        _keep(draft, buyer)
        freed += buyer.wanted_by
    _grant_waiting(draft, claim.company_id, freed)


def follow_change(draft: Draft, record: Record) -> None:
    """Grant what a changed group or buyer now allows, and refuse what waits for a group that is gone."""
    if record.type not in {"buyer_group", "buyer"}:
        return
    slots = draft.get(slots_key(record.company_id, f"{record.type}/{record.id}"), Slots)
    if slots is None:
        return
    if record.type == "buyer":
        _grant_waiting(draft, record.company_id, slots.wanted_by)
    elif record.deleted_at is None:
        _grant_waiting(draft, record.company_id, [slots.resource])
    else:
        _refuse_all(draft, slots)


def _claim(draft: Draft, request: SlotRequested) -> Claim:
    return Claim(
        company_id=request.company_id,
        request_id=request.request_id,
        contact_key=request.contact_key,
        lead_id=request.lead_id,
        resource=_resource(request),
        buyer_group_id=request.buyer_group_id,
        requested_at=draft.now,
    )


def _resource(request: SlotRequested) -> str:
    if request.buyer_group_id is not None:
        return f"buyer_group/{request.buyer_group_id}"
    return "buyers/" + "+".join(str(buyer_id) for buyer_id in sorted(set(request.buyer_ids)))


def _buyer_resource(buyer_id: int) -> str:
    return f"buyer/{buyer_id}"


def _slots_for(draft: Draft, request: SlotRequested) -> Slots:
    resource = _resource(request)
    known = draft.get(slots_key(request.company_id, resource), Slots)
    if known is not None:
        return known
    buyer_ids = () if request.buyer_group_id is not None else tuple(sorted(set(request.buyer_ids)))
    group_id = request.buyer_group_id
    return Slots(resource=resource, company_id=request.company_id, buyer_group_id=group_id, buyer_ids=buyer_ids)


def _known(draft: Draft, company_id: int, resource: str) -> Slots:
    return draft.get(slots_key(company_id, resource), Slots) or Slots(resource=resource, company_id=company_id)


def _keep(draft: Draft, slots: Slots) -> None:
    """Put the slots of a resource, as a new version; who has left the queue ages no more."""
    if slots.aging:
        waiting = {place.request_id for place in slots.waiting}
        slots.aging = {request_id: aging for request_id, aging in slots.aging.items() if request_id in waiting}
    slots.version += 1
    draft.put(slots_key(slots.company_id, slots.resource), slots)


def _group(draft: Draft, slots: Slots) -> BuyerGroup | None:
    if slots.buyer_group_id is None:
        return None
    record = live(draft, slots.company_id, "buyer_group", slots.buyer_group_id)
    body = None if record is None else body_of(record)
    return body if isinstance(body, BuyerGroup) else None


def _candidates(draft: Draft, slots: Slots, group: BuyerGroup | None) -> list[Candidate]:
    buyer_ids = slots.buyer_ids if group is None else group.buyer_ids
    found = ((buyer_id, _buyer(draft, slots.company_id, buyer_id)) for buyer_id in buyer_ids)
    return [_candidate(draft, slots.company_id, buyer_id, buyer) for buyer_id, buyer in found if buyer is not None]


def _buyer(draft: Draft, company_id: int, buyer_id: int) -> Buyer | None:
    """Return a buyer that takes calls, now or when others have ended: neither gone, paused nor closed at this hour."""
    record = live(draft, company_id, "buyer", buyer_id)
    body = None if record is None else body_of(record)
    return body if isinstance(body, Buyer) and _takes_calls(draft, body) and body.concurrency_cap_limit != 0 else None


def _takes_calls(draft: Draft, body: Buyer | BuyerGroup) -> bool:
    return not body.paused and is_open_for_business(body.business_hours, body.time_zone, draft.now)


def _candidate(draft: Draft, company_id: int, buyer_id: int, buyer: Buyer) -> Candidate:
    limit = buyer.concurrency_cap_limit
    free = None if limit is None else limit - _known(draft, company_id, _buyer_resource(buyer_id)).in_use
    return Candidate(buyer_id, buyer.tier, buyer.weight, free)


def _open(draft: Draft, slots: Slots) -> bool:
    """Tell whether waiting can end: the group is neither gone, paused nor closed, and a buyer takes calls."""
    group = _group(draft, slots)
    if slots.buyer_group_id is not None and (
        group is None or not _takes_calls(draft, group) or group.concurrency_cap_limit == 0
    ):
        return False
    return bool(_candidates(draft, slots, group))


def _free_buyer(draft: Draft, slots: Slots, request_id: str) -> int | None:
    """Return the buyer that a request would get now, or None where it must wait."""
    group = _group(draft, slots)
    if slots.buyer_group_id is not None and (group is None or not _takes_calls(draft, group)):
        return None
    if group is not None and group.concurrency_cap_limit is not None and slots.in_use >= group.concurrency_cap_limit:
        return None
    return choose_buyer(_candidates(draft, slots, group), request_id)


def _is_hopeless(slots: Slots, request: SlotRequested) -> bool:
    """Tell whether a full queue has nobody less urgent, so that nothing need be written."""
    if len(slots.waiting) < WAITING_MAX:
        return False
    last = slots.waiting[-1]
    urgency = (request.urgency_class, request.priority, request.due_at)
    return urgency >= (last.urgency_class, last.priority, last.due_at)


def _enqueue(draft: Draft, slots: Slots, request: SlotRequested) -> None:
    slots.arrivals += 1
    place = Waiting(request.urgency_class, request.priority, request.due_at, slots.arrivals, request.request_id)
    if request.aging:
        slots.aging[request.request_id] = request.aging
    at = bisect_right(slots.waiting, place)
    slots.waiting = (*slots.waiting[:at], place, *slots.waiting[at:])
    _keep(draft, slots)
    _want(draft, slots)
    if len(slots.waiting) > WAITING_MAX:
        last, slots.waiting = slots.waiting[-1], slots.waiting[:-1]
        _refuse(draft, slots, last, QUEUE_FULL)


def _grant_waiting(draft: Draft, company_id: int, resources: Iterable[str]) -> None:
    """Grant as long as one of the resources has both somebody waiting and a slot, the most urgent of all first."""
    queues = [_known(draft, company_id, resource) for resource in dict.fromkeys(resources)]
    for slots in queues:
        if slots.aging:
            slots.waiting = tuple(sorted(slots.waiting, key=partial(_aged, slots, draft.now)))
    while True:
        heads = [head for slots in queues if slots.waiting for head in _grantable(draft, slots)]
        if not heads:
            break
        place, _, slots, buyer_id = min(heads, key=lambda head: (_aged(head[2], draft.now, head[0]), head[1]))
        slots.waiting = slots.waiting[1:]
        _grant(draft, slots, _waiting_claim(draft, slots, place), buyer_id)
    for slots in queues:
        _want(draft, slots)


def _aged(slots: Slots, now: Instant, place: Waiting) -> Waiting:
    """Return a place in the queue as urgent as it has become."""
    aging = slots.aging.get(place.request_id)
    if aging is None:
        return place
    overdue = max(0, now - place.due_at)
    return structs.replace(place, priority=place.priority - aging * overdue / HOUR)


def _grantable(draft: Draft, slots: Slots) -> list[tuple[Waiting, str, Slots, int]]:
    """Return the most urgent of a queue with the buyer that it would get, or nothing where it must go on waiting."""
    head = slots.waiting[0]
    buyer_id = _free_buyer(draft, slots, head.request_id)
    return [] if buyer_id is None else [(head, slots.resource, slots, buyer_id)]


def _grant(draft: Draft, slots: Slots, claim: Claim, buyer_id: int) -> None:
    slots.in_use += 1
    _keep(draft, slots)
    buyer = _known(draft, slots.company_id, _buyer_resource(buyer_id))
    buyer.in_use += 1
    _keep(draft, buyer)
    claim.granted_at, claim.buyer_id = draft.now, buyer_id
    draft.put(claim_key(claim.company_id, claim.request_id), claim)
    _tell(draft, claim, granted=True)


def _waiting_claim(draft: Draft, slots: Slots, place: Waiting) -> Claim:
    claim = draft.get(claim_key(slots.company_id, place.request_id), Claim)
    assert claim is not None  # noqa: S101 - whoever waits has a claim
    return claim


def _want(draft: Draft, slots: Slots) -> None:
    """Note with each buyer whether this queue may go on when the buyer is free."""
    group = _group(draft, slots) if slots.waiting else None
    named = slots.buyer_ids if group is None else group.buyer_ids
    wanted = tuple(sorted(named)) if slots.waiting else ()
    if wanted == slots.wants:
        return
    for buyer_id in sorted({*wanted} ^ {*slots.wants}):
        buyer = _known(draft, slots.company_id, _buyer_resource(buyer_id))
        buyer.wanted_by = tuple(sorted({*buyer.wanted_by} ^ {slots.resource}))
        _keep(draft, buyer)
    slots.wants = wanted
    _keep(draft, slots)


def _refuse_all(draft: Draft, slots: Slots) -> None:
    waiting, slots.waiting = slots.waiting, ()
    _keep(draft, slots)
    _want(draft, slots)
    for place in waiting:
        _refuse(draft, slots, place, NO_BUYER)


def _refuse(draft: Draft, slots: Slots, place: Waiting, reason: str) -> None:
    claim = _waiting_claim(draft, slots, place)
    draft.remove(claim_key(claim.company_id, claim.request_id))
    _tell(draft, claim, granted=False, reason=reason)


def _tell(draft: Draft, claim: Claim, *, granted: bool, reason: str | None = None) -> None:
    answer = SlotAnswered(
        company_id=claim.company_id,
        contact_key=claim.contact_key,
        lead_id=claim.lead_id,
        request_id=claim.request_id,
        granted=granted,
        buyer_id=claim.buyer_id,
        buyer_group_id=claim.buyer_group_id,
        reason=reason,
    )
    draft.send(CONTACTS_REQUESTS.name, claim.contact_key, answer)
