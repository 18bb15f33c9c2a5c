"""Is every step reachable, and does every loop take time? Check the graph of a list of steps when it is published."""

from collections.abc import Iterator, Sequence

from engine.account.did_you_mean import did_you_mean
from engine.contact.schedule.step_graph import Edge, edges_of, reachable
from schemas.schedule import CallStep, Step, Trigger, WaitStep

IDS_SHOWN_MAX = 10

SHOWN_MAX = 64
"""Letters of an unknown name in a sentence."""

AFTER_CALLS = frozenset({"dial", "buyer_connected"})
"""Types of triggers that fire with the outcome of a call, however soon."""

Fault = tuple[int, str, str]
"""The place of a step, the field of it that is at fault, and a sentence."""


def flow_faults(steps: Sequence[Step], triggers: Sequence[Trigger] = ()) -> list[Fault]:
    """Return the faults in the graph of a list: unknown goals, or where there are none, everything else.

    The goals of the triggers must exist.
    """
    unknown = list(_unknown_goals(steps))
    return unknown or [*_never_reached(steps, triggers), *_loops(steps, triggers)]


def _unknown_goals(steps: Sequence[Step]) -> Iterator[Fault]:
    known = [step.id for step in steps]
    for place, step in enumerate(steps):
        for edge in edges_of(step):
            if edge.goto is not None and edge.goto not in known:
                yield place, edge.field, _unknown_goal(edge.goto, known)


def _unknown_goal(name: str, known: Sequence[str]) -> str:
    return f"names no step of this list: {name[:SHOWN_MAX]!r}{did_you_mean(name, known)}; those are {shown_ids(known)}"


def shown_ids(known: Sequence[str]) -> str:
    """Return the first ids of a list, for a sentence."""
    return ", ".join(known[:IDS_SHOWN_MAX]) + (", ..." if len(known) > IDS_SHOWN_MAX else "")


def _never_reached(steps: Sequence[Step], triggers: Sequence[Trigger]) -> Iterator[Fault]:
    """Yield the first of each run of unreachable steps: those behind it follow from it."""
    places = {step.id: place for place, step in enumerate(steps)}
    begun = [0] if steps and not _begins_elsewhere(triggers) else []
    begun += [places[trigger.goto] for trigger in triggers if trigger.goto is not None]
    met = {step.id for place in begun for step in reachable(steps, place)}
    if steps and steps[0].id not in met:
        yield 0, "", "is never reached: a trigger sends every lead elsewhere; name this step in a goto, or remove it"
    for place, step in enumerate(steps):
        if place and step.id not in met and steps[place - 1].id in met:
            before = steps[place - 1].id
            yield place, "", f"is never reached: {before!r} goes elsewhere; name this step in a goto, or remove it"


def _loops(steps: Sequence[Step], triggers: Sequence[Trigger]) -> Iterator[Fault]:
    """Yield the first loop that takes less than a minute."""
    places = {step.id: place for place, step in enumerate(steps)}
    quick = [[_target(edge, place, places) for edge in edges_of(step) if not edge.waits] for place, step in enumerate(steps)]
    for place, step in enumerate(steps):
        if isinstance(step, CallStep):
            quick[place] += [places[row.goto] for row in triggers if row.goto is not None and row.type in AFTER_CALLS]
    found = _find_cycle([[there for there in edges if there < len(steps)] for edges in quick])
    if found:
        path = " -> ".join(steps[place].id for place in (*found, found[0]))
        fault = f"is on a way round without a wait: {path}; put a wait of at least 60s into it"
        if any(isinstance(step, WaitStep) and step.until for step in map(steps.__getitem__, found)):
            fault += " (until a time of day may be over at once)"
        yield found[0], "", fault


def _begins_elsewhere(triggers: Sequence[Trigger]) -> bool:
    """Return whether every lead that enters starts at another step than the first."""
    sent = (row for row in triggers if row.on == "enter" and row.type == "none" and not row.filters)
    first = next(sent, None)
    return first is not None and (first.goto is not None or first.end_result is not None)


def _target(edge: Edge, place: int, places: dict[str, int]) -> int:
    return place + 1 if edge.goto is None else places[edge.goto]


def _find_cycle(edges: Sequence[Sequence[int]]) -> list[int]:
    """Return the places of a cycle, or none. Depth-first without recursion: a list may have 200 steps."""
    done: set[int] = set()
    for start in range(len(edges)):
        path, left = [start], [iter(edges[start])]
        while path and start not in done:
            there = next(left[-1], None)
            if there is None:
                done.add(path.pop())
                left.pop()
            elif there in path:
                return path[path.index(there) :]
            elif there not in done:
                path.append(there)
                left.append(iter(edges[there]))
    return []
