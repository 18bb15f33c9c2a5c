"""Which dates are public holidays of a country or a state? Those of the `holidays` package, as statutes correct them.

A year at a time. The package knows most states' holidays; what a statute adds or leaves out is in the pack, with its source.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from functools import lru_cache
from types import MappingProxyType

from schemas.law import HolidayChange, HolidaySet

HOLIDAY_YEARS_MAX = 1_024
"""Cached years of a state: all states for the years that live schedules see; some 20 dates each."""

_WEEKDAYS = MappingProxyType({name: number for number, name in enumerate(("mon", "tue", "wed", "thu", "fri", "sat", "sun"))})
_EASTER = re.compile(r"easter([+-][0-9]{1,2})", re.ASCII)
_FROM = re.compile(r"(?:(mon|tue|wed|thu|fri|sat|sun) from )?([0-9]{2})-([0-9]{2})", re.ASCII)
_SATURDAY, _SUNDAY = 5, 6
_DAY = timedelta(days=1)


def dates_of(named: HolidaySet, years: Iterable[int]) -> frozenset[date]:
    """Return the dates of a set that lie in the years, those on which a holiday is observed included."""
    years = tuple(years)
    # A holiday of the first day of a year may have its eve, or be kept, in the year before.
    found = set(_all_dates(named, range(min(years), max(years) + 2))) if years else set[date]()
    if named.eves:
        found |= {day - _DAY for day in found}
    return frozenset(day for day in found if day.year in years)


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


def is_change_day(on: str) -> bool:
    """Return whether a text says on which day of a year a holiday is."""
    try:
        _day_of(on, 2028)  # a leap year: 02-29 is a day
    except ValueError:
        return False
    return True


def change_dates(change: HolidayChange, years: Iterable[int]) -> Iterator[date]:
    """Yield the dates of a change in the years, those on which it is kept beside a weekend included."""
    for year in years:
        if change.years != "all" and (year % 2 == 0) is not (change.years == "even"):
            continue
        try:
            day = _day_of(change.on, year)
        except ValueError:
            continue  # 29 February of a common year
        yield day
        if day.weekday() == _SATURDAY and change.saturday:
            yield day - _DAY if change.saturday == "friday" else day + 2 * _DAY
        elif day.weekday() == _SUNDAY and change.sunday:
            yield day + _DAY


def _all_dates(named: HolidaySet, years: range) -> Iterator[date]:
    yield from (day for day in named.dates if day.year in years)
    if named.country is not None:
        removed = {day for change in named.removes for day in change_dates(change, years)}
        for state in _parts(named.country) if named.in_any_part else (named.state,):
            for year in years:
                yield from public_holidays(named.country, state, year) - removed
    for change in named.adds:
        yield from change_dates(change, years)


@lru_cache(maxsize=64)
def _parts(country: str) -> tuple[str | None, ...]:
    from holidays import country_holidays  # noqa: PLC0415

    return (None, *country_holidays(country).subdivisions)


def _day_of(on: str, year: int) -> date:
    """Return the day of a year. Raises `ValueError` for a text that names none."""
    easter = _EASTER.fullmatch(on)
    if easter is not None:
        return _easter(year) + timedelta(days=int(easter[1]))
    found = _FROM.fullmatch(on)
    if found is None:
        raise ValueError(f"{on!r} is no day of a year")
    day = date(year, int(found[2]), int(found[3]))
    return day if found[1] is None else day + timedelta(days=(_WEEKDAYS[found[1]] - day.weekday()) % 7)


def _easter(year: int) -> date:
    # As the package of holidays, which it comes with: only where leads need it.
    from dateutil.easter import easter  # type: ignore[import-untyped] # noqa: PLC0415

    found: date = easter(year)
    return found
