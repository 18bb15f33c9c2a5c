"""Which buyer fleets do the filters of steps and triggers name, and are they there?"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from engine.contact.schedule.filters import FLEET, Filter, FilterError, parse_filter
from schemas.schedule import BranchStep, Step, Trigger, WaitForStep

FLEET_LENGTH_SHOWN = 64
"""Characters of an unknown name that a refusal repeats: as long as a `user_fleet_id` may be."""

FleetNamed = Callable[[str], int | None]
"""Returns the id of the company's live fleet with a `user_fleet_id`."""

Fault = tuple[str, str]


def fleets_named(steps: Iterable[Step], triggers: Iterable[Trigger] = ()) -> set[str]:
    """Return every `user_fleet_id` that a filter names."""
    lists = [filters for step in steps for _, filters in _filters_of(step)]
    lists += [trigger.filters for trigger in triggers]
    return {name for filters in lists for found in _fleet_filters(filters) for name in found.values}


def step_fleet_faults(step: Step, fleet_named: FleetNamed | None) -> Iterator[Fault]:
    """Yield `(field, sentence)` for each fleet of a step that is not there; None: fleets are not looked up."""
    for field, filters in _filters_of(step):
        yield from fleet_faults(field, filters, fleet_named)


def fleet_faults(field: str, filters: Sequence[str], fleet_named: FleetNamed | None) -> Iterator[Fault]:
    """Yield a fault for each filter that compares fleets by their order, or names one that is not there."""
    for found in _fleet_filters(filters):
        if found.operator not in {"=", "!="}:
            yield field, "must name a buyer fleet, such as fleet:vip or fleet:!=vip"
        elif fleet_named is not None:
            unknown = [name for name in found.values if fleet_named(name) is None]
            named = (f"fleet:{name[:FLEET_LENGTH_SHOWN]} names no buyer fleet of this company" for name in unknown)
            yield from ((field, f"{sentence}; name it by its user_fleet_id") for sentence in named)


def _filters_of(step: Step) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the field of each list of filters of a step, and the list."""
    if isinstance(step, BranchStep):
        yield from ((f"rules[{place}].if", rule.when) for place, rule in enumerate(step.rules))
    elif isinstance(step, WaitForStep):
        yield "filters", step.filters


def _fleet_filters(filters: Iterable[str]) -> Iterator[Filter]:
    """Yield the filters that name fleets; what is no filter is reported elsewhere."""
    for text in filters:
        try:
            found = parse_filter(text)
        except FilterError:
            continue
        if found.key == FLEET:
            yield found
