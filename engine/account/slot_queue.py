"""Which requests for slots of a resource wait, and which comes first? One small entity each, whose key holds its place.

So a decision carries what it changes and never a queue, and a restore or a fold of the same values gives the same queue.
Requests that age at one rate keep their order for ever: each rate is a part of the queue, and the first of each is compared.
"""

import struct
from hashlib import blake2b

from engine.partition.draft import Draft
from schemas.account import Claim, QueuedRequest, Slots
from schemas.instant import HOUR
from schemas.requests import SlotRequested
from schemas.state import QUEUED_PREFIX, queued_key

NAME_BYTES = 12
"""Of the hash by which a queue is named in keys: its own name has up to 200 characters, and a slash."""

SIGN = 1 << 63
BEYOND = "~"
"""Sorts behind every digit."""


def add(draft: Draft, slots: Slots, claim: Claim, request: SlotRequested) -> None:
    """Add a request to a queue; the caller stores the claim and the slots."""
    slots.arrivals += 1
    slots.waiting += 1
    queued = QueuedRequest(
        company_id=claim.company_id,
        request_id=claim.request_id,
        urgency_class=request.urgency_class,
        priority=request.priority,
        due_at=request.due_at,
        arrival=slots.arrivals,
        aging=request.aging,
    )
    claim.queued_as = queued_key(slots.company_id, _name(slots), _order(queued))
    draft.put(claim.queued_as, queued)


def remove(draft: Draft, slots: Slots, claim: Claim) -> None:
    """Remove a request from its queue; the caller stores the claim and the slots."""
    assert claim.queued_as is not None  # noqa: S101 - every request without a grant is in a queue
    draft.remove(claim.queued_as)
    claim.queued_as = None
    slots.waiting -= 1


def first(draft: Draft, slots: Slots) -> QueuedRequest | None:
    """Return the most urgent request of a queue, or None where it is empty."""
    found: list[QueuedRequest] = []
    prefix = queued_key(slots.company_id, _name(slots), "")
    after = prefix
    while slots.waiting and (key := draft.key_after(QUEUED_PREFIX, after, prefix)) is not None:
        queued = draft.get(key, QueuedRequest)
        assert queued is not None  # noqa: S101 - the draft has just found it
        found.append(queued)
        after = f"{prefix}{_rate(queued)}/{BEYOND}"  # on to the next rate
    return min(found, key=lambda queued: queued.rank(draft.now), default=None)


def _name(slots: Slots) -> str:
    return blake2b(slots.resource.encode(), digest_size=NAME_BYTES).hexdigest()


def _order(queued: QueuedRequest) -> str:
    """Return text that sorts as the requests of one rate do, at every instant: what all lose with time is left out."""
    priority = queued.priority + queued.aging * (queued.due_at / HOUR)
    place = f"{queued.urgency_class + 8:02x}{_sortable(priority)}"
    return f"{_rate(queued)}/{place}{queued.due_at:012x}{queued.arrival:012x}"


def _rate(queued: QueuedRequest) -> str:
    return _sortable(queued.aging)


def _sortable(number: float) -> str:
    """Return digits that sort as numbers do: those of IEEE 754, with the sign turned."""
    bits: int = struct.unpack(">Q", struct.pack(">d", number + 0.0))[0]  # -0.0 becomes 0.0
    return f"{bits ^ (2 * SIGN - 1) if bits & SIGN else bits | SIGN:016x}"
