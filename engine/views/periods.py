"""Which span of time does a label such as `Last 4 Hours` or `This Month` mean, seen from a moment and a zone?

`Last` with a number is elapsed time up to now; the other words are read on the calendar of the zone, where weeks begin on
Monday and a day at the first instant of its date.
"""

from collections.abc import Callable
from datetime import date, datetime, timedelta

from engine.calendar.zones import day_start, local_datetime, resolve_local
from schemas.instant import DAY, HOUR, MINUTE, Instant, Millis

Span = tuple[Instant | None, Instant | None]
"""From (inclusive) and to (exclusive); None is open."""

MONTHS_A_QUARTER = 3
MONTHS_A_YEAR = 12

_ELAPSED: dict[str, Millis] = {
    "Last 5 Min": 5 * MINUTE,
    "Last 15 Min": 15 * MINUTE,
    "Last 30 Min": 30 * MINUTE,
    "Last Hour": HOUR,
    "Last 4 Hours": 4 * HOUR,
    "Last 6 Hours": 6 * HOUR,
    "Last 12 Hours": 12 * HOUR,
    "Last Day": DAY,
    "Last 2 Days": 2 * DAY,
}


def _months(day: date, count: int) -> date:
    """Return the first day of the month `count` months after that of `day`."""
    months = day.year * MONTHS_A_YEAR + day.month - 1 + count
    return date(months // MONTHS_A_YEAR, months % MONTHS_A_YEAR + 1, 1)


def _months_ago(local: datetime, zone_name: str) -> Instant:
    """Return the same reading of the clock six months ago, on the last day of a month that has no such day."""
    first = _months(local.date(), -MONTHS_BACK)
    last = _months(first, 1) - timedelta(days=1)
    return resolve_local(datetime.combine(first.replace(day=min(local.day, last.day)), local.time()), zone_name)


def _week(day: date, count: int) -> date:
    return day + timedelta(days=7 * count - day.weekday())


def _quarter(day: date, count: int) -> date:
    return _months(day, MONTHS_A_QUARTER * count - (day.month - 1) % MONTHS_A_QUARTER)


def _year(day: date, count: int) -> date:
    return date(day.year + count, 1, 1)


_CALENDAR: dict[str, Callable[[date], tuple[date, date]]] = {
    "Today": lambda day: (day, day + timedelta(days=1)),
    "Yesterday": lambda day: (day - timedelta(days=1), day),
    "This Week": lambda day: (_week(day, 0), _week(day, 1)),
    "Last Week": lambda day: (_week(day, -1), _week(day, 0)),
    "This Month": lambda day: (_months(day, 0), _months(day, 1)),
    "Last Month": lambda day: (_months(day, -1), _months(day, 0)),
    "This Quarter": lambda day: (_quarter(day, 0), _quarter(day, 1)),
    "Last Quarter": lambda day: (_quarter(day, -1), _quarter(day, 0)),
    "This Year": lambda day: (_year(day, 0), _year(day, 1)),
    "Last Year": lambda day: (_year(day, -1), _year(day, 0)),
}
LAST_MONTHS = "Last 6 Months"
MONTHS_BACK = 6
_UNBOUNDED = ("Lifetime", "Custom Range")

LABELS: tuple[str, ...] = (*_ELAPSED, *_CALENDAR, LAST_MONTHS, *_UNBOUNDED)
"""Every label; `Custom Range` leaves the span to explicit bounds. `Last 6 Months` begin at this hour of this day then."""


def span_of(label: str, now: Instant, zone_name: str) -> Span:
    """Return the span of a label. Raises `KeyError` for a label that is not one of `LABELS`."""
    if label in _UNBOUNDED:
        return None, None
    if label in _ELAPSED:
        return now - _ELAPSED[label], None
    if label == LAST_MONTHS:
        return _months_ago(local_datetime(now, zone_name), zone_name), None
    first, behind = _CALENDAR[label](local_datetime(now, zone_name).date())
    return day_start(first, zone_name), day_start(behind, zone_name)
