"""Which steps can follow a step? The edges of the step graph, and what is reachable."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from engine.calendar import CalendarError, parse_duration
from schemas.instant import MINUTE, Millis
from schemas.schedule import (
    BlockStep,
    BranchStep,
    ExitStep,
    MoveStep,
    OptOutStep,
    SplitStep,
    Step,
    SuppressStep,
    WaitForStep,
    WaitStep,
)

CYCLE_WAIT_MIN: Millis = MINUTE
"""A cycle that takes less time than this is a loop, and is refused."""


class Edge(Struct, frozen=True):
    """An edge out of a step: to a step by id (None: to the next one), and the field that names it.

    `waits`: it always takes at least a minute.
    """

    goto: str | None
    field: str = ""
    waits: bool = False


def edges_of(step: Step) -> Iterator[Edge]:
    """Yield every edge out of a step; a step that leaves the schedule for good has none."""
    match step:
        case OptOutStep(scope="channel"):
            yield Edge(None)
        case ExitStep() | MoveStep() | OptOutStep() | BlockStep() | SuppressStep():
            return
        case BranchStep():
            for place, rule in enumerate(step.rules):
                yield Edge(rule.goto, f"rules[{place}].goto")
            yield Edge(step.otherwise, "else")
        case SplitStep():
            for place, path in enumerate(step.paths):
                yield Edge(path.goto, f"paths[{place}].goto")
        case WaitForStep():
            yield Edge(step.on_match, "on_match")
            yield Edge(step.on_timeout, "on_timeout", waits=_is_long(step.timeout))
        case WaitStep(duration=str(duration)):
            yield Edge(None, waits=_is_long(duration))
        case _:
            # A wait until a time of day may be over at once: it does not count as one.
            yield Edge(None)


def reachable(steps: Sequence[Step], place: int) -> list[Step]:
    """Return the steps that are reachable from the one at an index, itself first, each once."""
    places = {step.id: number for number, step in reversed(list(enumerate(steps)))}
    met = {place: steps[place]}
    left = [place]
    while left:
        here = left.pop(0)
        for edge in edges_of(steps[here]):
            there = here + 1 if edge.goto is None else places.get(edge.goto, len(steps))
            if there < len(steps) and there not in met:
                met[there] = steps[there]
                left.append(there)
    return list(met.values())


def _is_long(text: str) -> bool:
    """Return whether a duration is a minute or more; validation reports one that cannot be parsed."""
    try:
        return parse_duration(text).elapsed >= CYCLE_WAIT_MIN
    except CalendarError:
        return True
