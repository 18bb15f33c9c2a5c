"""When does a wait end? After a duration, or when the clock on the wall next shows a time.

Seconds, minutes and hours elapse; days and weeks keep the wall clock, so a day that starts at 10:00 ends at 10:00, also
when it has 23 hours. Waits are not windowed: the contact that follows is.
"""

import re
from collections.abc import Collection
from datetime import date, datetime, time, timedelta
from typing import Literal

from msgspec import Struct

from engine.calendar.wall import CalendarError, WallTime, parse_date, parse_wall_time, parse_weekday
from engine.calendar.zones import local_datetime, resolve_local
from schemas.instant import DAY, HOUR, MINUTE, SECOND, Instant, Millis

Mode = Literal["elapsed", "calendar"]
Unit = Literal["s", "m", "h", "d", "w"]

DURATION_MAX = 366 * DAY
"""No schedule waits longer than a leap year; more is a typing error."""

_DAYS_AHEAD = 9
"""Today, where its time has passed, the same weekday a week on, and one for a zone that leaves a date out."""

_UNITS: dict[str, Millis] = {"s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY}
_DURATION = re.compile(r"([0-9]{1,8})([smhdw])", re.ASCII)


class Duration(Struct, frozen=True):
    """A whole number of seconds, minutes, hours, days or weeks."""

    amount: int
    unit: Unit

    @property
    def elapsed(self) -> Millis:
        """Its milliseconds, a day taken as 24 hours."""
        return self.amount * _UNITS[self.unit]

    @property
    def mode(self) -> Mode:
        """Whether it elapses or keeps the wall clock by default."""
        return "calendar" if self.unit in "dw" else "elapsed"


def parse_duration(text: str) -> Duration:
    """Return the duration of `90s`, `15m`, `2h`, `1d` or `1w`. Raises `CalendarError`."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise CalendarError("must be a whole number and one of s, m, h, d, w, such as 90s, 15m, 2h, 1d or 1w")
    duration = Duration(amount=int(match[1]), unit=match[2])  # type: ignore[arg-type]  # the pattern's own letters
    if duration.elapsed > DURATION_MAX:
        raise CalendarError("must be at most 366d")
    return duration


def after_duration(base: Instant, duration: Duration, zone_name: str, mode: Mode | None = None) -> Instant:
    """Return the end of a wait that began at base, never before base; `zone_name` is the lead's."""
    if (mode or duration.mode) == "elapsed":
        return base + duration.elapsed
    start = local_datetime(base, zone_name).replace(tzinfo=None)
    return _shown_from(base, start + timedelta(milliseconds=duration.elapsed), zone_name)


def next_local_time(
    base: Instant,
    at_time: str,
    days: Collection[str],
    zone_name: str,
    *,
    if_passed: Literal["next_day", "now"] = "next_day",
    on_date: str | None = None,
) -> Instant:
    """Return the first instant >= base at which the clock shows `HH:MM` on one of the days (none named: on any).

    `on_date` (`YYYY-MM-DD`) is the first date that counts. Where the time has passed on the day that was meant (today,
    or the date named), `now` ends the wait at base and `next_day` goes on to the next of the days. A time that the
    clock skips that day is taken an hour later, as RFC 5545 has it. Raises `CalendarError` for what cannot be read.
    """
    wall_time, weekdays = parse_wall_time(at_time), {parse_weekday(day) for day in days} or set(range(7))
    today = local_datetime(base, zone_name).date()
    meant = parse_date(on_date) if on_date else today
    if meant < today and if_passed == "now":
        return base
    for day in (max(meant, today) + timedelta(days=days_on) for days_on in range(_DAYS_AHEAD)):
        if day.weekday() in weekdays:
            at = _shown_from(base, _reading(day, wall_time), zone_name)
            if at >= base:
                return at
            if if_passed == "now":
                return base
    raise AssertionError("every weekday comes again within a week")


def _shown_from(base: Instant, reading: datetime, zone_name: str) -> Instant:
    """Return when the clock shows the reading: of a time shown twice, the first that is not before base."""
    at = resolve_local(reading, zone_name)
    if at >= base:
        return at
    return max(at, resolve_local(reading.replace(fold=1), zone_name))


def _reading(day: date, wall_time: WallTime) -> datetime:
    return datetime.combine(day, time.min) + timedelta(milliseconds=wall_time)
