"""When may this lead be contacted on this channel? In legal and preferred hours, in every time zone where it may be."""

from datetime import date
from functools import lru_cache

from engine.calendar import (
    Constraint,
    Duration,
    Opening,
    WindowSet,
    after_duration,
    closes_at,
    constraint,
    country_zones,
    first_open,
    next_local_time,
    same_until,
    zones_of_people,
)
from engine.calendar.waits import Mode
from engine.contact.schedule.cadence import Cadence, home_zone
from engine.law.floor import UNKNOWN_US_HOURS, UNKNOWN_US_ZONES
from engine.law.opening import first_allowed, same_time_allowed
from engine.law.pack import NO_LIMITS, QUIET_HOURS_FEDERAL, CompiledRulePack, LegalLimits
from engine.rules import Rules
from engine.submission.calling_codes import countries_of_number
from schemas.contact import Lead
from schemas.instant import DAY, Instant, Millis
from schemas.law import CHANNELS, Purpose
from schemas.schedule import Until

CALLBACK_PURPOSE: Purpose = "callback_requested"
"""The purpose of a callback, whatever the purpose of its schedule."""

TELEPHONE = frozenset({"call", "sms"})
"""Channels with legal hours (47 CFR 64.1200(c)(1) and state laws); e-mail has none."""

PREFERRED_CODE = "preferred_window"
PAUSED_CODE = "schedule_paused"
"""The code of the dates on which a schedule pauses."""

HOLIDAY_CODE = "company_holiday"
"""The code of the company's own holidays; those of the law have another, and hold for callbacks too."""

UNKNOWN_ZONE_CODE = "timezone_unknown"
RULES_MAX = 8_192

_closes_at = lru_cache(maxsize=RULES_MAX)(closes_at)
"""Commands of one cycle share their instant, and mostly their hours: the cache answers a burst of leads once."""

OPENING_HORIZON = 8 * DAY
"""An opening within this time stays the same for every base within the same hours, so it can be cached."""


def limits(law: CompiledRulePack, lead: Lead, channel: str, at: Instant, purpose: Purpose) -> LegalLimits:
    """Return the legal limits on contacting this lead at an instant, in every state where it may be."""
    if channel not in CHANNELS:
        return NO_LIMITS
    return law.limits(lead.states, countries_of(lead), channel, purpose, at)


def opening(law: CompiledRulePack, lead: Lead, cadence: Cadence, channel: str, base: Instant) -> Opening | None:
    """Return the first instant >= base within all hours of the channel, or None where they never open."""
    rules, changes_at = constraints_at(law, lead, cadence, channel, base)
    if changes_at is None:
        return first_open(base, rules) if rules else Opening(base)
    return first_allowed(base, lambda at: constraints_at(law, lead, cadence, channel, at))


def hours_unchanged_until(law: CompiledRulePack, lead: Lead, cadence: Cadence, channel: str, base: Instant) -> Instant:
    """Return until when nothing opens or closes on the channel: the opening stays as it is at base."""
    rules, changes_at = constraints_at(law, lead, cadence, channel, base)
    until = same_until(base, rules)
    return until if changes_at is None else min(until, changes_at)


def legal_opening(law: CompiledRulePack, lead: Lead, cadence: Cadence, channel: str, base: Instant) -> Opening | None:
    """As `opening`, by the law alone: preferred hours and pauses do not apply to a callback."""
    return first_allowed(base, lambda at: constraints_at(law, lead, cadence, channel, at, promised=True))


def same_time_opening(law: CompiledRulePack, lead: Lead, cadence: Cadence, channel: str, base: Instant) -> Opening | None:
    """As `opening`; outside the hours, the same wall time of the first later day that allows it."""
    return same_time_allowed(base, home_zone(lead, cadence), lambda at: constraints_at(law, lead, cadence, channel, at))


def closing(
    law: CompiledRulePack, lead: Lead, cadence: Cadence, channel: str, now: Instant, *, preferred: bool = True
) -> Instant | None:
    """Return when the hours that are open now close, or None for never."""
    rules, changes_at = constraints_at(law, lead, cadence, channel, now, promised=not preferred)
    closes = _closes_at(now, rules)
    if closes is None or changes_at is None:
        return changes_at if closes is None else closes
    return min(closes, changes_at)


def is_zone_unknown(lead: Lead, cadence: Cadence, channel: str) -> bool:
    """Return whether a telephone is held because its time zone is unknown (`unknown_zone: hold`)."""
    return not lead.zones and channel in TELEPHONE and cadence.schedule.unknown_zone == "hold"


def after(base: Instant, wait: Duration, lead: Lead, cadence: Cadence, mode: Mode | None = None) -> Instant:
    """Return the end of a delay; one in days keeps the lead's wall time."""
    return after_duration(base, wait, home_zone(lead, cadence), mode)


def local_time(lead: Lead, cadence: Cadence, until: Until, base: Instant) -> Instant:
    """Return the first instant >= base at the given wall time and day, on the lead's clock or the schedule's."""
    zone = {"lead": home_zone(lead, cadence), "schedule": cadence.schedule.time_zone}.get(until.zone, until.zone)
    return next_local_time(base, until.time, until.days, zone, if_passed=until.if_passed, on_date=until.date)


def constraints_at(
    law: CompiledRulePack, lead: Lead, cadence: Cadence, channel: str, at: Instant, *, promised: bool = False
) -> tuple[tuple[Constraint, ...], Instant | None]:
    """Return the hours that apply at an instant, and when the law behind them changes (None: no change known)."""
    schedule = cadence.schedule
    held = limits(law, lead, channel, at, CALLBACK_PURPOSE if promised else schedule.purpose)
    is_contact = channel in CHANNELS and not promised
    windows = cadence.windows.get(channel) if is_contact else None
    paused = cadence.paused_dates if is_contact else _NO_DATES
    holidays = law.company_holidays(lead.schedule_id) if is_contact else _NO_DATES
    if windows is None and not held.hours and not paused and not holidays:
        return (), held.changes_at
    zones, is_anywhere = zones_of_people(lead.zones), False
    if not zones and channel in TELEPHONE and schedule.unknown_zone != "default_zone":
        countries = countries_of(lead)
        is_anywhere = countries == ("US",)
        zones = (
            UNKNOWN_US_ZONES if is_anywhere else tuple([name for country in countries for name in country_zones(country)])
        )
    zones = zones or (schedule.time_zone,)
    closed = ((PAUSED_CODE, paused), (HOLIDAY_CODE, holidays))
    return _constraints(held, windows, closed, zones, is_anywhere, schedule.close_margin_seconds), held.changes_at


_NO_DATES: frozenset[date] = frozenset()


def purpose_of(rules: Rules, lead: Lead) -> Purpose:
    """Return the purpose of the contacts of a lead's schedule."""
    if lead.schedule_id is None or lead.schedule_version is None:
        return "telemarketing"
    schedule = rules.schedule(lead.schedule_id, lead.schedule_version)
    return "telemarketing" if schedule is None else schedule.purpose


def countries_of(lead: Lead) -> tuple[str, ...]:
    """Return the countries where the lead may be; empty where unknown."""
    country = lead.columns.get("country")
    if country:
        return (country,)
    return countries_of_number(lead.caller_id) if lead.caller_id else ()


@lru_cache(maxsize=RULES_MAX)
def _constraints(  # noqa: PLR0917 - what the answer is kept by
    law: LegalLimits,
    preferred: WindowSet | None,
    closed: tuple[tuple[str, frozenset[date]], ...],
    zones: tuple[str, ...],
    is_anywhere: bool,
    margin: Millis,
) -> tuple[Constraint, ...]:
    rules = [*law.constraints(zones, close_margin_seconds=margin)]
    if is_anywhere:  # a US lead of no known zone may be in any of them: a narrower floor holds in all
        rules.insert(0, constraint(QUIET_HOURS_FEDERAL, UNKNOWN_US_HOURS, zones, close_margin_seconds=margin))
    if preferred is not None:
        rules.append(constraint(PREFERRED_CODE, preferred, zones, close_margin_seconds=margin))
    for code, dates in closed:
        if dates:
            rules.append(constraint(code, None, zones, closed_dates=dates, close_margin_seconds=margin))
    return tuple(rules)
