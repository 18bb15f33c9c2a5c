"""What is open, found by looking at the wall clock minute by minute? Written apart from the engine, slow on purpose.

Shared with the engine: only the zone data and the shape of a window's row.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache

from msgspec import Struct

from engine.calendar import zone
from schemas.schedule import Window

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
DAY_NAMES = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


class OracleRule(Struct, frozen=True):
    """One rule about hours as the oracle reads it; `rows` None is always open."""

    rows: tuple[Window, ...] | None
    zones: tuple[str, ...]
    closed_dates: frozenset[date] = frozenset()
    margin_minutes: int = 0


class OpeningOracle:
    """Every minute of a fortnight in one zone, and when each wall-clock minute was first and last shown."""

    def __init__(self, zone_name: str, start: datetime, days: int) -> None:
        self.start = start
        self.shown: list[datetime] = []
        self.first: dict[datetime, int] = {}
        self.last: dict[datetime, int] = {}
        info = zone(zone_name)
        for number in range(days * 1440):
            self._note(number, (start + number * MINUTE).astimezone(info).replace(tzinfo=None, fold=0))

    def _note(self, number: int, reading: datetime) -> None:
        skipped = self.shown[-1] + MINUTE if self.shown else reading
        while skipped < reading:  # the clock jumped: what it skipped is reached where it goes on
            self.first.setdefault(skipped, number)
            self.last[skipped] = number
            skipped += MINUTE
        self.first.setdefault(reading, number)
        self.last[reading] = number
        self.shown.append(reading)

    def open_minutes(self, rule: OracleRule) -> list[bool]:
        rows = None if rule.rows is None or _whole_week(rule.rows) else rule.rows
        marks = [rows is None] * len(self.shown)
        for day in sorted({reading.date() for reading in self.shown}):
            if rows is not None and day not in rule.closed_dates:
                self._mark(marks, day, [row for row in rows if DAY_NAMES[day.weekday()] in row.days])
        marks = [mark and reading.date() not in rule.closed_dates for mark, reading in zip(marks, self.shown, strict=True)]
        if rule.margin_minutes:
            marks = [run > rule.margin_minutes for run in _run_lengths(marks)]
        return marks

    def _mark(self, marks: list[bool], day: date, rows: Sequence[Window]) -> None:
        midnight = datetime.combine(day, time.min)
        covered: set[int] = set()
        for row in rows:
            minutes = _minutes(row)
            opens, closes = midnight + minutes[0] * MINUTE, midnight + (minutes[-1] + 1) * MINUTE
            covered |= set(range(1440)) & set(minutes)
            for number in range(self._number(self.last, opens), self._number(self.first, closes)):
                marks[number] = True
        if len(covered) == 1440:
            for number, reading in enumerate(self.shown):
                if reading.date() == day:
                    marks[number] = True

    def _number(self, known: dict[datetime, int], reading: datetime) -> int:
        outside = 0 if reading < self.shown[0] else len(self.shown)
        return known.get(reading, outside)


@lru_cache(maxsize=64)
def diary(zone_name: str, start: datetime, days: int) -> OpeningOracle:
    return OpeningOracle(zone_name, start, days)


def open_everywhere(rules: Sequence[OracleRule], start: datetime, days: int) -> list[bool]:
    """Return for each minute from `start` on whether every rule allows it in each of its zones."""
    columns = [diary(name, start, days).open_minutes(rule) for rule in rules for name in rule.zones]
    return [all(column) for column in zip(*columns, strict=True)]


@lru_cache(maxsize=1024)
def clock_changes(zone_name: str, first_year: int, last_year: int) -> tuple[datetime, ...]:
    """Return the minutes at which the offset of a zone changes."""
    info = zone(zone_name)
    found = []
    day = datetime(first_year, 1, 1, tzinfo=UTC)
    while day.year <= last_year:
        if _offset(day, info) != _offset(day + DAY, info):
            found.append(
                next(at for at in (day + n * MINUTE for n in range(1, 1441)) if _offset(at, info) != _offset(day, info))
            )
        day += DAY
    return tuple(found)


def _offset(at: datetime, info: object) -> timedelta | None:
    return at.astimezone(info).utcoffset()  # type: ignore[arg-type]


def _minutes(row: Window) -> range:
    """Return the minutes of a row, counted from the 00:00 of its opening day."""
    opens, closes = (int(text[:2]) * 60 + int(text[3:]) for text in (row.open, row.close))
    return range(opens, closes if closes > opens else closes + 1440)


def _whole_week(rows: Sequence[Window]) -> bool:
    found = ((DAY_NAMES.index(day) * 1440 + minute) % 10080 for row in rows for day in row.days for minute in _minutes(row))
    return len(set(found)) == 10080


def _run_lengths(marks: Sequence[bool]) -> list[int]:
    """Return for each minute how many open ones follow without a break, itself included."""
    lengths: list[int] = []
    for mark in reversed(marks):
        lengths.append((lengths[-1] + 1 if lengths else 1) if mark else 0)
    return lengths[::-1]
