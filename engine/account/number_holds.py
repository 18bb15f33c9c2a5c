"""Which number of a ring pool does a visitor see, and from which visitor is a call?

A visitor sees the number that is held for them, else the one that is free longest. Each pool is decided in a partition of
its own (`RingPoolRequest`), one request after another: no number is held for two visitors. A hold ends by its instant,
which each decision compares with its own: no timer fires, and nothing is written.
"""

from hashlib import blake2b
from typing import Any

from engine.partition.draft import Draft
from schemas.account import HeldFor, NumberHold, PoolNumber, RingPoolState
from schemas.decisions import Answer
from schemas.instant import EPOCH, MINUTE, SECOND, Instant
from schemas.requests import AttributionAnswered, AttributionRequested, NumberHoldRequested, RingPoolRequest
from schemas.state import number_hold_key, ring_pool_key
from schemas.topics import CONTACTS_REQUESTS

DONE = 200

VISITOR_BYTES = 8
"""Of the hash that stands for a visitor in a pool. A pool has so few numbers that no two of its visitors share one."""

CLOCK_SKEW = MINUTE
"""How far the clock of a gateway may be behind: a visitor may dial within seconds, and nobody held the number before."""


def decide_ring_pool(draft: Draft, request: RingPoolRequest) -> None:
    """Decide a request to a ring pool."""
    match request:
        case NumberHoldRequested():
            hold_number(draft, request)
        case AttributionRequested():
            attribute(draft, request)
        case _:
            raise TypeError(f"{type(request).__name__} is not asked of a ring pool")


def hold_number(draft: Draft, request: NumberHoldRequested) -> None:
    """Hold a number for a visitor, or extend the hold, and answer with it; where all are held, with the default number."""
    pool = _pool(draft, request)
    visitor = visitor_mark(request.visitor_id)
    own = next((one for one in pool.numbers if one.visitor == visitor and one.free_at > draft.now), None)
    chosen = own or _longest_free(pool, draft.now)
    if chosen is None:
        _overflow(draft, request, pool)
        return
    key = number_hold_key(pool.company_id, pool.ring_pool_id, chosen.number_id)
    before = draft.get(key, NumberHold)
    held_until = draft.now + pool.hold_seconds * SECOND
    if own is not None and before is not None:  # it may have been promised by a longer time of the pool
        held_until = max(held_until, before.present.held_until)
    free_at = max(held_until + pool.grace_seconds * SECOND, EPOCH if own is None else own.free_at)
    held = PoolNumber(chosen.number_id, visitor, free_at)
    _put(draft, pool, tuple(held if one.number_id == held.number_id else one for one in pool.numbers))
    draft.put(key, _hold(draft, request, before, held, until=held_until, is_own=own is not None))
    if own is None:
        draft.fact(
            "number.held",
            ring_pool_id=pool.ring_pool_id,
            number_id=chosen.number_id,
            impression_uuid=request.impression_uuid,
            until=held_until,
        )
    _answer(draft, request, chosen.number_id, held_until)


def attribute(draft: Draft, request: AttributionRequested) -> None:
    """Answer for whom a number was held when it was called."""
    hold = draft.get(number_hold_key(request.company_id, request.ring_pool_id, request.number_id), NumberHold)
    found = None if hold is None else _holder_at(hold, request.at)
    about: dict[str, Any] = {}
    if found is not None:
        names = ("impression_uuid", "visitor_id", "traffic_source_id", "tokens")
        about = {name: getattr(found, name) for name in names}
    answer = AttributionAnswered(
        company_id=request.company_id, contact_key=request.contact_key, call_id=request.call_id, **about
    )
    draft.send(CONTACTS_REQUESTS.name, request.contact_key, answer)


def _holder_at(hold: NumberHold, at: Instant) -> HeldFor | None:
    """Return for whom a number was held at an instant. A call that seems to come just before the hold belongs to it, too."""
    holders = [one for one in (hold.present, hold.former) if one is not None]
    found = next((one for one in holders if one.began_at <= at < one.ends_at), None)
    if found is None and hold.present.began_at - CLOCK_SKEW <= at < hold.present.began_at:
        return hold.present
    return found


def _pool(draft: Draft, request: NumberHoldRequested) -> RingPoolState:
    """Return the pool as its newest known version says; numbers that were taken out are held no more."""
    pool = draft.get(ring_pool_key(request.company_id, request.ring_pool_id), RingPoolState) or RingPoolState(
        company_id=request.company_id, ring_pool_id=request.ring_pool_id
    )
    if request.pool_version <= pool.pool_version:
        return pool
    known = {one.number_id: one for one in pool.numbers}
    pool.numbers = tuple(known.get(number_id) or PoolNumber(number_id) for number_id in request.number_ids)
    for number_id in sorted(known.keys() - {*request.number_ids}):
        draft.remove(number_hold_key(pool.company_id, pool.ring_pool_id, number_id))
    pool.pool_version = request.pool_version
    pool.hold_seconds, pool.grace_seconds = request.hold_seconds, request.grace_seconds
    pool.default_number_id = request.default_number_id
    return pool


def _longest_free(pool: RingPoolState, now: Instant) -> PoolNumber | None:
    """Return the number that is free longest: somebody may still have the page open that showed it last."""
    return min((one for one in pool.numbers if one.free_at <= now), key=lambda one: one.free_at, default=None)


def _overflow(draft: Draft, request: NumberHoldRequested, pool: RingPoolState) -> None:
    """Count a visitor for whom no number is left, and answer with the default number of the pool, or none."""
    pool.overflow_count += 1
    pool.last_overflow_at = draft.now
    _put(draft, pool, pool.numbers)
    draft.fact("number.overflowed", ring_pool_id=pool.ring_pool_id, impression_uuid=request.impression_uuid)
    _answer(draft, request, pool.default_number_id, None)


def _put(draft: Draft, pool: RingPoolState, numbers: tuple[PoolNumber, ...]) -> None:
    pool.numbers = numbers
    pool.version += 1
    draft.put(ring_pool_key(pool.company_id, pool.ring_pool_id), pool)


def _hold(
    draft: Draft, request: NumberHoldRequested, before: NumberHold | None, place: PoolNumber, *, until: Instant, is_own: bool
) -> NumberHold:
    """Return the hold of a number; the visitor before is remembered, because a call may be reported late."""
    present = HeldFor(
        visitor_id=request.visitor_id,
        impression_uuid=request.impression_uuid,
        began_at=before.present.began_at if before is not None and is_own else draft.now,
        held_until=until,
        ends_at=place.free_at,
        offer_id=request.offer_id,
        traffic_source_id=request.traffic_source_id,
        tokens=request.tokens,
    )
    return NumberHold(
        company_id=request.company_id,
        ring_pool_id=request.ring_pool_id,
        number_id=place.number_id,
        present=present,
        former=None if before is None else before.former if is_own else before.present,
    )


def _answer(draft: Draft, request: NumberHoldRequested, number_id: int | None, held_until: Instant | None) -> None:
    extra = {"number_id": number_id, "held_until": held_until}
    draft.answer = Answer(status=DONE, record_type="ring_pool", record_id=request.ring_pool_id, extra=extra)


def visitor_mark(visitor_id: str) -> str:
    """Return the hash that stands for a visitor in a pool."""
    return blake2b(visitor_id.encode(), digest_size=VISITOR_BYTES).hexdigest()
