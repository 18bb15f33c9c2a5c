"""How much of each cap is used, and when is it reset? One bar for each limit that a buyer or group has.

The bars follow from the columns of its record. A period ends on the clock of the record: the hour, its day, its month.
"""

from collections.abc import Iterator, Mapping
from math import floor
from typing import Any

from msgspec import Struct

from engine.account.caps import UNITS, WHOLE
from engine.views.report import bucket_of
from schemas.instant import Instant

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
    resets_at: Instant | None = None
    """When what is used begins at 0 again; None: by no clock."""

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


def name_of(row: Mapping[str, Any]) -> str:
    """Return the name of a record, or its id where a team hides the name."""
    return str(row.get("name") or row["id"])


def bars_of(row: Mapping[str, Any], now: Instant) -> Iterator[CapBar]:
    """Yield the bars of a buyer or group."""
    if row.get("concurrency_cap_limit") is not None:
        yield CapBar(
            name_of(row),
            "calls at once",
            row.get("concurrency_cap_used") or 0,
            row["concurrency_cap_limit"],
            is_of_lines=True,
        )
    for measure, measured in MEASURES.items():
        for period, each in PERIODS.items():
            limit = row.get(f"{measure}_{period}_limit")
            if limit is not None:
                yield CapBar(
                    name_of(row),
                    f"{measured} {each}",
                    row.get(f"{measure}_{period}_used") or 0,
                    floor(limit) if measure in WHOLE else limit,
                    resets_at=_resets_at(row, period, now) if limit > 0 else None,
                )


def _resets_at(row: Mapping[str, Any], period: str, now: Instant) -> Instant | None:
    """Return when a period ends on the clock of the record; None for one without an end, and where a team hides the zone."""
    zone = row.get("time_zone")
    return bucket_of(UNITS[period], now, zone)[1] if period in UNITS and zone else None
