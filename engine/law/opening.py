"""When is the first allowed instant where a law begins or ends in between? Asked again from each change on."""

from collections.abc import Callable, Sequence

from engine.calendar import Constraint, Move, Opening, first_open
from engine.calendar.openings import SEARCH_HORIZON
from engine.calendar.timelines import FOREVER
from schemas.instant import Instant

RulesAt = Callable[[Instant], tuple[Sequence[Constraint], Instant | None]]
"""What holds at an instant, and the later instant at which that changes (None: never)."""


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
