"""Which few cases cover each pair of choices? A covering array, built greedily and deterministically.

Every two parameters meet in every combination of their values in some case, in far fewer cases than there are
combinations (D. Cohen et al., The AETG System, 1997: greedy, pair by pair; here without chance).
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, product
from typing import Any

Choices = Mapping[str, Sequence[Any]]
"""Parameter -> its values, of which a case takes one each."""

Case = dict[str, int]
"""Parameter -> the place of the value taken."""

Value = tuple[str, int]
"""A parameter and the place of one of its values."""

Pair = tuple[Value, Value]

Excluded = Callable[[Value, Value], bool]
"""Tells of two values that no case may hold both."""


def nothing(_one: Value, _other: Value) -> bool:
    """Exclude no pair."""
    return False


def pairs_of(choices: Choices, excluded: Excluded = nothing) -> set[Pair]:
    """Return every two values of two different parameters that may meet."""
    values = {name: [(name, place) for place in range(len(choices[name]))] for name in choices}
    every = (pair for one, other in combinations(choices, 2) for pair in product(values[one], values[other]))
    return {pair for pair in every if not excluded(*pair)}


def pairs_in(case: Case) -> set[Pair]:
    """Return the pairs that meet in one case."""
    return set(combinations(case.items(), 2))


def covering_array(choices: Choices, excluded: Excluded = nothing) -> list[Case]:
    """Return cases in which every pair of values meets: each begins with a pair that is left and takes up most others.

    Some value of each parameter must go with every value of the others, else a case may have no way out.
    """
    left = dict.fromkeys(sorted(pairs_of(choices, excluded)))
    cases: list[Case] = []
    while left:
        taken: Case = dict(next(iter(left)))
        for name in choices:
            if name not in taken:
                taken[name] = max(range(len(choices[name])), key=lambda place: _gain((name, place), taken, left, excluded))
        cases.append({name: taken[name] for name in choices})
        for pair in pairs_in(cases[-1]):
            left.pop(pair, None)
    return cases


def _gain(value: Value, taken: Case, left: Mapping[Pair, None], excluded: Excluded) -> int:
    """Return how many pairs that are left a value brings together with those taken; less than none where it may not."""
    if any(excluded(value, other) or excluded(other, value) for other in taken.items()):
        return -1
    return sum((value, other) in left or (other, value) in left for other in taken.items())
