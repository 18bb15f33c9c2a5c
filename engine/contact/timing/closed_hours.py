"""When is a contact not allowed in a span of time, and does the law say so or the schedule? Hours that a picture shades."""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from engine.calendar import closed_spans
from engine.calendar.windows import merge
from engine.contact.schedule.cadence import Cadence
from engine.contact.timing.contact_hours import HOLIDAY_CODE, PAUSED_CODE, PREFERRED_CODE, constraints_at
from engine.law.pack import CompiledRulePack
from schemas.contact import Lead
from schemas.instant import DAY, Instant

SPAN_MAX = 62 * DAY
"""How much is looked at: two months; of a longer span the first so many days."""

CLOSED_MAX = 500
"""Closed spans of an answer: four a day for two months are half of it."""

ClosedBy = Literal["law", "schedule"]

OF_SCHEDULE = frozenset({PREFERRED_CODE, PAUSED_CODE, HOLIDAY_CODE})


class ClosedHours(Struct, frozen=True):
    """A span in which no contact is allowed, and who closes it."""

    begins_at: Instant
    ends_at: Instant
    by: ClosedBy


def closed_hours(
    law: CompiledRulePack, lead: Lead, cadence: Cadence, channel: str, *, begins_at: Instant, ends_at: Instant
) -> tuple[ClosedHours, ...]:
    """Return the spans in which a contact of the lead is not allowed: those of the law and of the schedule, each in order.

    A contact is allowed where neither closes; both may close the same hour. Every zone where the lead may be counts.
    """
    ends_at = min(ends_at, begins_at + SPAN_MAX)
    found: list[ClosedHours] = []
    for by in ("law", "schedule"):
        # Those that touch become one: a law that changes at midnight does not cut the night.
        spans = merge(_closed(law, lead, cadence, channel, begins_at=begins_at, ends_at=ends_at, by=by))
        found += [ClosedHours(begins, ends, by) for begins, ends in spans]
    return tuple(found[:CLOSED_MAX])


def _closed(
    law: CompiledRulePack, lead: Lead, cadence: Cadence, channel: str, *, begins_at: Instant, ends_at: Instant, by: ClosedBy
) -> Iterator[tuple[Instant, Instant]]:
    """Yield the closed spans of one side, a span of law at a time."""
    at = begins_at
    while at < ends_at:
        rules, changes_at = constraints_at(law, lead, cadence, channel, at)
        until = ends_at if changes_at is None else min(ends_at, changes_at)
        yield from closed_spans(at, until, [rule for rule in rules if (rule.code in OF_SCHEDULE) is (by == "schedule")])
        at = until
