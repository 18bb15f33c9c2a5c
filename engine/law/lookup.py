"""Which rows of law hold for one person at an instant, until when, and is a contact allowed then?

As every contact is planned: with the zones, states and countries where the person may be.
"""

from datetime import date, timedelta

from msgspec import Struct

from engine.calendar import Opening, closes_at, country_zones, is_open
from engine.law.floor import UNKNOWN_US_ZONES
from engine.law.opening import first_allowed
from engine.law.pack import CompiledRulePack
from engine.submission.calling_codes import countries_of_number
from engine.submission.numbers import ParsedNumber
from engine.submission.place import locate
from schemas.instant import Instant, to_datetime
from schemas.law import LawReview, Purpose, RuleRow

WARNED_AHEAD = timedelta(days=30)
"""A law that begins or ends within it needs somebody: schedules are planned for weeks."""

REVIEW_AGE_MAX = timedelta(days=180)
"""Legislatures sit each year: after half a year somebody has to read the sources again."""


class LawLookup(Struct, frozen=True, kw_only=True):
    """What holds: rows with the instant at which each ends, reviews of states without rows, and what is allowed now.

    `changes_at` is when another set of rows holds, `opens` the first allowed instant, `closes_at` the end of the hours that
    are open.
    """

    countries: tuple[str, ...]
    states: tuple[str, ...]
    zones: tuple[str, ...]
    source: str
    rows: tuple[tuple[RuleRow, Instant | None], ...]
    reviews: tuple[LawReview, ...]
    is_allowed: bool
    opens: Opening | None
    closes_at: Instant | None
    changes_at: Instant | None


class LawWarning(Struct, frozen=True):
    """Something about the dates of the pack that needs somebody."""

    row_id: str
    sentence: str


def look_up(
    law: CompiledRulePack,
    *,
    at: Instant,
    country: str,
    number: ParsedNumber | None = None,
    zip_code: str | None = None,
    state: str | None = None,
    stated_zone: str | None = None,
    is_country_stated: bool = False,
    channel: str = "call",
    purpose: Purpose = "telemarketing",
) -> LawLookup:
    """Return what holds for a person who is known by these; `country` is that of a person of whom nothing says one."""
    place = locate(country=country, stated_zone=stated_zone, zip_code=zip_code, state=state, number=number)
    countries = (country,) if number is None or is_country_stated else countries_of_number(number.e164)
    everywhere = (
        UNKNOWN_US_ZONES if countries == ("US",) else tuple(zone for one in countries for zone in country_zones(one))
    )
    zones = place.zones or everywhere or ("UTC",)

    def rules_at(instant: Instant):  # type: ignore[no-untyped-def]  # noqa: ANN202 - what `first_allowed` asks
        limits = law.limits(place.states, countries, channel, purpose, instant)
        return limits.constraints(zones), limits.changes_at

    limits = law.limits(place.states, countries, channel, purpose, at)
    constraints = limits.constraints(zones)
    is_allowed = is_open(at, constraints)
    return LawLookup(
        countries=countries,
        states=place.states,
        zones=zones,
        source=place.source,
        rows=tuple(law.rows_at(at, place.states, countries, channel, purpose)),
        reviews=tuple(review for review in law.reviews if review.state in place.states),
        is_allowed=is_allowed,
        opens=first_allowed(at, rules_at),
        closes_at=closes_at(at, constraints) if is_allowed else None,
        changes_at=limits.changes_at,
    )


def find_warnings(law: CompiledRulePack, now: Instant) -> list[LawWarning]:
    """Return what of the pack needs somebody: rows that begin or end soon, and sources that were read too long ago."""
    today = to_datetime(now).date()
    found = []
    for row in law.rules.values():
        for word, day in (("begins", row.effective_from), ("ends after", row.effective_to)):
            if day is not None and today <= day <= today + WARNED_AHEAD:
                found.append(LawWarning(row.id, f"{word} {day}: look at the schedules of its place"))
    reviewed = [(row.id, row.reviewed_at) for row in law.rules.values()]
    reviewed += [(f"review of {review.state}", review.reviewed_at) for review in law.reviews]
    old = sorted((day, row_id) for row_id, day in reviewed if today - day > REVIEW_AGE_MAX)
    if old:
        found.append(LawWarning(old[0][1], _age_sentence(len(old), old[0][0])))
    return found


def _age_sentence(count: int, oldest: date) -> str:
    rows = "row was" if count == 1 else "rows were"
    return (
        f"{count} {rows} last read more than {REVIEW_AGE_MAX.days} days ago, the oldest on {oldest}: install a newer "
        "release, or read the sources and add rows of your own"
    )
