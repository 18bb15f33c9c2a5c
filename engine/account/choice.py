"""Which buyer gets a call? The lowest tier that is free, and within it shares by weight, decided by the request's own id."""

from collections.abc import Sequence
from hashlib import blake2b

from msgspec import Struct


class Candidate(Struct, frozen=True):
    """A buyer or a group that takes a call now."""

    record_id: int
    tier: int
    weight: int


def choose_buyer(candidates: Sequence[Candidate], request_id: str) -> int | None:
    """Return the id of the buyer, or None where there is none; the same request always gets the same answer."""
    if not candidates:
        return None
    lowest = min(candidate.tier for candidate in candidates)
    tier = [candidate for candidate in candidates if candidate.tier == lowest]
    # Without weights all share alike.
    weights = [candidate.weight for candidate in tier] if any(candidate.weight for candidate in tier) else [1] * len(tier)
    mark = int.from_bytes(blake2b(request_id.encode(), digest_size=8).digest(), "big") % sum(weights)
    for candidate, weight in zip(tier, weights, strict=True):
        if mark < weight:
            return candidate.record_id
        mark -= weight
    raise AssertionError("the mark lies below the sum of the weights")
