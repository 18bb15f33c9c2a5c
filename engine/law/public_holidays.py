"""Which dates are public holidays of a country or a state? Those of the `holidays` package, a year at a time."""

from collections.abc import Iterable
from datetime import date
from functools import lru_cache

from schemas.law import HolidaySet

HOLIDAY_YEARS_MAX = 1_024
"""Cached years of a state: all states for the years that live schedules see; some 20 dates each."""


def dates_of(named: HolidaySet, years: Iterable[int]) -> frozenset[date]:
    """Return the dates of a set that lie in the years, those on which a holiday is observed included."""
    years = tuple(years)
    listed = frozenset(day for day in named.dates if day.year in years)
    if named.country is None:
        return listed
    return listed.union(*(public_holidays(named.country, named.state, year) for year in years))


@lru_cache(maxsize=HOLIDAY_YEARS_MAX)
def public_holidays(country: str, state: str | None, year: int) -> frozenset[date]:
    """Return the public holidays of a year, national and of the state. Raises `NotImplementedError` for an unknown one."""
    # Loading the package takes longer than a preview may: only leads where holidays count wait for it, once.
    from holidays import country_holidays  # noqa: PLC0415

    return frozenset(country_holidays(country, subdiv=state, years=year, expand=False))


def has_holidays(country: str, state: str | None) -> bool:
    """Return whether the package knows the country, or the state in it."""
    from holidays import country_holidays  # noqa: PLC0415

    try:
        country_holidays(country, subdiv=state)
    except NotImplementedError:
        return False
    return True
