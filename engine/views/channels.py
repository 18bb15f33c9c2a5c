"""How many leads are due, late and in progress on each channel? By the step of each, in its version of the schedule."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from engine.contact.schedule.cadence import cadence_of, channel_of
from engine.rules import Rules
from engine.views.step_leads import StepLeads
from schemas.instant import MINUTE
from schemas.outcomes import OUTCOMES
from schemas.records import Schedule

LATE = 5 * MINUTE
"""After this a due action is late: a call that is due at once goes out within seconds where nothing holds it."""

COUNTED_MAX = 10_000
"""Leads that are counted, of those due and of those in progress each, as many as a list counts: pages ask every few seconds,
and of a larger backlog no figure matters to the last lead."""

CHANNELS: tuple[str, ...] = tuple(OUTCOMES)
FIGURES = ("due_count", "late_count", "in_progress_count")


class ChannelCounts(Struct, frozen=True):
    """Figures by channel, and of all channels. `at_least`: those that are of more leads than were counted."""

    channels: Mapping[str | None, Mapping[str, int]]
    totals: Mapping[str, int]
    at_least: tuple[str, ...]


def count_by_channel(rules: Rules, company_id: int, found: Iterable[StepLeads]) -> ChannelCounts:
    """Return the figures of each channel that a schedule of the company uses or that has leads.

    The channel None has leads that are due at a step that contacts nobody, such as one that waits for an event. `found` are
    at most `COUNTED_MAX` leads that are due, those that are due longest, and as many in progress.
    """
    counts: dict[str | None, Counter[str]] = {name: Counter() for name in _channels_in_use(rules, company_id)}
    for one in found:
        figures = counts.setdefault(_channel(rules, one), Counter())
        figures["in_progress_count" if one.is_running else "due_count"] += one.leads
        figures["late_count"] += one.late
    totals = {figure: sum(figures[figure] for figures in counts.values()) for figure in FIGURES}
    return ChannelCounts(
        {name: _figures(counts[name]) for name in (*CHANNELS, None) if name in counts},
        totals,
        tuple(figure for figure in FIGURES if totals[figure] >= COUNTED_MAX),
    )


def _figures(counts: Mapping[str, int]) -> dict[str, int]:
    return {figure: counts[figure] for figure in FIGURES}


def _channel(rules: Rules, found: StepLeads) -> str | None:
    """Return the channel of what is under way or comes next; None where that contacts nobody, or its step is not known."""
    if found.is_running:
        return found.kind if found.kind in CHANNELS else None
    if found.is_callback:
        return "call"
    schedule = rules.schedule(found.schedule_id, found.schedule_version)
    if schedule is None or found.step is None:
        return None
    cadence = cadence_of(schedule)
    kind = channel_of(cadence.step(found.step)) if cadence.has(found.step) else None
    return kind if kind in CHANNELS else None


def _channels_in_use(rules: Rules, company_id: int) -> Iterator[str]:
    """Yield the channels that a schedule of the company, as it is now, has a step of."""
    kinds: set[str] = set()
    for record in rules.records("schedule", company_id):
        body = rules.body(Schedule, "schedule", record.id)
        if body is not None:
            kinds.update(channel_of(step) for step in (*body.steps, *body.end_steps))
    yield from (name for name in CHANNELS if name in kinds)
