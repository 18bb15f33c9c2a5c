"""What is one line of the result? Our median, the baseline's, their ratio, and its goal."""

import re
from collections.abc import Sequence
from statistics import median

from msgspec import Struct

from schemas.errors import InternalError

_GOAL = re.compile(r"(>=|<=) ([0-9.]+)")


class BenchError(InternalError):
    """A row could not be measured; `str(error)` says why."""


class Runs(Struct, kw_only=True):
    """What was measured, run by run; `baseline` is empty where the goal is a bound of its own."""

    ours: list[float] = []
    baseline: list[float] = []


class Row(Struct, frozen=True, kw_only=True):
    """One line of `bench.json`. `goal` is `>= x` where a higher ratio is better, `<= x` where a lower one is.

    `runs` holds every single measurement: ours and the baseline's, in the order in which they took turns.
    """

    name: str
    ours: float
    baseline: float | None
    ratio: float
    goal: str
    unit: str
    runs: Runs

    @property
    def is_met(self) -> bool:
        """Whether the ratio reaches the goal."""
        sign, bound = _parsed(self.goal)
        return self.ratio >= bound if sign == ">=" else self.ratio <= bound


def row(name: str, runs: Runs, *, goal: str, unit: str) -> Row:
    """Return the row of the medians. Without a baseline the ratio is our figure itself."""
    _parsed(goal)
    if not runs.ours:
        raise BenchError(f"{name}: nothing was measured")
    ours = median(runs.ours)
    baseline = median(runs.baseline) if runs.baseline else None
    return Row(
        name=name,
        ours=ours,
        baseline=baseline,
        ratio=ours if baseline is None else ours / baseline,
        goal=goal,
        unit=unit,
        runs=runs,
    )


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value that a share of all values does not exceed (0.99: all but the slowest hundredth)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _parsed(goal: str) -> tuple[str, float]:
    found = _GOAL.fullmatch(goal)
    if found is None:
        raise ValueError(f"{goal!r} is not a goal such as '>= 0.3' or '<= 2'")
    return found[1], float(found[2])
