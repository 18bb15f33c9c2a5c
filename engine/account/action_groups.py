"""How does an action group enter a schedule? Publishing replaces the group by its steps: each version is self-contained.

The ids become `place/step`: the id of the step that named the group, and the step's own. A goto to the group leads to its
first step. A later change of the group changes no schedule until the schedule is published again.
"""

import re
from collections.abc import Callable, Iterable, Sequence

import msgspec

from schemas.records import ActionGroup
from schemas.schedule import ActionGroupStep, BranchStep, SplitStep, Step, Trigger, WaitForStep

GROUP_STEPS_MAX = 50
"""Of one group: four of them fill a schedule."""

Errors = dict[str, list[str]]
GroupOf = Callable[[int], ActionGroup | None]
Steps = Sequence[Step | None]


def no_group(group_id: int) -> ActionGroup | None:
    """Return None: references are not looked up."""
    del group_id
    return None


class Spliced(msgspec.Struct, frozen=True):
    """The steps with groups replaced; `places` maps each step to its index in the input.

    `firsts` are the first steps of the groups, by the id of the step that named the group.
    """

    steps: tuple[Step | None, ...]
    places: tuple[int, ...]
    firsts: dict[str, str]


def splice(steps: Steps, field: str, group_of: GroupOf, errors: Errors) -> Spliced:
    """Replace each group by its steps; add an error for each unknown group and leave it out."""
    found: list[Step | None] = []
    places: list[int] = []
    firsts: dict[str, str] = {}
    for place, step in enumerate(steps):
        inner: Sequence[Step | None] = (step,)
        if isinstance(step, ActionGroupStep):
            inner = _steps_of(step, f"{field}[{place}]", group_of, errors)
            if inner and inner[0] is not None:
                firsts[step.id] = inner[0].id
        found += inner
        places += [place] * len(inner)
    if firsts:
        found = [step if step is None else _led(step, lambda goto: firsts.get(goto, goto)) for step in found]
    return Spliced(tuple(found), tuple(places), firsts)


def led_triggers(triggers: Iterable[Trigger], firsts: dict[str, str]) -> tuple[Trigger, ...]:
    """Return the triggers with a goto to a group replaced by the first step of the group."""
    return tuple(
        msgspec.structs.replace(row, goto=firsts[row.goto]) if row.goto is not None and row.goto in firsts else row
        for row in triggers
    )


def relocate(errors: Errors, known: Errors, spliced: dict[str, Spliced]) -> None:
    """Rename the errors that are new since `known` by the indices of the input."""
    for name in list(errors):
        new = errors[name][len(known.get(name, ())) :]
        given = _given_place(name, spliced)
        if not new or given == name:
            continue
        errors[name] = errors[name][: len(known.get(name, ()))]
        if not errors[name]:
            del errors[name]
        errors.setdefault(given, []).extend(new)


def _given_place(name: str, spliced: dict[str, Spliced]) -> str:
    match = re.match(r"(\w+)\[(\d+)\]", name)
    if match is None or match[1] not in spliced:
        return name
    places = spliced[match[1]].places
    number = int(match[2])
    return f"{match[1]}[{places[number]}]{name[match.end() :]}" if number < len(places) else name


def _steps_of(step: ActionGroupStep, place: str, group_of: GroupOf, errors: Errors) -> list[Step | None]:
    group = group_of(step.action_group_id)
    if group is None:
        fault = f"(step {step.id[:64]!r}) {step.action_group_id} is no action group of this company, or none is known here"
        errors.setdefault(f"{place}.action_group_id", []).append(fault)
        return []
    own = {inner.id for inner in group.steps}
    named = [_named(inner, step.id) for inner in group.steps]
    return [_led(inner, lambda goto: f"{step.id}/{goto}" if goto in own else goto) for inner in named]


def _named(inner: Step, group: str) -> Step:
    return msgspec.structs.replace(inner, id=f"{group}/{inner.id}")


def _led(step: Step, rename: Callable[[str], str]) -> Step:
    """Return the step with its gotos renamed."""

    def to(goto: str | None) -> str | None:
        return None if goto is None else rename(goto)

    match step:
        case BranchStep():
            rules = tuple(msgspec.structs.replace(rule, goto=rename(rule.goto)) for rule in step.rules)
            return msgspec.structs.replace(step, rules=rules, otherwise=to(step.otherwise))
        case SplitStep():
            paths = tuple(msgspec.structs.replace(path, goto=rename(path.goto)) for path in step.paths)
            return msgspec.structs.replace(step, paths=paths)
        case WaitForStep():
            return msgspec.structs.replace(step, on_match=to(step.on_match), on_timeout=to(step.on_timeout))
        case _:
            return step
