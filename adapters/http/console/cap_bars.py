"""How much of each cap is used? One bar for each limit that a buyer or group has, from the columns of its record."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

MEASURES = {
    "attempt": "calls",
    "connection": "connected calls",
    "buyer_conversion": "conversions",
    "revenue": "revenue",
    "earned_revenue": "earned revenue",
}
PERIODS = {"hourly": "an hour", "daily": "a day", "monthly": "a month", "total": "in total"}

NEAR_SHARE = 0.8
"""A cap of which this much is used is shown as nearly full."""


class CapBar(Struct, frozen=True):
    """One limit and its use."""

    owner: str
    name: str
    used: float
    limit: float
    is_of_lines: bool = False
    """Calls at once: full for as long as a call takes, which needs nobody."""

    @property
    def share(self) -> float:
        """Return how much of the limit is used; a limit of 0 is always full."""
        return self.used / self.limit if self.limit else 1.0

    @property
    def level(self) -> str:
        """Return how bad that is, as a class of the style."""
        return "bad" if self.share >= 1 else "warn" if self.share >= NEAR_SHARE else "good"

    @property
    def word(self) -> str:
        """Return how bad that is, in words."""
        return {"bad": "full", "warn": "nearly full", "good": "free"}[self.level]


def _name(row: Mapping[str, Any]) -> str:
    """Return the name of a record, or its id where a team hides the name."""
    return str(row.get("name") or row["id"])


def bars_of(row: Mapping[str, Any]) -> Iterator[CapBar]:
    """Yield the bars of a buyer or group."""
    if row.get("concurrency_cap_limit") is not None:
        yield CapBar(
            _name(row),
            "calls at once",
            row.get("concurrency_cap_used") or 0,
            row["concurrency_cap_limit"],
            is_of_lines=True,
        )
    for measure, measured in MEASURES.items():
        for period, each in PERIODS.items():
            limit = row.get(f"{measure}_{period}_limit")
            if limit is not None:
                yield CapBar(_name(row), f"{measured} {each}", row.get(f"{measure}_{period}_used") or 0, limit)
