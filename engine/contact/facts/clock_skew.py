"""What is made of a moment that a gateway says is still to come? It is taken as now, and marked (research/domain.md E28)."""

from typing import Any

from schemas.instant import MINUTE, Instant

SKEW_MAX = 5 * MINUTE
"""What is of a later time than this is marked: a gateway's clock is wrong."""


def skew_mark(now: Instant, told: Instant) -> dict[str, Any]:
    """Return what a fact says of a moment that was told: nothing, or that the clock it is from is ahead of ours."""
    return {"clock_skew": True} if told > now + SKEW_MAX else {}
