"""Which hours does the law leave for a telephone where no stricter rule is known? The floor under every schedule.

It applies to calls and SMS in every country whose own rules the rule pack does not hold; e-mail has no legal hours.
"""

from engine.calendar.windows import window_set
from schemas.schedule import Day, Window

_EVERY_DAY: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

TELEPHONE_FLOOR = window_set((Window(days=_EVERY_DAY, open="08:00", close="21:00"),))
"""Local time at the called party's location. Source: 47 CFR 64.1200(c)(1)."""

UNKNOWN_US_ZONES = (
    "America/New_York",
    "America/Chicago",
    "America/Denver",
    "America/Phoenix",
    "America/Los_Angeles",
    "America/Anchorage",
    "Pacific/Honolulu",
)
"""Where a US lead may be whose zone nothing tells: allowed is what all of these allow."""

UNKNOWN_US_HOURS = window_set((Window(days=_EVERY_DAY, open="08:00", close="20:00"),))
"""An hour shorter than the floor, as the strictest common state law has it: 14:00 to 20:00 Eastern in summer. Genesys
Cloud's documented default for unmapped contacts is the same 2 to 8 PM Eastern."""
