"""Which buyer gets a call? The lowest tier that is free; of it the largest value, where calls go by bid or EPC.

Those of one value share the calls by weight, decided by the request's own id.
"""

from collections.abc import Sequence
from decimal import Decimal
from hashlib import blake2b

from msgspec import Struct

from schemas.money import NOTHING


class Candidate(Struct, frozen=True):
    """A buyer or a group that takes a call now; `value` is what it pays, where calls are routed by that."""

    record_id: int
    tier: int
    weight: int
    value: Decimal = NOTHING


def choose_buyer(candidates: Sequence[Candidate], request_id: str) -> int | None:
    """Return the id of the buyer, or None where there is none; the same request always gets the same answer."""
    tier = first_in_line(candidates)
    if not tier:
        return None
    # Without weights all share alike.
    weights = [candidate.weight for candidate in tier] if any(candidate.weight for candidate in tier) else [1] * len(tier)
    mark = int.from_bytes(blake2b(request_id.encode(), digest_size=8).digest(), "big") % sum(weights)
    for candidate, weight in zip(tier, weights, strict=True):
        if mark < weight:
            return candidate.record_id
        mark -= weight
    raise AssertionError("the mark lies below the sum of the weights")


def lowest_tier(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates of the lowest tier among them."""
    lowest = min((candidate.tier for candidate in candidates), default=None)
    return [candidate for candidate in candidates if candidate.tier == lowest]


def first_in_line(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates of the largest value in the lowest tier."""
    tier = lowest_tier(candidates)
    most = max((candidate.value for candidate in tier), default=NOTHING)
    return [candidate for candidate in tier if candidate.value == most]


def best_value(candidates: Sequence[Candidate]) -> Decimal:
    """Return the value of a group: the largest of its buyers of the lowest tier that takes calls."""
    return max((candidate.value for candidate in lowest_tier(candidates)), default=NOTHING)


def choose_several(candidates: Sequence[Candidate], request_id: str, most: int) -> tuple[int, ...]:
    """Return the ids of the lowest tier, in their own order; at most `most`, chosen one by one."""
    left = lowest_tier(candidates)
    if len(left) > most:
        chosen = set[int]()
        while len(chosen) < most:
            among = [candidate for candidate in left if candidate.record_id not in chosen]
            chosen.add(choose_buyer(among, f"{request_id}/{len(chosen)}") or 0)
        left = [candidate for candidate in left if candidate.record_id in chosen]
    return tuple(candidate.record_id for candidate in left)
