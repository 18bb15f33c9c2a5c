"""When does a business take calls? Within opening hours on its own clock; without any, always."""

from collections.abc import Iterable

from engine.calendar.openings import Constraint, constraint, first_open, is_open
from engine.calendar.windows import window_set
from schemas.instant import Instant
from schemas.schedule import Window

CODE = "business_hours"

Business = tuple[tuple[Window, ...], str]
"""Opening hours, none being always, and the zone of the clock that they are read on."""


def is_open_for_business(hours: tuple[Window, ...], zone_name: str, at: Instant) -> bool:
    """Return whether an instant lies in the hours."""
    return not hours or is_open(at, _rules([(hours, zone_name)]))


def opens_for_business(businesses: Iterable[Business], at: Instant) -> Instant | None:
    """Return the first instant at or after this one at which all are open, None where there is none for a year."""
    opening = first_open(at, _rules(businesses))
    return None if opening is None else opening.at


def _rules(businesses: Iterable[Business]) -> list[Constraint]:
    return [constraint(CODE, window_set(hours), (zone_name,)) for hours, zone_name in businesses if hours]
