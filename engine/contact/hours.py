"""When may this lead be contacted on this channel? The legal and the preferred hours, in every zone where it may be."""

from functools import lru_cache

from engine.calendar import (
    Constraint,
    Duration,
    Opening,
    WindowSet,
    after_duration,
    closes_at,
    constraint,
    first_open,
    next_local_time,
)
from engine.calendar.waits import Mode
from engine.contact.cadence import Cadence
from engine.law.floor import TELEPHONE_FLOOR, TELEPHONE_FLOOR_CODE, UNKNOWN_US_HOURS, UNKNOWN_US_ZONES
from schemas.contact import Lead
from schemas.instant import Instant
from schemas.schedule import Until

TELEPHONE = frozenset({"call", "sms"})
"""Channels with legal hours; e-mail has none by default (contracts.md section 2)."""

PREFERRED_CODE = "preferred_window"
RULES_MAX = 8_192

_first_open = lru_cache(maxsize=RULES_MAX)(first_open)
"""What is planned in one cycle shares its instant, and mostly its hours: a burst of leads asks once."""


def home_zone(lead: Lead, cadence: Cadence) -> str:
    """Return the zone in which waits are read: the stated or first candidate, else the schedule's."""
    return lead.zones[0] if lead.zones else cadence.schedule.time_zone


def opening(lead: Lead, cadence: Cadence, channel: str, base: Instant) -> Opening | None:
    """Return the first instant >= base in all hours of the channel, or None where they never open."""
    rules = _rules(lead, cadence, channel)
    return _first_open(base, rules) if rules else Opening(base)


def legal_opening(lead: Lead, cadence: Cadence, channel: str, base: Instant) -> Opening | None:
    """As `opening`, by the law alone: preferred hours do not hold for a promised callback."""
    rules = _rules(lead, cadence, channel, preferred=False)
    return _first_open(base, rules) if rules else Opening(base)


def closing(lead: Lead, cadence: Cadence, channel: str, now: Instant, *, preferred: bool = True) -> Instant | None:
    """Return the edge at which the hours that are open now end, or None where nothing ends them."""
    return closes_at(now, _rules(lead, cadence, channel, preferred=preferred))


def after(base: Instant, wait: Duration, lead: Lead, cadence: Cadence, mode: Mode | None = None) -> Instant:
    """Return the end of a delay that keeps to the lead's wall clock where it is given in days."""
    return after_duration(base, wait, home_zone(lead, cadence), mode)


def local_time(lead: Lead, cadence: Cadence, until: Until, base: Instant) -> Instant:
    """Return the first instant >= base at which the clock that is meant shows the time, on a day that is meant."""
    zone = {"lead": home_zone(lead, cadence), "schedule": cadence.schedule.time_zone}.get(until.zone, until.zone)
    return next_local_time(base, until.time, until.days, zone, if_passed=until.if_passed, on_date=until.date)


def _rules(lead: Lead, cadence: Cadence, channel: str, *, preferred: bool = True) -> tuple[Constraint, ...]:
    windows = cadence.windows.get(channel) if preferred else None
    is_telephone = channel in TELEPHONE
    if windows is None and not is_telephone:
        return ()
    zones = lead.zones
    hours: WindowSet | None = TELEPHONE_FLOOR if is_telephone else None
    if not zones:
        zones, hours = _nowhere(lead, cadence, hours)
    return _constraints(hours, windows, zones, cadence.schedule.close_margin_seconds)


def _nowhere(lead: Lead, cadence: Cadence, hours: WindowSet | None) -> tuple[tuple[str, ...], WindowSet | None]:
    """Return the zones of a lead whose zone nothing tells: a US one may be in any of its zones."""
    if hours is not None and _is_american(lead):
        return UNKNOWN_US_ZONES, UNKNOWN_US_HOURS
    return (cadence.schedule.time_zone,), hours


def _is_american(lead: Lead) -> bool:
    country = lead.columns.get("country")
    return country == "US" if country else (lead.caller_id or "").startswith("+1")


@lru_cache(maxsize=RULES_MAX)
def _constraints(
    legal: WindowSet | None, preferred: WindowSet | None, zones: tuple[str, ...], margin: int
) -> tuple[Constraint, ...]:
    rules = []
    if legal is not None:
        rules.append(constraint(TELEPHONE_FLOOR_CODE, legal, zones, close_margin_seconds=margin))
    if preferred is not None:
        rules.append(constraint(PREFERRED_CODE, preferred, zones, close_margin_seconds=margin))
    return tuple(rules)
