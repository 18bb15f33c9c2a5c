"""How much of a record's caps is used in each period, which caps block a call, and until when?

A granted slot reserves an attempt, and a connection where it names a buyer. Reserved counts as used, so that no cap is
exceeded while outcomes are pending. Conversions and revenue are known after the call: they block further grants once the
cap is reached. A running period keeps its end, also where the record's zone changes.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from math import floor
from typing import Literal

from msgspec import Struct

from engine.account.groups import PERIODS
from engine.views.report import bucket_of
from schemas.account import CapUsage, Slots
from schemas.instant import EPOCH, Instant
from schemas.money import NOTHING, amount
from schemas.records import Body, Buyer, BuyerGroup, Number, TrafficSource

Capped = Buyer | BuyerGroup | TrafficSource | Number

UNITS: Mapping[str, str] = {"hourly": "created_at_hour", "daily": "created_at_day", "monthly": "created_at_month"}
"""Period -> its bucket of time in the zone of the record: the hour at :00, the local day, the month from the 1st."""

ATTEMPT, CONNECTION = "attempt", "connection"
RESERVED = (ATTEMPT, CONNECTION)
"""Metrics that a grant reserves; the others are unknown before the call."""

COUNTS = frozenset({"buyer_conversion", "offer_conversion"})
"""Metrics that are whole numbers and never negative."""

WHOLE = COUNTS | {ATTEMPT, CONNECTION}

Ended = Literal["unused", "attempted", "connected", "unknown"]
"""How a slot ended: unused, attempted, connected to a buyer; or unknown, which counts all that it reserved as used."""

CONFIRMED: Mapping[str, tuple[str, ...]] = {
    "unused": (),
    "attempted": (ATTEMPT,),
    "connected": RESERVED,
    "unknown": RESERVED,
}

Tallies = Mapping[str, CapUsage]
"""Period -> what is used in it; a period that has ended may still stand there until the next grant."""


class CapBlock(Struct, frozen=True):
    """The caps that block a call now, and when their resets unblock it (None: no reset does).

    With `may_be_freed` open calls fill them: some may release what they reserved before `until`.
    """

    caps: tuple[str, ...]
    until: Instant | None
    may_be_freed: bool


def capped(body: Body | None) -> Capped | None:
    """Return a body whose record may have caps."""
    return body if isinstance(body, Capped) else None


def period_of(period: str, now: Instant, body: Capped) -> tuple[Instant | None, Instant | None]:
    """Return when a period began and when it ends; the total begins when it was last reset (None: ever) and has no end."""
    if period not in UNITS:
        return body.total_caps_reset_at, None
    return bucket_of(UNITS[period], now, body.time_zone)


def live_tally(tallies: Tallies, period: str, body: Capped, now: Instant) -> CapUsage | None:
    """Return what is used in the present period, None where that is nothing yet."""
    tally = tallies.get(period)
    if tally is None or (tally.ends_at is not None and tally.ends_at <= now):
        return None
    return tally if period in UNITS or tally.began_at == (body.total_caps_reset_at or 0) else None


def roll_periods(slots: Slots, body: Capped | None, now: Instant) -> None:
    """Start new periods, and drop those that are over; a record without caps counts nothing."""
    if body is None or not body.caps:
        slots.tallies = {}
        return
    slots.tallies = {
        period: live_tally(slots.tallies, period, body, now) or _new_tally(period, now, body, slots.grants)
        for period in PERIODS
    }


def _new_tally(period: str, now: Instant, body: Capped, grants: int) -> CapUsage:
    began_at, ends_at = period_of(period, now, body)
    return CapUsage(began_at=began_at or EPOCH, ends_at=ends_at, after=grants)


def reserve(slots: Slots, *, is_connected: bool) -> int:
    """Reserve what one more call may use; return the number of the grant, which identifies its periods later."""
    if not slots.tallies:
        return 0
    slots.grants += 1
    for tally in slots.tallies.values():
        for metric in RESERVED if is_connected else (ATTEMPT,):
            tally.open[metric] = tally.open.get(metric, 0) + 1
    return slots.grants


def settle_reservation(slots: Slots, number: int, ended: Ended, *, is_connected: bool) -> None:
    """Confirm what a call used and release the rest, in the periods of its grant that still run."""
    for tally in slots.tallies.values():
        if number <= tally.after:
            continue  # it was granted before this period began
        for metric in RESERVED if is_connected else (ATTEMPT,):
            tally.open[metric] -= 1
            if not tally.open[metric]:
                del tally.open[metric]
            if metric in CONFIRMED[ended]:
                tally.used[metric] = tally.used.get(metric, NOTHING) + 1


def correct_use(slots: Slots, number: int, ended: Ended, *, is_connected: bool) -> None:
    """Take back what a call was counted for whose end was unknown, in the periods of its grant that still run."""
    for tally in slots.tallies.values():
        if number <= tally.after:
            continue
        for metric in RESERVED if is_connected else (ATTEMPT,):
            if metric not in CONFIRMED[ended]:
                tally.used[metric] = max(NOTHING, tally.used.get(metric, NOTHING) - 1)


def add_amounts(slots: Slots, at: Instant, amounts: Mapping[str, Decimal]) -> None:
    """Add what a call earned to the periods of its instant; a reversal is negative."""
    for tally in slots.tallies.values():
        if not tally.began_at <= at or (tally.ends_at is not None and tally.ends_at <= at):
            continue
        for metric, added in amounts.items():
            total = amount(tally.used.get(metric, NOTHING) + added)
            tally.used[metric] = max(NOTHING, total) if metric in COUNTS else total


def used_now(tallies: Tallies, body: Capped, now: Instant) -> dict[str, Decimal]:
    """Return what is used of each metric and period (`attempt_daily`): confirmed, or reserved by a call under way."""
    found: dict[str, Decimal] = {}
    for period in PERIODS:
        tally = live_tally(tallies, period, body, now)
        if tally is not None:
            metrics = dict.fromkeys((*tally.used, *tally.open))
            found |= {
                f"{metric}_{period}": tally.used.get(metric, NOTHING) + tally.open.get(metric, 0) for metric in metrics
            }
    return found


def blocking_caps(tallies: Tallies, body: Capped, now: Instant) -> CapBlock | None:
    """Return the caps that block the next grant, or None."""
    if not body.caps:
        return None
    hit, full = list[str](), list[str]()
    for cap, used, opened in _caps(tallies, body, now):
        if is_reached(body, cap, used):
            hit.append(cap)
        elif is_reached(body, cap, used + opened):
            full.append(cap)
    if hit:
        return CapBlock(tuple(hit), _last_reset(tallies, body, hit, now), may_be_freed=False)
    return CapBlock(tuple(full), first_reset(tallies, body, full, now), may_be_freed=True) if full else None


def reached_caps(tallies: Tallies, body: Capped, now: Instant) -> dict[str, Decimal]:
    """Return the caps that are used up by what is confirmed, each with the amount; one of 0 is never reached."""
    found = ((cap, used) for cap, used, _ in _caps(tallies, body, now) if body.caps[cap] > 0)
    return {cap: used for cap, used in found if is_reached(body, cap, used)}


def is_reached(body: Capped, cap: str, used: Decimal | int) -> bool:
    """Return whether a cap is reached; whole metrics round the limit down."""
    limit = body.caps[cap]
    return used >= (floor(limit) if cap.rpartition("_")[0] in WHOLE else limit)


def _caps(tallies: Tallies, body: Capped, now: Instant) -> Iterator[tuple[str, Decimal, int]]:
    """Yield each cap, what of it is confirmed, and what is reserved."""
    for cap in body.caps:
        metric, _, period = cap.rpartition("_")
        tally = live_tally(tallies, period, body, now) or CapUsage()
        yield cap, tally.used.get(metric, NOTHING), tally.open.get(metric, 0)


def resets_at(tallies: Tallies, body: Capped, cap: str, now: Instant) -> Instant | None:
    """Return when a cap is reset: None for one that time does not reset."""
    period = cap.rpartition("_")[2]
    tally = live_tally(tallies, period, body, now)
    if body.caps[cap] <= 0:
        return None
    return period_of(period, now, body)[1] if tally is None else tally.ends_at


def _last_reset(tallies: Tallies, body: Capped, hit: list[str], now: Instant) -> Instant | None:
    resets = [resets_at(tallies, body, cap, now) for cap in hit]
    known = [at for at in resets if at is not None]
    return max(known) if len(known) == len(resets) else None


def first_reset(tallies: Tallies, body: Capped, caps: Sequence[str], now: Instant) -> Instant | None:
    """Return the earliest reset of these caps, None where time resets none of them."""
    resets = (resets_at(tallies, body, cap, now) for cap in caps)
    return min((at for at in resets if at is not None), default=None)
