"""How many leads went on from step to step? A row for each step, of what the API counts of a schedule's newest leads."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from adapters.http.reports.report_rows import status_label
from schemas.records import Schedule
from schemas.schedule import ExitStep, WaitStep

Row = Mapping[str, Any]


class StepFate(Struct, frozen=True):
    """What became of the leads that were at a step, each by its last visit there.

    `share`: how many per cent of those that are no longer there went on; None where all are. `next_steps` and `endings`:
    where to and as what, each with its count.
    """

    step: str
    reached: int
    went_on: int
    share: int | None
    still_there: int
    ended: int
    next_steps: Sequence[tuple[str, int]]
    endings: Sequence[tuple[str, int]]


class StepTable(Struct, frozen=True):
    """A row for each step, how many leads were looked at, and whether these are all.

    `at_no_step` of them were at none, and of `cut` the first steps are missing.
    """

    rows: Sequence[StepFate]
    leads: int
    is_complete: bool
    at_no_step: int
    cut: int


def make_step_table(report: Row | None, body: Schedule | None) -> StepTable | None:
    """Return the table of a report of steps; None where there are no leads, or a team hides what became of them.

    Steps that no lead reached have a row of zeros, but for those at which nobody is seen: a lead that waits is at the step
    after the wait, and it leaves by an exit at once.
    """
    if report is None or not report["leads_count"]:
        return None
    found: dict[str, Row] = {row["step_id"]: row for row in report["reached_steps"]}
    if any("ended_count" not in row or any("status" not in one for one in row["endings"]) for row in found.values()):
        return None
    steps = () if body is None else (*body.steps, *body.end_steps)
    known = [step.id for step in steps if step.id in found or not isinstance(step, WaitStep | ExitStep)]
    rows = [_row(step, found.get(step)) for step in dict.fromkeys((*known, *found))]
    counted = report["leads_count"], report["is_complete"], report["at_no_step_count"], report["cut_count"]
    return StepTable(rows, *counted)


def shares_of(table: StepTable) -> dict[str, dict[str, int]]:
    """Return how many per cent of the leads that are no longer at a step went on to each other step."""
    left = {row.step: row.reached - row.still_there for row in table.rows}
    return {
        row.step: {step: _percent(count, left[row.step]) for step, count in row.next_steps}
        for row in table.rows
        if left[row.step]
    }


def _row(step: str, counted: Row | None) -> StepFate:
    if counted is None:
        return StepFate(step, 0, 0, None, 0, 0, (), ())
    left = counted["reached_count"] - counted["still_there_count"]
    return StepFate(
        step,
        counted["reached_count"],
        counted["went_on_count"],
        _percent(counted["went_on_count"], left) if left else None,
        counted["still_there_count"],
        counted["ended_count"],
        [*_pairs("step_id", counted["next_steps"])],
        [(status_label(status), count) for status, count in _pairs("status", counted["endings"])],
    )


def _pairs(name: str, rows: Sequence[Row]) -> Iterator[tuple[str, int]]:
    yield from ((row[name], row["leads_count"]) for row in rows)


def _percent(part: int, whole: int) -> int:
    return round(100 * part / whole)
