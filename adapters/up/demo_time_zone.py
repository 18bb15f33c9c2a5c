"""In which time zone is it day? The demo must work at any hour of any day without breaking the rules it shows."""

from datetime import datetime
from zoneinfo import ZoneInfo

FIRST_HOUR = 10
LAST_HOUR = 16
ZONES = (
    "America/New_York",
    "America/Los_Angeles",
    "Pacific/Honolulu",
    "Pacific/Auckland",
    "Australia/Brisbane",
    "Asia/Tokyo",
    "Asia/Bangkok",
    "Asia/Karachi",
    "Asia/Dubai",
    "Europe/Berlin",
    "Europe/London",
    "Atlantic/Azores",
    "America/Sao_Paulo",
)
"""Around the world, in the order in which a newcomer may know them; never more than four hours apart."""


def zone_at_daytime(now: datetime | None = None) -> str:
    """Return the first zone in which it is now between 10:00 and 16:00."""
    for name in ZONES:
        local = datetime.now(ZoneInfo(name)) if now is None else now.astimezone(ZoneInfo(name))
        if FIRST_HOUR <= local.hour < LAST_HOUR:
            return name
    raise AssertionError("in none of the zones is it day")
