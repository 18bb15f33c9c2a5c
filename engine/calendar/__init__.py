"""When may somebody be contacted? Wall clocks, zones, windows, and the first instant that all of them allow."""

from engine.calendar.openings import (
    Constraint,
    Move,
    Opening,
    closed_spans,
    closes_at,
    constraint,
    first_open,
    is_open,
    same_time_next_open_day,
    same_until,
)
from engine.calendar.waits import Duration, after_duration, next_local_time, parse_duration
from engine.calendar.wall import CalendarError
from engine.calendar.windows import WindowError, WindowSet, window_errors, window_set
from engine.calendar.zone_words import canonical_zone, zones_of_people
from engine.calendar.zones import (
    TZDATA_VERSION,
    UnknownZoneError,
    country_zones,
    day_start,
    is_zone,
    local_datetime,
    resolve_local,
    zone,
    zone_names,
)

__all__ = [
    "TZDATA_VERSION",
    "CalendarError",
    "Constraint",
    "Duration",
    "Move",
    "Opening",
    "UnknownZoneError",
    "WindowError",
    "WindowSet",
    "after_duration",
    "canonical_zone",
    "closed_spans",
    "closes_at",
    "constraint",
    "country_zones",
    "day_start",
    "first_open",
    "is_open",
    "is_zone",
    "local_datetime",
    "next_local_time",
    "parse_duration",
    "resolve_local",
    "same_time_next_open_day",
    "same_until",
    "window_errors",
    "window_set",
    "zone",
    "zone_names",
    "zones_of_people",
]
