"""Which number of a ring pool does a visitor see? The one that is held for the visitor, else the one that is free longest.

Each pool is decided in a partition of its own (`RingPoolRequest`), one request after another: no number is held for two
visitors. A hold ends by its instant, which each decision compares with its own: no timer fires, and nothing is written.
"""

from collections.abc import Iterator
from hashlib import blake2b

from engine.partition.draft import Draft
from schemas.account import HeldFor, NumberHold, PoolNumber, RingPoolState
from schemas.decisions import Answer
from schemas.instant import SECOND, Instant
from schemas.requests import NumberHoldRequested
from schemas.state import number_hold_key, ring_pool_key

DONE = 200

VISITOR_BYTES = 8
"""Of the hash that stands for a visitor in a pool. A pool has so few numbers that no two of its visitors share one."""


def hold_number(draft: Draft, request: NumberHoldRequested) -> None:
    """Hold a number for a visitor, or extend the hold, and answer with it; where all are held, with the default number."""
    pool = _pool(draft, request)
    visitor = _visitor(request.visitor_id)
    own = next((one for one in pool.numbers if one.visitor == visitor and one.free_at > draft.now), None)
    chosen = own or _longest_free(pool, draft.now)
    if chosen is None:
        _overflow(draft, request, pool)
        return
    held_until = draft.now + pool.hold_seconds * SECOND
    ends_at = held_until + pool.grace_seconds * SECOND
    if own is not None and own.free_at > ends_at:  # it began by a longer time of the pool, and was promised for that
        held_until, ends_at = own.free_at - pool.grace_seconds * SECOND, own.free_at
    _put(draft, pool, tuple(_replaced(pool, chosen, PoolNumber(chosen.number_id, visitor, ends_at))))
    _put_hold(draft, request, chosen.number_id, ends_at, is_own=own is not None)
    if own is None:
        draft.fact(
            "number.held",
            ring_pool_id=pool.ring_pool_id,
            number_id=chosen.number_id,
            impression_uuid=request.impression_uuid,
            until=held_until,
        )
    _answer(draft, request, chosen.number_id, held_until)


def _pool(draft: Draft, request: NumberHoldRequested) -> RingPoolState:
    """Return the pool as its newest known version says; numbers that were taken out are held no more."""
    pool = draft.get(ring_pool_key(request.company_id, request.ring_pool_id), RingPoolState) or RingPoolState(
        company_id=request.company_id, ring_pool_id=request.ring_pool_id
    )
    if request.pool_version <= pool.pool_version:
        return pool
    known = {one.number_id: one for one in pool.numbers}
    pool.numbers = tuple(known.get(number_id) or PoolNumber(number_id) for number_id in request.number_ids)
    for number_id in known.keys() - {*request.number_ids}:
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


def _replaced(pool: RingPoolState, old: PoolNumber, new: PoolNumber) -> Iterator[PoolNumber]:
    return (new if one.number_id == old.number_id else one for one in pool.numbers)


def _put_hold(draft: Draft, request: NumberHoldRequested, number_id: int, ends_at: Instant, *, is_own: bool) -> None:
    key = number_hold_key(request.company_id, request.ring_pool_id, number_id)
    before = draft.get(key, NumberHold)
    present = HeldFor(
        visitor_id=request.visitor_id,
        impression_uuid=request.impression_uuid,
        began_at=before.present.began_at if before is not None and is_own else draft.now,
        ends_at=ends_at,
        offer_id=request.offer_id,
        traffic_source_id=request.traffic_source_id,
        tokens=request.tokens,
    )
    former = None if before is None else before.former if is_own else before.present
    hold = NumberHold(
        company_id=request.company_id, ring_pool_id=request.ring_pool_id, number_id=number_id, present=present, former=former
    )
    draft.put(key, hold)


def _answer(draft: Draft, request: NumberHoldRequested, number_id: int | None, held_until: Instant | None) -> None:
    extra = {"number_id": number_id, "held_until": held_until}
    draft.answer = Answer(status=DONE, record_type="ring_pool", record_id=request.ring_pool_id, extra=extra)


def _visitor(visitor_id: str) -> str:
    return blake2b(visitor_id.encode(), digest_size=VISITOR_BYTES).hexdigest()
