"""What of a buyer group's caps is used, which are hit, and until when? Sums of its calls, in periods of its own clock.

Of the calls that the group was to take: an attempt is each, a connection one that a buyer answered, a buyer conversion one
that converted for the buyer; revenue is what its buyers pay, earned revenue what is left of it after the traffic source's.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engine.account.groups import CAPS, METRICS, PERIODS
from engine.views.report import Sums, bucket_of
from schemas.instant import Instant
from schemas.records import BuyerGroup

UNITS: Mapping[str, str] = {"hourly": "created_at_hour", "daily": "created_at_day", "monthly": "created_at_month"}
"""Period -> its bucket of time: the hour at :00, the local day, the month from the 1st (research/domain.md 2.10)."""

AMOUNT_DIGITS = 4

_METRICS: Mapping[str, Callable[[Sums], float]] = {
    "attempt": lambda sums: sums["calls_count"],
    "buyer_conversion": lambda sums: sums["buyer_converted_count"],
    "connection": lambda sums: sums["calls_count"] - sums["no_buyer_count"],
    "earned_revenue": lambda sums: round(sums["revenue"] - sums["payout"], AMOUNT_DIGITS),
    "revenue": lambda sums: round(sums["revenue"], AMOUNT_DIGITS),
}

Used = Mapping[str, float]
"""Cap (`attempt_hourly`) -> what is used of it."""


def period_of(period: str, now: Instant, group: BuyerGroup) -> tuple[Instant | None, Instant | None]:
    """Return when a period began and when it ends; the total begins when it was last reset (None: ever) and has no end."""
    if period not in UNITS:
        return group.total_caps_reset_at, None
    return bucket_of(UNITS[period], now, group.time_zone)


def used_of(period: str, sums: Sums | None) -> dict[str, float]:
    """Return what is used of the caps of a period, by the sums of the group's calls in it (None: there were none)."""
    return {f"{name}_{period}": 0 if sums is None else metric(sums) for name, metric in _METRICS.items()}


def caps_hit(group: BuyerGroup, used: Used) -> tuple[str, ...]:
    """Return the caps that let no call through: used up, or closed (0)."""
    return tuple(cap for cap in CAPS.values() if cap in group.caps and used.get(cap, 0) >= group.caps[cap])


def capped_periods(group: BuyerGroup) -> tuple[str, ...]:
    """Return the periods in which the group has a cap."""
    return tuple(period for period in PERIODS if any(cap.endswith(f"_{period}") for cap in group.caps))


def resets_at(group: BuyerGroup, hit: Sequence[str], now: Instant) -> list[Instant | None]:
    """Return when each of the caps is reset: None for one that time does not reset."""
    return [None if group.caps[cap] <= 0 else period_of(cap.rpartition("_")[2], now, group)[1] for cap in hit]


def next_open(group: BuyerGroup, hit: Sequence[str], now: Instant) -> Instant | None:
    """Return when the last of the caps that are hit is reset, or None where time alone does not open the group."""
    resets = resets_at(group, hit, now)
    return None if None in resets else max((at for at in resets if at is not None), default=None)


def first_reset(group: BuyerGroup, used: Used, now: Instant) -> Instant | None:
    """Return the earliest reset among the caps that are hit; None where none is, or none is reset by time."""
    return min((at for at in resets_at(group, caps_hit(group, used), now) if at is not None), default=None)


ORDERS: Mapping[str, str] = {
    f"call_limits.{metric}_{period}_used": f"{metric}_{period}" for metric in METRICS for period in PERIODS
}
"""What a list of groups is ordered by (seed.md 4.11) -> the cap whose use it is."""

IN_PROGRESS = ("call_limits.in_progress_count", "call_limits.in_progress_used")

LIST_ORDERS: tuple[str, ...] = (*ORDERS, *IN_PROGRESS, "maxed_out", "cap_reset_at")
"""Orders of a list of groups that are no fields of theirs."""


def order_key(name: str, group: BuyerGroup, used: Used, held: int, now: Instant) -> Any:
    """Return what a group is ordered by under one of `LIST_ORDERS`; None comes last."""
    if name in ORDERS:
        return used.get(ORDERS[name], 0)
    if name in IN_PROGRESS:
        return held
    return first_reset(group, used, now) if name == "cap_reset_at" else is_maxed_out(group, used, held)


def is_maxed_out(group: BuyerGroup, used: Used, held: int) -> bool:
    """Tell whether any cap is hit, concurrency among them; a pause is something else."""
    limit = group.concurrency_cap_limit
    return (limit is not None and held >= limit) or bool(caps_hit(group, used))
