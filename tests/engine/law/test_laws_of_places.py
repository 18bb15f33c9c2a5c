"""Is a person called where the law of the place allows it, and not where it does not? Instants by their sources."""

from datetime import date, datetime, timedelta

import pytest

from engine.calendar import country_zones, is_open, resolve_local
from engine.law.pack import default_pack
from engine.law.public_holidays import change_dates, dates_of
from engine.submission.states import STATE_ZONES
from schemas.law import HolidayChange, HolidaySet, Purpose

# The source of each line is that of the row (engine/law/pack.toml), which a test of the pack holds.
STATES = """
OR 2025-12-31T20:30 open     2026-01-01T20:30 closed   2026-01-01T19:59 open     2026-01-01T08:00 open
WA 2026-12-01T20:30 closed   2026-12-01T20:00 closed   2026-12-01T19:59 open     2026-12-01T07:59 closed
WY 2026-12-01T20:30 closed   2026-12-01T19:30 open
NV 2026-12-01T08:30 closed   2026-12-01T09:00 open     2026-12-01T20:15 closed
NM 2026-12-01T08:59 closed   2026-12-01T20:30 open
MN 2026-12-01T08:59 closed   2026-12-01T20:30 open
MI 2026-12-01T08:30 closed   2026-12-01T10:30 open
UT 2026-12-06T12:00 closed   2026-12-05T12:00 open     2026-07-24T12:00 closed   2026-06-15T12:00 closed
SD 2026-12-05T12:00 closed   2026-12-06T12:00 closed   2026-12-04T12:00 open
NE 2026-12-06T12:00 open     2026-12-25T12:00 open
SC 2026-12-01T19:30 open     2026-12-01T21:00 closed
IL 2026-12-01T08:30 closed   2026-12-01T09:30 open
CA 2026-12-01T08:30 open     2026-12-01T20:30 open
ME 2026-12-01T17:30 closed   2026-12-05T12:00 closed   2026-12-01T16:30 open
MS 2026-12-25T12:00 closed   2026-12-06T12:00 closed   2026-12-01T12:00 open
PA 2026-12-25T12:00 closed   2026-11-03T12:00 closed   2026-06-15T12:00 closed   2026-11-27T12:00 open
PA 2026-10-17T11:30 open     2026-10-17T12:30 closed   2026-10-11T12:00 open     2026-10-18T12:00 closed
PA 2026-10-16T20:00 open     2026-10-19T20:00 closed   2026-10-19T08:30 closed   2026-10-19T09:00 open
RI 2026-11-03T12:00 closed   2027-11-02T12:00 open     2026-05-04T12:00 closed   2026-08-10T12:00 closed
RI 2026-07-06T12:00 closed   2025-05-05T12:00 closed   2026-05-05T12:00 open
AL 2026-02-17T12:00 closed   2026-12-01T12:00 closed   2027-12-01T12:00 closed   2026-12-02T12:00 open
LA 2026-01-08T12:00 closed   2026-02-17T12:00 closed   2026-08-31T12:00 open     2026-11-27T12:00 closed
NY 2026-12-25T12:00 open     2026-12-01T20:30 open     2026-12-01T07:59 closed   2026-12-01T21:00 closed
PR 2026-12-01T20:30 open     2026-12-01T21:00 closed
"""

COUNTRIES = """
CA 2026-12-01T21:15 open     2026-12-01T08:30 closed   2026-12-05T18:30 closed   2026-07-01T12:00 closed
GB 2026-12-05T08:30 closed   2026-12-04T08:30 open     2026-12-06T12:00 open     2026-12-04T21:00 closed
IE 2026-12-06T12:00 closed   2026-12-04T12:00 open     2026-03-17T12:00 closed
FR 2026-12-04T13:30 closed   2026-12-04T14:00 open     2026-12-04T09:30 closed   2026-12-05T12:00 closed
FR 2026-07-14T11:00 closed   2026-07-15T11:00 open     2026-12-04T20:00 closed
DE 2026-12-06T12:00 closed   2026-12-05T12:00 open     2026-10-31T12:00 closed   2026-10-30T12:00 open
AT 2026-12-08T12:00 closed   2026-12-07T12:00 open
CH 2026-08-01T12:00 closed   2026-07-31T12:00 open     2026-07-31T20:30 closed
ES 2026-12-05T12:00 closed   2026-12-04T21:00 closed   2026-12-04T12:00 open     2026-10-12T12:00 closed
IT 2026-12-24T12:00 closed   2026-12-05T09:30 closed   2026-12-05T10:30 open     2026-12-06T12:00 closed
NL 2026-12-05T16:30 closed   2026-12-04T12:00 open     2026-04-27T12:00 closed
BE 2026-07-21T12:00 closed   2026-07-22T12:00 open
PT 2026-12-05T12:00 closed   2026-12-04T20:30 open     2026-12-08T12:00 closed
AU 2026-12-06T12:00 closed   2026-12-05T17:30 closed   2026-12-04T14:00 open     2026-01-26T12:00 closed
NZ 2026-12-06T12:00 closed   2026-12-04T12:00 open     2026-02-06T12:00 closed
BR 2026-12-05T12:00 open     2026-12-05T16:30 closed   2026-09-07T12:00 closed   2026-12-04T12:00 open
MX 2026-12-06T12:00 closed   2026-12-04T12:00 open     2026-09-16T12:00 closed
IN 2026-12-04T09:30 closed   2026-12-04T10:00 open     2026-12-06T12:00 open
SG 2026-12-06T12:00 closed   2026-12-04T12:00 open     2026-08-10T12:00 closed
ZA 2026-12-05T13:30 closed   2026-12-05T12:30 open     2026-12-16T12:00 closed   2026-12-04T12:00 open
SE 2026-12-06T12:00 open     2026-12-04T20:30 open     2026-12-04T21:00 closed
NO 2026-12-06T12:00 open     2026-12-04T07:59 closed   2026-12-04T08:00 open
JP 2026-12-06T12:00 open     2026-12-04T21:00 closed   2026-01-01T12:00 open
RE 2026-12-06T12:00 closed   2026-12-04T13:30 closed   2026-12-04T14:00 open     2026-07-14T11:00 closed
GP 2026-12-05T12:00 closed   2026-12-04T11:00 open     2026-12-04T09:30 closed
MQ 2026-12-05T12:00 closed   2026-12-04T19:59 open     2026-12-04T20:00 closed
GF 2026-12-06T12:00 closed   2026-12-04T11:00 open
YT 2026-12-06T12:00 closed   2026-12-04T11:00 open
PM 2026-12-06T12:00 closed   2026-12-04T11:00 open
NC 2026-12-06T12:00 open     2026-12-04T21:00 closed
JE 2026-12-05T08:30 closed   2026-12-04T08:30 open
GG 2026-12-05T08:30 closed   2026-12-05T09:30 open
IM 2026-12-05T08:30 closed   2026-12-05T09:30 open
CX 2026-12-06T12:00 closed   2026-12-04T14:00 open
CC 2026-12-06T12:00 closed   2026-12-05T17:30 closed
PR 2026-12-01T20:30 open     2026-12-01T21:00 closed
GU 2026-12-01T20:30 open     2026-12-01T07:59 closed
"""

EVERY_STATE = """
AK open open open open     AL closed closed closed closed  AR open open open open     AZ open open open open
CA open open open open     CO open open open open          CT closed open open closed DC open open open open
DE open open open open     FL closed open open open        GA open open open open     HI open open open open
IA open open open open     ID open open open open          IL open open open closed   IN open open open open
KS open open open open     KY open open open closed        LA closed closed closed open   MA closed open open open
MD closed open open open   ME closed closed open closed    MI open open open closed   MN open open open closed
MO open open open open     MS closed closed closed open    MT open open open open     NC open open open open
ND open open open open     NE open open open open          NH open open open open     NJ open open open open
NM open open open closed   NV closed open open closed      NY open open open open     OH open open open open
OK closed open open open   OR closed open open open        PA closed closed closed closed PR open open open open
RI closed closed closed closed SC open open open open      SD open closed open closed TN open open open open
TX open open open closed   UT open closed closed open      VA open open open open     VT open open open open
WA closed open open open   WI open open open open          WV open open open open     WY closed open open open
"""
"""State -> whether a call is allowed on 2026-12-01 (a Tuesday) at 20:30, on Sunday at 12:30, at Christmas (a Friday) at
noon, and on the Tuesday at 8:30, by the statutes and tables that the rows name. In Alabama that is Rosa Parks Day."""

INSTANTS = ("2026-12-01T20:30", "2026-12-06T12:30", "2026-12-25T12:00", "2026-12-01T08:30")


def every_state() -> list[tuple[str, str, bool]]:
    words = EVERY_STATE.split()
    rows = [words[first : first + 5] for first in range(0, len(words), 5)]
    return [(state, at, word == "open") for state, *found in rows for at, word in zip(INSTANTS, found, strict=True)]


def cases(table: str) -> list[tuple[str, str, bool]]:
    found = []
    for line in table.strip().splitlines():
        place, *words = line.split()
        found += [(place, at, word == "open") for at, word in zip(words[::2], words[1::2], strict=True)]
    return found


def test_each_of_the_52_is_tried_in_the_evening_on_a_sunday_on_a_holiday_and_in_the_morning() -> None:
    assert len({state for state, _, _ in every_state()}) == 52
    assert len(every_state()) == 52 * 4


def is_allowed(
    states: tuple[str, ...], countries: tuple[str, ...], zones: tuple[str, ...], local: str, purpose: str
) -> bool:
    """Return whether a call is allowed at a time on the clock of the first zone."""
    at = resolve_local(datetime.fromisoformat(local), zones[0])
    limits = default_pack().limits(states, countries, "call", purpose, at)  # type: ignore[arg-type]
    return is_open(at, limits.constraints(zones[:1]))


@pytest.mark.parametrize(("state", "local", "allowed"), [*cases(STATES), *every_state()])
def test_a_state_is_called_when_its_law_allows_it(state: str, local: str, *, allowed: bool) -> None:
    assert is_allowed((state,), ("US",), STATE_ZONES[state], local, "telemarketing") is allowed


@pytest.mark.parametrize(("country", "local", "allowed"), cases(COUNTRIES))
def test_a_country_is_called_when_its_law_allows_it(country: str, local: str, *, allowed: bool) -> None:
    # Of several zones the last is one of the mainland: Toronto and Sydney have the hours of the table as well.
    assert is_allowed((), (country,), country_zones(country), local, "telemarketing") is allowed


@pytest.mark.parametrize("purpose", ["callback_requested", "informational", "collections"])
def test_a_callback_to_france_is_made_at_the_hour_that_the_person_named(purpose: Purpose) -> None:
    zones = country_zones("FR")

    assert is_allowed((), ("FR",), zones, "2026-12-05T12:00", purpose), "a Saturday, within the floor of every country"
    assert not is_allowed((), ("FR",), zones, "2026-12-05T21:30", purpose)


# State -> day of a holiday that the library does not have, in 2026, 2027 and 2028; the source is that of the set.
HOLIDAYS = {
    "us-ri": [
        "2026-05-04 2027-05-04 2028-05-04",  # Rhode Island Independence Day
        "2026-08-10 2027-08-09 2028-08-14",  # Victory Day
        "2026-11-03 - 2028-11-07",  # Election Day, in years of a general election
        "2026-07-06 2027-07-05 -",  # Independence Day on a Saturday, on a Sunday, on a Tuesday
        "- 2027-12-27 -",  # Christmas Day on a Saturday
        "- - 2028-01-03",  # New Year's Day on a Saturday
        "- - 2028-11-13",  # Veterans' Day on a Saturday
    ],
    "us-pa": [
        "2026-04-03 2027-03-26 2028-04-14",  # Good Friday
        "2026-06-14 2027-06-14 2028-06-14",  # Flag Day
        "2026-06-15 - -",  # on a Sunday, the Monday too
        "2026-11-03 2027-11-02 2028-11-07",  # Election Day
    ],
    "us-al": [
        "2026-02-17 2027-02-09 2028-02-29",  # Mardi Gras
        "2026-12-01 2027-12-01 2028-12-01",  # Rosa Parks Day
    ],
    "us-la": [
        "2026-01-08 2027-01-08 2028-01-08",  # Battle of New Orleans
        "2026-01-19 2027-01-19 2028-01-19",  # Robert E. Lee Day
        "2026-06-03 2027-06-03 2028-06-03",  # Confederate Memorial Day
        "2026-08-30 2027-08-30 2028-08-30",  # Huey P. Long Day
        "2026-10-12 2027-10-11 2028-10-09",  # Columbus Day
        "2026-11-01 2027-11-01 2028-11-01",  # All Saints' Day
        "2026-11-27 2027-11-26 2028-11-24",  # Acadian Day
        "2026-02-17 2027-02-09 2028-02-29",  # Mardi Gras
        "2026-11-03 - 2028-11-07",  # Election Day
    ],
    "us-ut": [
        "2026-04-03 2027-03-26 2028-04-14",  # Good Friday
        "2026-04-05 2027-03-28 2028-04-16",  # Easter Sunday
        "2026-06-15 2027-06-21 2028-06-19",  # Juneteenth on a Friday, on a Saturday, on a Monday
        "2026-07-24 2027-07-23 2028-07-24",  # Pioneer Day, in 2027 on a Saturday
    ],
}
OPEN_DAYS = {"us-pa": ["2026-11-27", "2027-11-26", "2028-11-24"], "us-ri": ["2027-11-02"], "us-ut": ["2026-06-22"]}


def named_set(set_id: str) -> HolidaySet:
    return next(named for named in default_pack().holiday_sets if named.id == set_id)


@pytest.mark.parametrize(("set_id", "row"), [(set_id, row) for set_id, rows in HOLIDAYS.items() for row in rows])
def test_holidays_are_those_of_the_statute(set_id: str, row: str) -> None:
    for year, text in zip((2026, 2027, 2028), row.split(), strict=True):
        if text != "-":
            assert date.fromisoformat(text) in dates_of(named_set(set_id), [year])


@pytest.mark.parametrize(("set_id", "days"), OPEN_DAYS.items())
def test_what_no_statute_names_is_no_holiday(set_id: str, days: list[str]) -> None:
    found = dates_of(named_set(set_id), [2026, 2027, 2028])

    assert found.isdisjoint(map(date.fromisoformat, days))


@pytest.mark.parametrize(
    ("on", "years", "expected"),
    [
        ("06-14", "all", ["2026-06-14", "2027-06-14"]),
        ("02-29", "all", ["2028-02-29"]),
        ("tue from 11-02", "odd", ["2027-11-02"]),
        ("mon from 08-08", "even", ["2026-08-10", "2028-08-14"]),
        ("easter+1", "all", ["2026-04-06", "2027-03-29"]),
    ],
)
def test_a_change_is_on_its_day_in_its_years(on: str, years: str, expected: list[str]) -> None:
    change = HolidayChange(name="Day", on=on, source_url="https://example.org", years=years)  # type: ignore[arg-type]
    until = 2029 if on == "02-29" or years == "even" else 2028

    assert [str(day) for day in change_dates(change, range(2026, until))] == expected


def test_a_holiday_of_which_the_part_of_the_country_is_not_known_is_kept_everywhere() -> None:
    reformation_day = date(2026, 10, 31)  # in nine of sixteen Länder

    assert reformation_day in dates_of(named_set("de"), [2026])
    assert reformation_day not in dates_of(HolidaySet(id="x", country="DE"), [2026])


def test_the_eve_of_a_holiday_is_in_the_year_before_it_where_that_is_its_year() -> None:
    eves = dates_of(named_set("it"), [2026])

    assert {date(2026, 12, 31), date(2026, 12, 24), date(2026, 12, 25)} <= eves
    assert date(2026, 12, 25) - timedelta(days=10) not in eves
