"""Which buyer gets a call? The lowest tier that is free, and within it shares by weight, decided by the request's own id."""

from collections.abc import Sequence
from hashlib import blake2b

from msgspec import Struct


class Candidate(Struct, frozen=True):
    """A buyer that takes calls now; `free` is how many more at once, None where there is no cap."""

    buyer_id: int
    tier: int
    weight: int
    free: int | None = None


def choose_buyer(candidates: Sequence[Candidate], request_id: str) -> int | None:
    """Return the id of the buyer, or None where none is free; the same request always gets the same answer."""
    free = [candidate for candidate in candidates if candidate.free is None or candidate.free > 0]
    if not free:
        return None
    lowest = min(candidate.tier for candidate in free)
    tier = [candidate for candidate in free if candidate.tier == lowest]
    # Where nobody has a weight all share alike.
    weights = [candidate.weight for candidate in tier] if any(candidate.weight for candidate in tier) else [1] * len(tier)
    mark = int.from_bytes(blake2b(request_id.encode(), digest_size=8).digest(), "big") % sum(weights)
    for candidate, weight in zip(tier, weights, strict=True):
        if mark < weight:
            return candidate.buyer_id
        mark -= weight
    raise AssertionError("the mark lies below the sum of the weights")
