"""When is the first instant, at or after a base, that every rule allows in every zone? Found from edges, not by polling.

`next_action_at` is that instant (engine/contact puts caps, spacing and pauses into the base). The code and the zone of
each rule that moved it go into the decision: that is the answer to "why was this person called then".
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from functools import lru_cache

from msgspec import Struct

from engine.calendar.timelines import CALENDAR, FOREVER, Timeline, timelines
from engine.calendar.windows import WindowSet
from engine.calendar.zones import local_datetime, next_offset_change, resolve_local
from schemas.instant import DAY, SECOND, Instant

SEARCH_HORIZON = 400 * DAY
"""How far ahead an opening is searched. Clock changes and holidays repeat within a year; a month on top for those
that wander (Ramadan, Easter). What has not opened by then is `window_never_open`, and no schedule waits that long."""

CLOSE_MARGIN_SECONDS_MAX = 6 * 3_600
"""More would close a working day; and a bound keeps the week's pattern within a day of its windows."""

CONSTRAINTS_MAX = 8_192
"""Cached: rule x set of candidate zones; small, since timelines are shared."""

_WEEK_SEEN = 9 * DAY
"""A week, and two days before it in which windows opened under an earlier offset may still run out."""

_NEAR_A_CHANGE = 3 * DAY
"""Windows whose edges a clock change can touch open, run and close within this time of it."""


class Constraint(Struct, frozen=True, eq=False):
    """A rule about hours, ready to be asked: its `status_wait` code and what must be open for it."""

    code: str
    timelines: tuple[Timeline, ...]


class Move(Struct, frozen=True):
    """One rule that moved an action later: its code, the instant to which it last did, and the zone of that edge."""

    code: str
    until: Instant
    zone: str


class Opening(Struct, frozen=True):
    """The first allowed instant; the rules that moved it, in the order in which each first did; whose edge it is.

    `zone` is None where nothing moved it.
    """

    at: Instant
    moves: tuple[Move, ...] = ()
    zone: str | None = None

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the rules that moved it, each once."""
        return tuple(move.code for move in self.moves)


@lru_cache(maxsize=CONSTRAINTS_MAX)
def constraint(
    code: str,
    windows: WindowSet | None,
    zones: tuple[str, ...],
    *,
    closed_dates: frozenset[date] = frozenset(),
    close_margin_seconds: int = 0,
) -> Constraint:
    """Return the rule: open is what lies in a window, and on no closed date, in EVERY zone.

    `windows` None, or a set without a gap in its week, limits nothing by the hour; `zones` are IANA names. A closed
    date closes its whole local day, and the windows that open on it. Raises `UnknownZoneError`, and `ValueError` for
    no zone or a margin out of bounds.
    """
    if not zones:
        raise ValueError("a rule about hours needs at least one zone")
    if not 0 <= close_margin_seconds <= CLOSE_MARGIN_SECONDS_MAX:
        raise ValueError(f"a close margin is between 0 and {CLOSE_MARGIN_SECONDS_MAX} seconds")
    margin = close_margin_seconds * SECOND
    found = (timeline for zone_name in zones for timeline in timelines(windows, zone_name, closed_dates, margin))
    return Constraint(code=code, timelines=tuple(found))


def first_open(base: Instant, constraints: Sequence[Constraint]) -> Opening | None:
    """Return the first instant >= base that every constraint allows, or None where there is none for `SEARCH_HORIZON`.

    The constraints are checked in their order; the moves have the same order.
    """
    if is_open(base, constraints):
        return Opening(base)
    return _Search(base, constraints).opening() if base in CALENDAR else None


def is_open(at: Instant, constraints: Iterable[Constraint]) -> bool:
    """Return whether every constraint allows the instant."""
    for rule in constraints:
        for timeline in rule.timelines:
            if not timeline.is_open(at):
                return False
    return True


def closes_at(at: Instant, constraints: Iterable[Constraint]) -> Instant | None:
    """Return the first instant after an open one that some constraint forbids, for `not_after`; None where none ever does.

    For an instant that is forbidden already, that instant.
    """
    edges = (timeline.close_after(at) for rule in constraints for timeline in rule.timelines)
    first = min(edges, default=FOREVER)
    return None if first == FOREVER else first


def closed_spans(
    begins_at: Instant, ends_at: Instant, constraints: Sequence[Constraint]
) -> Iterator[tuple[Instant, Instant]]:
    """Yield the spans between two instants in which some constraint is closed."""
    at = begins_at
    while at < ends_at:
        if is_open(at, constraints):
            closes = closes_at(at, constraints)
            at = ends_at if closes is None else min(ends_at, closes)
            continue
        opening = first_open(at, constraints)
        opens = ends_at if opening is None else min(ends_at, opening.at)
        yield at, opens
        at = opens


def same_until(at: Instant, constraints: Iterable[Constraint]) -> Instant:
    """Return an instant up to which nothing opens or closes, so that an answer at `at` holds until then."""
    edges = (timeline.same_until(at) for rule in constraints for timeline in rule.timelines)
    return min(edges, default=FOREVER)


def same_time_next_open_day(base: Instant, zone_name: str, constraints: Sequence[Constraint]) -> Opening | None:
    """Return base where it is allowed, else the same wall time on the first later day on which it is, or None.

    The `same_time_next_allowed_day` way of missing a window; the moves are those of the window that was missed.
    """
    missed = first_open(base, constraints)
    if missed is None or missed.at == base:
        return missed
    reading = local_datetime(base, zone_name).replace(tzinfo=None)
    for days in range(1, SEARCH_HORIZON // DAY):
        at = resolve_local(reading + timedelta(days=days), zone_name)
        if is_open(at, constraints):
            return Opening(at, missed.moves, zone_name)
    return None


class _Search:
    """Goes from edge to edge until every timeline is open, and passes over weeks that only repeat."""

    def __init__(self, base: Instant, constraints: Iterable[Constraint]) -> None:
        self.at = base
        self.limit = base + SEARCH_HORIZON
        self.lines = [(rule.code, timeline) for rule in constraints for timeline in rule.timelines]
        self.moves: dict[str, Move] = {}

    def opening(self) -> Opening | None:
        while self.at <= self.limit:
            start = self.at
            if self._settles_before(start + _WEEK_SEEN):
                return Opening(self.at, tuple(self.moves.values()), self._zone_of_edge())
            self._pass_over_repeating_weeks(start)
        return None

    def _settles_before(self, end: Instant) -> bool:
        """Move to the next edge of every closed timeline in turn; True once all are open."""
        open_in_a_row = 0
        while self.at < end and self.at <= self.limit:
            for code, timeline in self.lines:
                opens = timeline.open_from(self.at, self.limit)
                if opens == self.at:
                    open_in_a_row += 1
                else:
                    open_in_a_row = 1
                    self.at = opens
                    self.moves[code] = Move(code, opens, timeline.zone_name)
                if open_in_a_row == len(self.lines):
                    return self.at <= self.limit
        return False

    def _pass_over_repeating_weeks(self, start: Instant) -> None:
        """After a week without an opening: the next ones are the same until a clock changes in one of the zones.

        Closed dates only take away, so they matter only where one lay in the week that was looked at.
        """
        seen_to = start + _WEEK_SEEN
        if any(timeline.closes_a_day_within(start - 2 * DAY, seen_to + 2 * DAY) for _, timeline in self.lines):
            return
        change = min(self._next_change(start, zone_name) for zone_name in {line.zone_name for _, line in self.lines})
        if change > seen_to + _NEAR_A_CHANGE:
            self.at = max(self.at, change - _NEAR_A_CHANGE)

    def _next_change(self, start: Instant, zone_name: str) -> Instant:
        change = next_offset_change(start, zone_name)
        return self.limit + _NEAR_A_CHANGE + 1 if change is None else change

    def _zone_of_edge(self) -> str:
        return next(timeline.zone_name for _, timeline in self.lines if timeline.opens_at(self.at))
