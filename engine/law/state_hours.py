"""When does the law leave contacts open in each state of the United States, within a span such as a day?

By the rules that plan every contact. Of somebody of whom only the state is known every zone of the state counts: a contact
is allowed where all of them allow it.
"""

from collections.abc import Iterator

from msgspec import Struct

from engine.calendar import closed_spans
from engine.calendar.windows import merge
from engine.law.pack import CompiledRulePack, LegalLimits
from engine.submission.states import ANY_STATE, STATE_ZONES, STATES
from schemas.instant import Instant
from schemas.law import Purpose

COUNTRY = "US"

MAPPED = ANY_STATE
"""The fifty states and the District of Columbia."""

Span = tuple[Instant, Instant]


class StateHours(Struct, frozen=True, kw_only=True):
    """The spans that are open in a state, and the rules that hold there within the span that was asked about.

    `changes_at` is when other rules hold than at its beginning; None: no change is known.
    """

    state: str
    name: str
    time_zones: tuple[str, ...]
    open_spans: tuple[Span, ...]
    rule_ids: tuple[str, ...]
    sources: tuple[str, ...]
    changes_at: Instant | None = None

    def is_open(self, at: Instant) -> bool:
        """Return whether a contact is allowed at an instant."""
        return any(begins <= at < ends for begins, ends in self.open_spans)


def state_hours(
    law: CompiledRulePack, state: str, channel: str, purpose: Purpose, *, begins_at: Instant, ends_at: Instant
) -> StateHours:
    """Return the hours of a state."""
    zones = STATE_ZONES[state]
    spans: list[Span] = []
    rules: dict[str, None] = {}
    sources: dict[str, None] = {}
    changes: list[Instant | None] = []
    for begins, ends, limits in _eras(law, state, channel, purpose, begins_at=begins_at, ends_at=ends_at):
        closed = list(closed_spans(begins, ends, limits.constraints(zones)))
        spans += _between(begins, ends, closed)
        changes.append(limits.changes_at)
        for hours in limits.hours:
            rules |= dict.fromkeys(hours.rule_ids)
            sources |= dict.fromkeys(hours.sources)
    return StateHours(
        state=state,
        name=STATES[state],
        time_zones=zones,
        open_spans=tuple(merge(spans)),  # a rule that begins at noon does not cut the day
        rule_ids=tuple(rules),
        sources=tuple(sources),
        changes_at=changes[0] if changes else None,
    )


def _eras(
    law: CompiledRulePack, state: str, channel: str, purpose: Purpose, *, begins_at: Instant, ends_at: Instant
) -> Iterator[tuple[Instant, Instant, LegalLimits]]:
    """Yield the parts of a span in which the same rules hold."""
    at = begins_at
    while at < ends_at:
        limits = law.limits((state,), (COUNTRY,), channel, purpose, at)
        until = ends_at if limits.changes_at is None else min(ends_at, limits.changes_at)
        yield at, until, limits
        at = until


def _between(begins_at: Instant, ends_at: Instant, closed: list[Span]) -> Iterator[Span]:
    at = begins_at
    for begins, ends in closed:
        if at < begins:
            yield at, begins
        at = ends
    if at < ends_at:
        yield at, ends_at
