"""Where does a span of time lie on a wall clock, day by day? Also where the clock goes forward or back.

A picture has one row of 24 hours for each local day. A span is cut at each midnight and at each change of the clock, so that
a piece has one offset: the hour that a clock shows twice is drawn once for each time, and the hour that it skips not at all.
"""

from collections.abc import Iterator
from datetime import date, timedelta

from msgspec import Struct

from engine.calendar import day_start, local_datetime
from engine.calendar.zones import next_offset_change
from schemas.instant import DAY, HOUR, MINUTE, Instant

MINUTES_A_DAY = 24 * 60

PIECES_MAX = 4_000
"""Pieces of one span: more than ten years of days. What comes after is not drawn."""


class WallPiece(Struct, frozen=True):
    """A part of a span on one local day, from minute to minute of its clock."""

    day: date
    begins: float
    ends: float


def minute_of(at: Instant, zone: str) -> tuple[date, float]:
    """Return the local day of an instant, and the minute that the clock shows."""
    local = local_datetime(at, zone)
    return local.date(), local.hour * 60 + local.minute + local.second / 60


def wall_pieces(begins_at: Instant, ends_at: Instant, zone: str) -> Iterator[WallPiece]:
    """Yield a span as pieces on the wall clock."""
    at = begins_at
    for _ in range(PIECES_MAX):
        if at >= ends_at:
            return
        day, begins = minute_of(at, zone)
        until = min(ends_at, _next_break(at, day, zone))
        yield WallPiece(day, begins, min(MINUTES_A_DAY, begins + (until - at) / MINUTE))
        at = until


def hours_of_day(day: date, zone: str) -> float:
    """Return how many hours a local day has: 24, but where the clock changes."""
    return (day_start(day + timedelta(days=1), zone) - day_start(day, zone)) / HOUR


def clock_note(day: date, zone: str) -> str | None:
    """Return in words how the clock changes on a day, or None where it does not."""
    start, hours = day_start(day, zone), hours_of_day(day, zone)
    if hours == 24:  # noqa: PLR2004 - hours of a day
        return None
    change = next_offset_change(start, zone)
    if change is None:
        return None
    before, after = local_datetime(change + -1, zone), local_datetime(change, zone)
    shown = before + timedelta(milliseconds=1)
    verb = "skips" if hours < 24 else "repeats"  # noqa: PLR2004 - hours of a day
    first, last = (shown, after) if verb == "skips" else (after, shown)
    return f"the clock {verb} {first:%H:%M} to {last:%H:%M}"


def skipped_minutes(day: date, zone: str) -> tuple[float, float] | None:
    """Return from and to which minute the clock of a day skips, or None."""
    change = next_offset_change(day_start(day, zone) + -1, zone)
    if change is None or change >= day_start(day, zone) + 2 * DAY:
        return None
    before, after = local_datetime(change + -1, zone) + timedelta(milliseconds=1), local_datetime(change, zone)
    begins, ends = before.hour * 60 + before.minute, after.hour * 60 + after.minute
    is_forward = before.replace(tzinfo=None) < after.replace(tzinfo=None)
    return (begins, ends) if is_forward and after.date() == day and begins < ends else None


def _next_break(at: Instant, day: date, zone: str) -> Instant:
    midnight = day_start(day + timedelta(days=1), zone)
    change = next_offset_change(at, zone)
    return midnight if change is None or change > midnight else change
