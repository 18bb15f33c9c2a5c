"""Which hours of the week are open? The rows of a schedule or a law, compiled to a `WindowSet`.

A window is [open, close) on the wall clock and belongs to the day on which it opens: `22:00` to `02:00` on `fri` runs
into Saturday. In which zone, and on which dates, is said where the windows are used (`engine.calendar.openings`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import TypeVar

from msgspec import Struct

from engine.calendar.wall import CalendarError, WallTime, parse_closing_time, parse_wall_time, parse_weekday
from schemas.instant import DAY, Instant, Millis
from schemas.schedule import Window

WINDOW_ROWS_MAX = 200
"""An hour-by-hour grid of a week is 168 rows; more is a mistake."""

WINDOW_SETS_MAX = 4_096
"""Cached sets: one per channel of each schedule version in use, some 500 bytes each."""

Hours = tuple[WallTime, WallTime]
"""(open, close) on the clock of the opening day; a close after `DAY` lies on the next day."""

WEEK = 7 * DAY

_Edge = TypeVar("_Edge", WallTime, Instant)
"""Of a span: a time of the day, or an instant."""


class WindowError(CalendarError):
    """The rows are no set of windows; `errors` holds every fault as `row.field` -> sentences."""

    def __init__(self, errors: dict[str, list[str]]) -> None:
        super().__init__("; ".join(f"{place} {sentences[0]}" for place, sentences in errors.items()))
        self.errors = errors


class WindowSet(Struct, frozen=True, cache_hash=True):
    """The open hours of each weekday, `mon` first, sorted and merged within the day."""

    days: tuple[tuple[Hours, ...], ...]

    @property
    def always(self) -> bool:
        """Whether the whole week is open."""
        return _week_hours(self) == [(0, WEEK)]

    @property
    def overnight(self) -> bool:
        """Whether any window runs into the next day."""
        return any(close > DAY for _, close in chain.from_iterable(self.days))

    def meets(self, other: "WindowSet", longer_than: Millis = 0) -> bool:
        """Return whether both are ever open at the same time of the week in one zone, for longer than a while."""
        return any(
            min(mine[1], theirs[1]) - max(mine[0], theirs[0]) > longer_than
            for mine in _week_hours(self)
            for theirs in _week_hours(other)
        )


@lru_cache(maxsize=WINDOW_SETS_MAX)
def window_set(rows: tuple[Window, ...]) -> WindowSet:
    """Compile the rows of a schedule. Raises `WindowError` with all faults at once."""
    errors = window_errors(rows)
    if errors:
        raise WindowError(errors)
    return _compile((parse_weekday(day), _hours(row)) for row in rows for day in row.days)


def window_errors(rows: Sequence[Window]) -> dict[str, list[str]]:
    """Return what is wrong with the rows, `row.field` -> sentences, rows counted from 0; {} where nothing is."""
    if not rows:
        return {"": ["has no rows; leave the channel out where its hours are not limited"]}
    if len(rows) > WINDOW_ROWS_MAX:
        return {"": [f"has more than {WINDOW_ROWS_MAX} rows"]}
    found = ((f"{number}.{field}", fault) for number, row in enumerate(rows) for field, fault in _row_faults(row))
    errors: dict[str, list[str]] = {}
    for place, fault in found:
        errors.setdefault(place, []).append(fault)
    return errors


def _row_faults(row: Window) -> Iterator[tuple[str, str]]:
    if not row.days:
        yield "days", "must name at least one day"
    for day in row.days:
        yield from _fault("days", parse_weekday, day)
    faults = [*_fault("open", parse_wall_time, row.open), *_fault("close", parse_closing_time, row.close)]
    yield from faults
    if not faults and row.open == row.close:
        yield "close", "must differ from open; a whole day is 00:00 to 24:00"


def _fault(field: str, parse: Callable[[str], int], text: str) -> Iterator[tuple[str, str]]:
    try:
        parse(text)
    except CalendarError as error:
        yield field, str(error)


def _hours(row: Window) -> Hours:
    opens, closes = parse_wall_time(row.open), parse_closing_time(row.close)
    return opens, closes if closes > opens else closes + DAY


def _compile(rows: Iterable[tuple[int, Hours]]) -> WindowSet:
    days: list[list[Hours]] = [[] for _ in range(7)]
    for day, hours in rows:
        days[day].append(hours)
    return WindowSet(days=tuple(tuple(merge(hours)) for hours in days))


def merge(spans: Iterable[tuple[_Edge, _Edge]]) -> list[tuple[_Edge, _Edge]]:
    """Return the same time as sorted spans that neither touch nor overlap; empty ones are left out."""
    merged: list[tuple[_Edge, _Edge]] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _week_hours(windows: WindowSet) -> list[Hours]:
    """Return the open hours as spans of one week from Monday 00:00; what runs over Sunday's end comes round."""
    spans = [
        (number * DAY + opens, number * DAY + closes) for number, day in enumerate(windows.days) for opens, closes in day
    ]
    carried = [(0, closes - WEEK) for _, closes in spans if closes > WEEK]
    return merge([(opens, min(closes, WEEK)) for opens, closes in spans] + carried)
