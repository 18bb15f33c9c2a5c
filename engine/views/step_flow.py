"""How many leads went on from each step of a schedule, and where to? Counted from the facts of each lead, in their order."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from msgspec import Struct, field

from engine.rules import Rules

LEADS_MAX = 1_000
"""Leads whose facts are read, the newest: a share of so many is right to three points in a hundred. They are read in 0.06 s
with 20 facts each, and in 0.3 s where each has as many as are read."""

FACTS_MAX = 200
"""Facts of a lead that are looked at, the newest: a schedule of thirty steps leaves some two hundred."""

VISITS = (
    *("lead.scheduled", "lead.waiting", "lead.resumed", "slot.requested", "veto.asked"),
    *("command.emitted", "reach.requested"),
    *("step.applied", "step.chose", "step.failed", "step.retried", "step.skipped"),
)
"""Facts whose `step_id` is the step that the lead is at. An answer to a question is not: the lead may have left its step."""

ENTRIES = ("lead.created", "lead.enrolled")
"""Facts whose `schedule_id` is the schedule that the lead is on from then on."""


class LeadPath(Struct, frozen=True):
    """A lead as it is now, and its visits and entries in their order, the oldest first; two sequences of one length.

    `steps`: the step of a visit, None of an entry. `schedule_ids`: the schedule of an entry, None of a visit. `step`: where
    a live lead is now, None between two steps.
    """

    status: str
    is_live: bool
    step: str | None = None
    steps: Sequence[str | None] = ()
    schedule_ids: Sequence[int | None] = ()


class StepCounts(Struct):
    """What became of the leads that were at a step, each by its last visit there.

    `next` are the steps that they went on to, and `endings` the statuses with which they ended there.
    """

    still_there: int = 0
    next: Counter[str] = field(default_factory=Counter)
    endings: Counter[str] = field(default_factory=Counter)

    @property
    def went_on(self) -> int:
        """Return how many leads went on to another step."""
        return self.next.total()

    @property
    def ended(self) -> int:
        """Return how many leads ended at the step."""
        return self.endings.total()

    @property
    def reached(self) -> int:
        """Return how many leads were at the step at least once."""
        return self.went_on + self.still_there + self.ended


class StepFlow(Struct, frozen=True):
    """The steps that leads were at, in the order of the schedule, and how many leads were at none of them.

    `cut`: leads of which the first steps are missing, because the facts that are known do not go back to their entry.
    """

    steps: Mapping[str, StepCounts]
    nowhere: int
    cut: int


def count_step_flow(rules: Rules, company_id: int, schedule_id: int, paths: Iterable[LeadPath]) -> StepFlow:
    """Return where leads of a schedule went since they entered it last; `paths` are of leads that are on it.

    Steps come in the order of the newest version, then those that only earlier ones have. A step that no version has is not
    counted: the action group of a disposition has steps too.
    """
    counts = {step: StepCounts() for step in _known_steps(rules, company_id, schedule_id)}
    nowhere = cut = 0
    for path in paths:
        visits = [*_visits(path, schedule_id, counts)]
        nowhere += not visits
        cut += schedule_id not in path.schedule_ids
        _count(counts, path, visits)
    return StepFlow({step: found for step, found in counts.items() if found.reached}, nowhere, cut)


def _count(counts: Mapping[str, StepCounts], path: LeadPath, visits: Sequence[str]) -> None:
    """Count a lead at each step once, by what followed its last visit there."""
    last = {step: place for place, step in enumerate(visits)}
    for step, place in last.items():
        found = counts[step]
        if place + 1 < len(visits):
            found.next[visits[place + 1]] += 1
        elif path.is_live:
            found.still_there += 1
        else:
            found.endings[path.status] += 1


def _visits(path: LeadPath, schedule_id: int, known: Mapping[str, StepCounts]) -> list[str]:
    """Return the steps that a lead was at since it entered the schedule last, in order; a step repeated at once is one.

    What comes before the first entry is left out: where older facts are not known, it may be of another schedule.
    """
    found: list[str | None] = []
    was_on: int | None = None
    for step, entered in zip(path.steps, path.schedule_ids, strict=True):
        if entered is None:
            found.append(step)
            continue
        if entered != schedule_id or was_on != schedule_id:
            found.clear()
        was_on = entered
    if path.is_live:
        found.append(path.step)
    return [step for step, _ in groupby(step for step in found if step is not None and step in known)]


def _known_steps(rules: Rules, company_id: int, schedule_id: int) -> Iterator[str]:
    """Yield the ids of the steps of each version of a schedule of the company, the newest version first."""
    record = rules.record("schedule", schedule_id)
    if record is None or record.company_id != company_id:
        return
    for version, _ in reversed(rules.versions(schedule_id)):
        schedule = rules.schedule(schedule_id, version)
        if schedule is not None:
            yield from (step.id for step in (*schedule.steps, *schedule.end_steps))
