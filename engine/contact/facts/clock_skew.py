"""What happens to a reported time that is in the future? It counts as now, and the fact is marked with `clock_skew`."""

from typing import Any

from schemas.instant import MINUTE, Instant

SKEW_MAX = 5 * MINUTE
"""Reported times further ahead than this are marked: the gateway's clock is wrong."""


def skew_mark(now: Instant, reported_at: Instant) -> dict[str, Any]:
    """Return the fields that a fact has for a reported time: none, or the mark that the reporting clock is ahead."""
    return {"clock_skew": True} if reported_at > now + SKEW_MAX else {}
