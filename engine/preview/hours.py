"""Within which hours could a previewed lead be contacted? The closed ones of each channel of the schedule."""

from collections.abc import Sequence

from msgspec import Struct

from engine.calendar import day_start, local_datetime
from engine.contact.schedule.cadence import cadence_of, channel_of, home_zone
from engine.contact.timing.closed_hours import ClosedBy, closed_hours
from engine.contact.timing.contact_hours import TELEPHONE
from engine.law.company import law_of
from engine.rules import Rules
from schemas.contact import Lead
from schemas.instant import DAY, Instant
from schemas.records import Schedule

DAYS_MIN = 7
"""A plan of one call is shown within its week."""


class PreviewedHours(Struct, frozen=True):
    """A span in which a channel is closed, and who closes it."""

    channel: str
    begins_at: Instant
    ends_at: Instant
    by: ClosedBy


def previewed_hours(
    rules: Rules, schedule: Schedule, lead: Lead, at: Instant, actions_at: Sequence[Instant]
) -> tuple[PreviewedHours, ...]:
    """Return the closed hours of calls and texts, from the day of `at` to the day of the last action, a week at least."""
    cadence = cadence_of(schedule)
    zone = home_zone(lead, cadence)
    begins = day_start(local_datetime(at, zone).date(), zone)
    last = max([*actions_at, begins + (DAYS_MIN - 1) * DAY])
    ends = day_start(local_datetime(last + 2 * DAY, zone).date(), zone)
    channels = {channel_of(step) for step in (*schedule.steps, *schedule.end_steps)} & TELEPHONE
    law = law_of(rules, lead.company_id)
    return tuple(
        PreviewedHours(channel, found.begins_at, found.ends_at, found.by)
        for channel in sorted(channels)
        for found in closed_hours(law, lead, cadence, channel, begins_at=begins, ends_at=ends)
    )
