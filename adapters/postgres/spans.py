"""Which rollups cover a span of time? The widest valid ones within it; the rest are gaps, whose rows are read."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from msgspec import Struct

from schemas.instant import DAY, HOUR, Instant, from_datetime, to_datetime

TIERS = ("year", "month", "day")
"""Tiers of rollups, widest first; their spans begin at midnight UTC."""

HOURS = "hour"
"""The tier below: its rollups are made with those of their day, and are valid if that day's are."""


class Span(Struct, frozen=True):
    """A year, a month, a day, or some hours of a day, to be added up from the rollups of that tier."""

    tier: str
    start: Instant
    until: Instant


class Cover(Struct, frozen=True):
    """Spans with rollups and gaps without, which together are the requested span; adjacent gaps are merged."""

    spans: Sequence[Span]
    gaps: Sequence[tuple[Instant, Instant]]


class RollupState(Struct, frozen=True):
    """Which spans have rollups, by tier, and the days that have changed since (marked)."""

    starts: Mapping[str, Collection[Instant]]
    marked: Collection[Instant]

    def fresh(self, tiers: Sequence[str]) -> dict[str, set[Instant]]:
        """Return the starts of the spans with valid rollups; for hours, of their days."""
        return {tier: self._fresh("day" if tier == HOURS else tier) for tier in tiers}

    def _fresh(self, tier: str) -> set[Instant]:
        stale = {_start(tier, day) for day in self.marked}
        return {start for start in self.starts.get(tier, ()) if start not in stale}


def bounds(since: Instant | None, until: Instant | None, created: tuple[Instant, Instant]) -> tuple[Instant, Instant]:
    """Return the requested span, limited to the years that have rows.

    `created`: when the first and the last row were created.
    """
    first, last = _start("year", created[0]), _end("year", _start("year", created[1]))
    return max(first, since if since is not None else first), min(last, until if until is not None else last)


def cover(since: Instant, until: Instant, rolled: RollupState, tiers: Sequence[str], cuts: Sequence[Instant] = ()) -> Cover:
    """Cover a span of time by rollups of some tiers, none of them across a cut; `cuts` are sorted."""
    fresh = rolled.fresh(tiers)
    edges = (since, *(cut for cut in cuts if since < cut < until), until)
    steps = [step for first, last in pairwise(edges) for step in _steps(first, last, fresh)]
    gaps = [(gap.start, gap.until) for gap in merge_adjacent([step for step in steps if not step.tier])]
    return Cover([step for step in steps if step.tier], gaps)


def merge_adjacent(spans: Sequence[Span]) -> list[Span]:
    """Merge adjacent spans of one tier."""
    found: list[Span] = []
    for span in spans:
        if found and (found[-1].tier, found[-1].until) == (span.tier, span.start):
            found[-1] = Span(span.tier, found[-1].start, span.until)
        else:
            found.append(span)
    return found


def _steps(since: Instant, until: Instant, fresh: Mapping[str, Collection[Instant]]) -> Iterator[Span]:
    """Yield the widest rollups of a span of time, else a step without a tier to the next midnight."""
    hours = fresh.get(HOURS, ())
    wide = {tier: starts for tier, starts in fresh.items() if tier != HOURS}
    at = since
    while at < until:
        found = next((tier for tier, starts in wide.items() if at in starts and _end(tier, at) <= until), "")
        end = _end(found, at) if found else min(until, at - at % DAY + DAY)
        if not found and at - at % DAY in hours:
            yield from _hours(at, end)
        else:
            yield Span(found, at, end)
        at = end


def _hours(since: Instant, until: Instant) -> Iterator[Span]:
    """Yield the whole hours of a part of a day, and what is left before and after them."""
    first = min(until, since + -since % HOUR)
    last = max(first, until - until % HOUR)
    parts = (Span("", since, first), Span(HOURS, first, last), Span("", last, until))
    yield from (part for part in parts if part.start < part.until)


def _start(tier: str, at: Instant) -> Instant:
    day = to_datetime(at - at % DAY)
    if tier == "day":
        return from_datetime(day)
    return from_datetime(day.replace(day=1) if tier == "month" else day.replace(month=1, day=1))


def _end(tier: str, start: Instant) -> Instant:
    if tier == "day":
        return start + DAY
    return _start(tier, from_datetime(to_datetime(start) + timedelta(days=31 if tier == "month" else 366)))


def rolled(rows: Collection[Mapping[str, Any]], marks: Collection[datetime]) -> RollupState:
    """Build the state from rows of (tier, start) and the marked days."""
    starts: dict[str, set[Instant]] = {tier: set() for tier in TIERS}
    for row in rows:
        starts[row["tier"]].add(from_datetime(row["start"]))
    return RollupState(starts, {from_datetime(day) for day in marks})
