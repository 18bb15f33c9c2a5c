"""Can every step be met, and does every way round take time? The ways through a list of steps, before a lead walks them."""

from collections.abc import Iterator, Sequence

from engine.contact.ways import Way, reachable, ways_of
from schemas.schedule import Step

IDS_SHOWN_MAX = 10

Fault = tuple[int, str, str]
"""The place of a step, the field of it that is at fault, and a sentence."""


def flow_faults(steps: Sequence[Step]) -> list[Fault]:
    """Return what is wrong with the ways through a list: goals that are not there first, and only then all else."""
    lost = list(_lost_goals(steps))
    return lost or [*_never_reached(steps), *_loops(steps)]


def _lost_goals(steps: Sequence[Step]) -> Iterator[Fault]:
    known = [step.id for step in steps]
    shown = ", ".join(known[:IDS_SHOWN_MAX]) + (", ..." if len(known) > IDS_SHOWN_MAX else "")
    for place, step in enumerate(steps):
        for way in ways_of(step):
            if way.goto is not None and way.goto not in known:
                yield place, way.field, f"names no step of this list; those are {shown}"


def _never_reached(steps: Sequence[Step]) -> Iterator[Fault]:
    """Yield the first of each run of steps that no way leads to: those behind it follow from it."""
    met = {step.id for step in reachable(steps, 0)} if steps else set()
    for place, step in enumerate(steps):
        if step.id not in met and steps[place - 1].id in met:
            before = steps[place - 1].id
            yield place, "", f"is never reached: {before!r} goes elsewhere; name this step in a goto, or remove it"


def _loops(steps: Sequence[Step]) -> Iterator[Fault]:
    """Yield the first way round that takes less than a minute, where there is one."""
    places = {step.id: place for place, step in enumerate(steps)}
    quick = [[_target(way, place, places) for way in ways_of(step) if not way.waits] for place, step in enumerate(steps)]
    found = _circle([[there for there in ways if there < len(steps)] for ways in quick])
    if found:
        path = " -> ".join(steps[place].id for place in (*found, found[0]))
        fault = f"is on a way round without a wait: {path}; put a wait of at least 60s into it"
        yield found[0], "", fault


def _target(way: Way, place: int, places: dict[str, int]) -> int:
    return place + 1 if way.goto is None else places[way.goto]


def _circle(ways: Sequence[Sequence[int]]) -> list[int]:
    """Return the places of a circle, or none. Depth first, without recursion: a list may have 200 steps."""
    done: set[int] = set()
    for start in range(len(ways)):
        path, left = [start], [iter(ways[start])]
        while path and start not in done:
            there = next(left[-1], None)
            if there is None:
                done.add(path.pop())
                left.pop()
            elif there in path:
                return path[path.index(there) :]
            elif there not in done:
                path.append(there)
                left.append(iter(ways[there]))
    return []
