"""Why does a buyer get no call now? What its record says: its pause, hours and caps, the calls under way, and who names it.

The same rules as for a lead (`engine/views/buyers.py`), without a lead: filters depend on the lead, so they are named and
hold nothing by themselves. What a team hides is not known, and nothing is said about it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from adapters.http.console.cap_bars import CapBar, bars_of, name_of
from adapters.http.console.rendering import instant_of
from engine.account.groups import PERIODS
from engine.calendar.business import opens_for_business
from engine.why.reason_texts import hours_text
from schemas.instant import Instant
from schemas.schedule import Window

_SOURCE = {
    **{f"{period}_cap": f"A cap of the lead's traffic source is used up ({period})" for period in PERIODS},
    "concurrency": "The lead's traffic source has as many calls at a time as it may",
}
_NUMBER = {
    **{f"{period}_cap": f"A cap of the number that the lead is called from is used up ({period})" for period in PERIODS},
    "concurrency": "The number that the lead is called from has as many calls at a time as it may",
}

OBSTACLES: Mapping[str, str] = {
    "paused": "It is paused, or its group is",
    "suppressed": "The person has opted out, is blocked or on a suppression list",
    "filter": "The lead does not have what a filter of the buyer asks for",
    "hours": "It is outside the hours of the buyer or its group",
    "hourly_cap": "A cap of the hour is used up",
    "daily_cap": "A cap of the day is used up",
    "monthly_cap": "A cap of the month is used up",
    "total_cap": "A cap in total is used up",
    "concurrency": "All lines are in use, its own or those of its group",
    **{f"traffic_source_{cap}": sentence for cap, sentence in _SOURCE.items()},
    **{f"number_{cap}": sentence for cap, sentence in _NUMBER.items()},
    "company_paused": "The company is paused, and its inbound calls with it",
    "offer_paused": "The offer is paused, and its inbound calls with it",
    "spacing": "Its last call was too short a time ago",
}
"""Reason of `GET /api/v1/leads/{id}/buyer_is_available` -> its sentence."""

RELEASED = "until a call ends"
RESUMED = "until somebody resumes it"
RESET = "until somebody raises or resets it"


class Holding(Struct, frozen=True):
    """One thing that keeps calls from a buyer or group, and until when, where a clock says so."""

    sentence: str
    until: Instant | None = None
    end: str = ""
    """What ends it, where no clock does."""


class Standing(Struct, frozen=True, kw_only=True):
    """Whether a buyer or group can take a call now, and if not, why."""

    row: Mapping[str, Any]
    bars: tuple[CapBar, ...]
    holdings: tuple[Holding, ...]
    next_at: Instant | None
    """When it can take a call again; None: now, or by no clock."""
    is_known: bool
    """Whether the visitor's teams show enough to say that nothing holds."""

    @property
    def name(self) -> str:
        """Return what it is called."""
        return name_of(self.row)

    @property
    def level(self) -> str:
        """Return how bad it is, as a class of the style."""
        if self.holdings:
            return "bad"
        return "" if not self.is_known else "warn" if any(bar.level == "warn" for bar in self.bars) else "good"

    @property
    def word(self) -> str:
        """Return how bad it is, in words."""
        return {"bad": "gets nothing", "warn": "nearly full", "good": "takes calls", "": "not shown"}[self.level]

    @property
    def fullest(self) -> CapBar | None:
        """Return the cap that is nearest to full."""
        return max((bar for bar in self.bars if not bar.is_of_lines), key=lambda bar: bar.share, default=None)


def standing_of(row: Mapping[str, Any], now: Instant, members: Mapping[int, Standing] | None = None) -> Standing:
    """Return whether a buyer or group can take a call now; `members` are the buyers of groups, as far as they are shown."""
    bars, hours = tuple(bars_of(row, now)), hours_of(row)
    holdings = (*_holdings(row, bars, hours, now), *_of_members(row, members))
    return Standing(
        row=row,
        bars=bars,
        holdings=holdings,
        next_at=_next_at(row, holdings, hours, now),
        is_known=all(name in row for name in ("paused", "maxed_out", "business_hours", "time_zone")),
    )


def _of_members(row: Mapping[str, Any], members: Mapping[int, Standing] | None) -> Iterator[Holding]:
    """Yield that none of a group's buyers takes calls, where all of them are shown; a group dials nobody itself."""
    if members is None or "buyer_ids" not in row:
        return
    named = [members.get(buyer_id) for buyer_id in row["buyer_ids"] or ()]
    if not named:
        yield Holding("It has no buyers", None, "until somebody adds one")
    elif all(one is not None and one.holdings for one in named):
        ends = [one.next_at for one in named if one is not None and one.next_at is not None]
        yield Holding("None of its buyers takes calls", min(ends, default=None), "until one of them does")


def hours_of(row: Mapping[str, Any]) -> tuple[Window, ...]:
    """Return the hours of a buyer or group; none being always."""
    return msgspec.convert(row.get("business_hours") or (), tuple[Window, ...])


def _holdings(row: Mapping[str, Any], bars: Sequence[CapBar], hours: tuple[Window, ...], now: Instant) -> Iterator[Holding]:
    if row.get("paused"):
        yield Holding("It is paused", instant_of(row.get("unpause_at")), RESUMED)
    zone = row.get("time_zone")
    if hours and zone and (opens := opens_for_business([(hours, zone)], now)) != now:
        yield Holding(f"It is closed: its hours are {hours_text(hours)} ({zone})", opens, "for a year at least")
    full = [bar for bar in bars if bar.share >= 1]
    for bar in full:
        yield _of_bar(bar)
    if row.get("maxed_out") and not full:
        yield Holding("A cap is used up that no team of yours shows", None, RESET)


def _of_bar(bar: CapBar) -> Holding:
    if bar.limit <= 0:
        return Holding(f"It is closed: its limit of {bar.name} is 0", None, "until somebody raises it")
    if bar.is_of_lines:
        return Holding(f"All of its {bar.limit:,.10g} lines are in use", None, RELEASED)
    return Holding(f"Its {bar.name} are used up: {bar.used:,.10g} of {bar.limit:,.10g}", bar.resets_at, RESET)


def _next_at(row: Mapping[str, Any], holdings: Sequence[Holding], hours: tuple[Window, ...], now: Instant) -> Instant | None:
    """Return when all that holds is over and it is open; None where nothing holds, or where no clock says when."""
    known = [one.until for one in holdings if one.until is not None]
    zone = row.get("time_zone")
    if not known or len(known) < len(holdings) or not zone:
        return None
    return opens_for_business([(hours, zone)], max(now, *known))


class NamedBy(Struct, frozen=True):
    """Who sends calls to a buyer: groups, offers, and the schedules with a call step that names it or its group."""

    groups: tuple[Standing, ...]
    offers: tuple[str, ...]
    schedules: tuple[str, ...]
    is_complete: bool
    """Whether the visitor sees all of them: else none found does not mean that there is none."""

    @property
    def is_nobody(self) -> bool:
        """Return whether no lead is routed to the buyer."""
        return self.is_complete and not self.offers and not self.schedules


def find_named_by(
    buyer_id: int,
    lists: Mapping[str, Sequence[Mapping[str, Any]] | None],
    now: Instant,
    *,
    most: int,
) -> NamedBy:
    """Return who names a buyer; `lists` holds groups, offers and schedules, None where a list is not granted."""
    groups = [row for row in lists["groups"] or () if buyer_id in (row.get("buyer_ids") or ())]
    group_ids = {row["id"] for row in groups}
    offers = [row for row in lists["offers"] or () if _names(row, buyer_id, group_ids)]
    schedules = [row for row in lists["schedules"] or () if any(_of_steps(row, buyer_id, group_ids))]
    needed = {"groups": ("buyer_ids",), "offers": ("buyer_ids", "buyer_group_ids"), "schedules": ("steps",)}
    return NamedBy(
        tuple(standing_of(row, now) for row in groups),
        tuple(name_of(row) for row in offers),
        tuple(name_of(row) for row in schedules),
        is_complete=all(
            rows is not None and len(rows) < most and all(name in row for row in rows for name in needed[key])
            for key, rows in lists.items()
        ),
    )


def _of_steps(schedule: Mapping[str, Any], buyer_id: int, group_ids: set[int]) -> Iterator[bool]:
    for step in schedule.get("steps") or ():
        connect = step.get("connect") or {}
        named = {connect.get("buyer_group_id"), *(connect.get("buyer_group_ids") or ())}
        yield buyer_id in (connect.get("buyer_ids") or ()) or not named.isdisjoint(group_ids)


def _names(offer: Mapping[str, Any], buyer_id: int, group_ids: set[int]) -> bool:
    in_groups = not group_ids.isdisjoint(offer.get("buyer_group_ids") or ())
    return in_groups or buyer_id in (offer.get("buyer_ids") or ())
