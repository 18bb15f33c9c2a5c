"""How much of a record's caps is used, which are hit, and how are lists sorted by it?

A record with caps shows the counts of the account (`engine/account/caps.py`). A buyer group without caps shows the sums of
its calls: each call is an attempt, one that a buyer answered a connection, one that converted for the buyer a buyer
conversion. Revenue is what its buyers pay; earned revenue is revenue minus the payout to the traffic source.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from engine.account.caps import Capped, Tallies, first_reset, is_reached
from engine.account.groups import METRICS, PERIODS
from engine.views.report import Sums
from schemas.instant import Instant
from schemas.money import amount

_METRICS: Mapping[str, Callable[[Sums], Decimal | int]] = {
    "attempt": lambda sums: sums["calls_count"],
    "buyer_conversion": lambda sums: sums["buyer_converted_count"],
    "connection": lambda sums: sums["calls_count"] - sums["no_buyer_count"],
    "earned_revenue": lambda sums: amount(sums["revenue"] - sums["payout"]),
    "revenue": lambda sums: amount(sums["revenue"]),
}

Used = Mapping[str, Decimal | int]
"""Cap (`attempt_hourly`) -> what is used of it."""


def used_of(period: str, sums: Sums | None) -> dict[str, Decimal | int]:
    """Return what is used in a period, by the sums of a group's calls in it (None: there were none)."""
    return {f"{name}_{period}": 0 if sums is None else metric(sums) for name, metric in _METRICS.items()}


EARNED_COLUMNS = ("epc", "epc_calls_count")
"""What a buyer or group has earned by each connected call of `engine.account.epc.EPC_DAYS`, and how many those were."""


def earned_columns(sums: Sums | None) -> dict[str, Any]:
    """Return the columns about earnings, by the sums of the calls; without a connected call nothing is earned by one."""
    calls = 0 if sums is None else int(_METRICS["connection"](sums))
    epc = None if sums is None or not calls else amount(sums["revenue"] / calls)
    return dict(zip(EARNED_COLUMNS, (epc, calls), strict=True))


def caps_hit(body: Capped, used: Used) -> tuple[str, ...]:
    """Return the caps that block a call: used up, or closed (0)."""
    return tuple(cap for cap in body.caps if is_reached(body, cap, used.get(cap, 0)))


ORDERS: Mapping[str, str] = {
    f"call_limits.{metric}_{period}_used": f"{metric}_{period}" for metric in METRICS for period in PERIODS
}
"""Sort key of a list of groups -> the cap whose use it is."""

IN_PROGRESS = ("call_limits.in_progress_count", "call_limits.in_progress_used")

LIST_ORDERS: tuple[str, ...] = (*ORDERS, *IN_PROGRESS, "maxed_out", "cap_reset_at")
"""Sort keys of a list of groups that are no fields."""


def order_key(  # noqa: PLR0917 - what is known of a row
    name: str, body: Capped, used: Used, held: int, now: Instant, tallies: Tallies
) -> Any:
    """Return the sort value of a group under one of `LIST_ORDERS`; None comes last."""
    if name in ORDERS:
        return used.get(ORDERS[name], 0)
    if name in IN_PROGRESS:
        return held
    if name == "cap_reset_at":
        return first_reset(tallies, body, caps_hit(body, used), now)
    return is_maxed_out(body, used, held)


def is_maxed_out(body: Capped, used: Used, held: int) -> bool:
    """Return whether any cap is hit, concurrency among them; a pause is something else."""
    limit = body.concurrency_cap_limit
    return (limit is not None and held >= limit) or bool(caps_hit(body, used))
