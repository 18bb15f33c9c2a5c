"""When is the first allowed instant where a law begins or ends in between? Asked again from each change on."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from engine.calendar import Constraint, Move, Opening, first_open, local_datetime, resolve_local
from engine.calendar.openings import SEARCH_HORIZON
from engine.calendar.timelines import FOREVER
from schemas.instant import DAY, Instant

RulesAt = Callable[[Instant], tuple[Sequence[Constraint], Instant | None]]
"""What holds at an instant, and the later instant at which that changes (None: never)."""


SAME_TIME_WITHIN = 35 * DAY
"""A week shows every weekday, four more those that holidays or a pause of some weeks took. What no day allows by then is
allowed only after a clock change, if ever: that is no longer "the same time another day"; the search takes 1 ms."""


def first_allowed(base: Instant, rules_at: RulesAt) -> Opening | None:
    """Return the first instant >= base that the rules of its own day allow, or None: `first_open` over changes of the law.

    The moves are those of all rules that were asked, each code once; none reaches beyond the opening.
    """
    at, zone_name = base, None
    moves: dict[str, Move] = {}
    while True:
        rules, changes_at = rules_at(at)
        ends = FOREVER if changes_at is None or changes_at > base + SEARCH_HORIZON else changes_at
        found = first_open(at, rules)
        if found is not None:
            zone_name = found.zone or zone_name
            moves.update((move.code, Move(move.code, min(move.until, ends), move.zone)) for move in found.moves)
            if found.at < ends:
                return Opening(found.at, tuple(moves.values()), zone_name)
        elif ends == FOREVER:
            return None
        at = ends


def same_time_allowed(base: Instant, zone_name: str, rules_at: RulesAt) -> Opening | None:
    """Return base where it is allowed, else the same wall time on the first later day on which it is.

    From opening to opening, not from day to day: a window that opens once a year is found as soon as a daily one. Where no
    day within five weeks of the first opening allows that time, that opening stands, and None where there is none. The
    moves are those of the hours that were missed.
    """
    missed = first_allowed(base, rules_at)
    if missed is None or missed.at == base:
        return missed
    reading = local_datetime(base, zone_name).replace(tzinfo=None)
    found: Opening | None = missed
    while found is not None and found.at <= missed.at + SAME_TIME_WITHIN:
        at = _at_that_time(found.at, reading, zone_name)
        again = first_allowed(at, rules_at)
        if again is not None and again.at == at:
            return Opening(at, missed.moves, zone_name)
        found = again
    return missed


def _at_that_time(opens_at: Instant, reading: datetime, zone_name: str) -> Instant:
    """Return the first instant from an opening on at which the clock shows the time of the reading."""
    day = local_datetime(opens_at, zone_name).date()
    for number in range(3):  # today, tomorrow, and one for a day that the zone leaves out
        at = resolve_local(datetime.combine(day + timedelta(days=number), reading.time()), zone_name)
        if at >= opens_at:
            return at
    raise AssertionError("every wall time comes again within two days")
