"""How are the times on a wall clock written? `09:30` as milliseconds of a local day, days as `mon` to `sun`, dates as ISO.

A wall time is no instant: which moment it names depends on the zone and the date (`engine.calendar.zones`).
"""

import re
from collections.abc import Iterator
from datetime import date, timedelta

from schemas.errors import SenderError
from schemas.instant import DAY, HOUR, MINUTE

WallTime = int
"""Milliseconds since the local day's 00:00 as the clock on the wall counts them; `DAY` stands for 24:00."""

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
"""In the order of `date.weekday()`."""

DATE_YEARS = range(1970, 2200)
"""The years of a date: a typing error such as 9202 is refused, and searches stay within Python's dates."""

_WALL_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])", re.ASCII)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


class CalendarError(SenderError, ValueError):
    """The text is no time, day, date, duration, window or zone; the message says how to correct it."""


def parse_wall_time(text: str) -> WallTime:
    """Return the wall time of `HH:MM` from 00:00 to 23:59. Raises `CalendarError`."""
    match = _WALL_TIME.fullmatch(text)
    if match is None:
        raise CalendarError("must be a time of day as HH:MM such as 09:00, from 00:00 to 23:59")
    return int(match[1]) * HOUR + int(match[2]) * MINUTE


def parse_closing_time(text: str) -> WallTime:
    """Return the wall time of `HH:MM` from 00:00 to 24:00, the end of the day. Raises `CalendarError`."""
    if text == "24:00":
        return DAY
    try:
        return parse_wall_time(text)
    except CalendarError:
        raise CalendarError("must be a time of day as HH:MM such as 09:00, from 00:00 to 24:00") from None


def parse_date(text: str) -> date:
    """Return the date of `YYYY-MM-DD`. Raises `CalendarError`."""
    # fromisoformat alone would take 20260308 and week dates too.
    try:
        found = date.fromisoformat(text) if _DATE.fullmatch(text) else None
    except ValueError:
        found = None
    if found is None or found.year not in DATE_YEARS:
        raise CalendarError("must be a date that exists, as YYYY-MM-DD, from 1970 to 2199")
    return found


def dates_from(first: str, last: str) -> Iterator[date]:
    """Yield every date from the first to the last. Raises `CalendarError`."""
    begins = parse_date(first)
    for day in range((parse_date(last) - begins).days + 1):
        yield begins + timedelta(days=day)


def parse_weekday(text: str) -> int:
    """Return 0 for `mon` to 6 for `sun`. Raises `CalendarError`."""
    try:
        return WEEKDAYS.index(text)
    except ValueError:
        raise CalendarError("must be one of mon, tue, wed, thu, fri, sat, sun") from None
