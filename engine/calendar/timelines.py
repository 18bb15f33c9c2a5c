"""When exactly is a set of windows open in one zone? Weekly hours as instants, computed a stretch at a time and cached.

A stretch is a sorted tuple of edges: open, close, open, close, … So how many edges lie at or before an instant says
whether it is open (an odd number), and the next edge says until when. What is kept changes the speed of an answer,
never the answer.
"""

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import chain
from typing import cast

from engine.calendar.windows import WindowSet, merge
from engine.calendar.zones import close_edge, day_start, local_datetime, open_edge, zone
from schemas.instant import DAY, EPOCH, Instant, Millis, from_datetime

FOREVER = Instant(2**62)
"""Later than any instant: a close edge that never comes, an open edge that was never found."""

OpenSpan = tuple[Instant, Instant]
"""(open, close)."""

STRETCH = 16 * DAY
"""Computed at once: about 0.1 ms of work, cached for the leads of a fortnight."""

STRETCHES_MAX = 8
"""Cached per timeline, the oldest goes first: 128 days, enough for leads that wait for weeks; some 1 KB each."""

TIMELINES_MAX = 2_048
"""Cached, of each kind: window sets in use x zones; most hold one or two stretches, so a few MB."""

# Python's dates end with the year 9999, and what looks ahead must stay below.
CALENDAR = cast("Container[Instant]", range(*(from_datetime(datetime(year, 1, 1, tzinfo=UTC)) for year in (1900, 9990))))
"""The instants that can be open; nothing is open outside."""

_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_ONE_DAY = timedelta(days=1)


class Timeline(ABC):
    """The open spans of one rule in one zone, as instants."""

    __slots__ = ("_stretches", "closed_days", "margin", "zone_name")

    def __init__(self, zone_name: str, closed_days: tuple[int, ...], margin: Millis) -> None:
        zone(zone_name)  # an unknown zone is refused here, not by the first lead that meets it
        self.zone_name = zone_name
        self.closed_days = closed_days
        self.margin = margin
        self._stretches: dict[int, tuple[Instant, ...]] = {}

    def is_open(self, at: Instant) -> bool:
        """Return whether the instant lies in a span."""
        edges = self._stretches.get(at // STRETCH)
        if edges is None:
            edges = self._lay_out(at // STRETCH)
        return bisect_right(edges, at) & 1 == 1

    def open_from(self, at: Instant, limit: Instant) -> Instant:
        """Return the first open instant at or after `at`, or `FOREVER` where none begins by `limit`."""
        while at <= limit:
            edges = self._edges(at)
            passed = bisect_right(edges, at)
            if passed & 1:
                return at
            if passed < len(edges):
                return edges[passed]
            at = EPOCH + (at // STRETCH + 1) * STRETCH
        return FOREVER

    def close_after(self, at: Instant) -> Instant:
        """Return the edge that ends the span around `at` (`FOREVER` where nothing ends it), or `at` where it is closed."""
        edges = self._edges(at)
        passed = bisect_right(edges, at)
        return edges[passed] if passed & 1 else at

    def same_until(self, at: Instant) -> Instant:
        """Return an instant up to which what holds at `at` holds without a break: the next edge that is laid out."""
        edges = self._edges(at)
        passed = bisect_right(edges, at)
        return edges[passed] if passed < len(edges) else EPOCH + (at // STRETCH + 1) * STRETCH

    def opens_at(self, at: Instant) -> bool:
        """Return whether a span begins exactly here."""
        edges = self._edges(at)
        place = bisect_left(edges, at)
        return place & 1 == 0 and place < len(edges) and edges[place] == at

    def closes_a_day_within(self, start: Instant, end: Instant) -> bool:
        """Return whether a closed date touches the time from `start` to `end`; may say yes for one a day away."""
        place = bisect_left(self.closed_days, _utc_ordinal(start) - 1)
        return place < len(self.closed_days) and self.closed_days[place] <= _utc_ordinal(end) + 1

    def _edges(self, at: Instant) -> tuple[Instant, ...]:
        edges = self._stretches.get(at // STRETCH)
        return self._lay_out(at // STRETCH) if edges is None else edges

    def _lay_out(self, number: int) -> tuple[Instant, ...]:
        start, end = EPOCH + number * STRETCH, EPOCH + (number + 1) * STRETCH
        spans = self._spans(start, end) if start in CALENDAR and end in CALENDAR else []
        edges = tuple(chain.from_iterable(self._shorten(merge(spans), start, end)))
        if len(self._stretches) >= STRETCHES_MAX:
            del self._stretches[next(iter(self._stretches))]
        self._stretches[number] = edges
        return edges

    def _shorten(self, spans: list[OpenSpan], start: Instant, end: Instant) -> Iterator[OpenSpan]:
        for opens, closes in spans:
            shut = closes if closes == FOREVER else closes - self.margin
            if opens < shut and opens < end and start < shut:
                yield opens, shut

    @abstractmethod
    def _spans(self, start: Instant, end: Instant) -> list[OpenSpan]:
        """Return every span that touches the time from `start` to `end`, with its true close."""


class WeeklyHours(Timeline):
    """The windows of a week in a zone; a window whose opening day is a closed date does not open."""

    __slots__ = ("windows",)

    def __init__(self, windows: WindowSet, zone_name: str, closed_days: tuple[int, ...], margin: Millis) -> None:
        super().__init__(zone_name, closed_days, margin)
        self.windows = windows

    def _spans(self, start: Instant, end: Instant) -> list[OpenSpan]:
        number = local_datetime(start, self.zone_name).toordinal() - 2
        begins = day_start(date.fromordinal(number), self.zone_name)
        spans: list[OpenSpan] = []
        reach = end
        # Beyond the end only while open without a break: not for ever, since some hour of the week is closed.
        while begins <= reach:
            ends = day_start(date.fromordinal(number + 1), self.zone_name)
            # A date that the zone skipped (Samoa left out 2011-12-30) has no hours.
            if begins < ends and number not in self.closed_days:
                for span in self._spans_of(date.fromordinal(number), begins, ends):
                    spans.append(span)
                    reach = max(reach, span[1]) if span[0] <= reach else reach
            number, begins = number + 1, ends
        return spans

    def _spans_of(self, day: date, begins: Instant, ends: Instant) -> Iterator[OpenSpan]:
        for opens, closes in self.windows.days[day.weekday()]:
            # A day open from its first hour to its last is open whole, also where its midnight comes twice.
            first = begins if opens == 0 and closes >= DAY else open_edge(day, opens, self.zone_name)
            if closes < DAY:
                yield first, close_edge(day, closes, self.zone_name)
            elif closes == DAY:
                yield first, ends
            else:
                yield first, close_edge(day + _ONE_DAY, closes - DAY, self.zone_name)


class ClosedDates(Timeline):
    """Every instant but the local days of the closed dates, each from its first instant to that of the next day."""

    __slots__ = ("_open",)

    def __init__(self, zone_name: str, closed_days: tuple[int, ...], margin: Millis) -> None:
        super().__init__(zone_name, closed_days, margin)
        self._open: list[OpenSpan] | None = None

    def _spans(self, start: Instant, end: Instant) -> list[OpenSpan]:
        if self._open is None:
            self._open = list(self._between_closed_days())
        return [span for span in self._open if span[0] < end and start < span[1]]

    def _between_closed_days(self) -> Iterator[OpenSpan]:
        since = EPOCH - (FOREVER - EPOCH)
        for day in self.closed_days:
            yield since, day_start(date.fromordinal(day), self.zone_name)
            since = day_start(date.fromordinal(day + 1), self.zone_name)
        yield since, FOREVER


def timelines(
    windows: WindowSet | None, zone_name: str, closed_dates: frozenset[date], margin: Millis
) -> tuple[Timeline, ...]:
    """Return what must be open in a zone, each of them: () where nothing ever closes. Raises `UnknownZoneError`."""
    days = tuple(sorted(day.toordinal() for day in closed_dates))
    found: list[Timeline] = []
    if windows is not None and not windows.always:
        # Only what runs past midnight needs to know whether its opening day was closed.
        found.append(_weekly_hours(windows, zone_name, days if windows.overnight else (), margin))
    if days:
        found.append(_closed_dates(zone_name, days, margin))
    if not found:
        zone(zone_name)
    return tuple(found)


@lru_cache(maxsize=TIMELINES_MAX)
def _weekly_hours(windows: WindowSet, zone_name: str, closed_days: tuple[int, ...], margin: Millis) -> WeeklyHours:
    return WeeklyHours(windows, zone_name, closed_days, margin)


@lru_cache(maxsize=TIMELINES_MAX)
def _closed_dates(zone_name: str, closed_days: tuple[int, ...], margin: Millis) -> ClosedDates:
    return ClosedDates(zone_name, closed_days, margin)


def _utc_ordinal(instant: Instant) -> int:
    return _EPOCH_ORDINAL + instant // DAY
