"""Which time zone rules and names are used, and what happens on days with a clock change?"""

from datetime import UTC, date, datetime
from importlib.metadata import version

import pytest

from engine.calendar import (
    TZDATA_VERSION,
    UnknownZoneError,
    canonical_zone,
    country_zones,
    day_start,
    is_zone,
    local_datetime,
    resolve_local,
    zone,
    zone_names,
)
from engine.calendar.rails_names import RAILS_NAMES
from engine.calendar.zones import has_whole_hours
from schemas.instant import DAY, HOUR, from_datetime, to_rfc3339
from tests.engine.calendar.oracle import clock_changes


def test_the_version_is_that_of_the_pinned_package() -> None:
    year, number = version("tzdata").split(".")

    assert f"{year}{chr(ord('a') + int(number) - 1)}" == TZDATA_VERSION


def test_every_listed_zone_loads_from_the_package_and_knows_its_name() -> None:
    for name in zone_names():
        assert zone(name).key == name
        assert zone(name) is zone(name)
    assert len(zone_names()) > 500


@pytest.mark.parametrize("name", ["", "Mars/Base", "america/new_york", "../tzdata.zi", "zones", "America", "Factory", "EDT"])
def test_a_name_that_is_no_zone_is_refused_with_the_name(name: str) -> None:
    assert not is_zone(name)
    with pytest.raises(UnknownZoneError) as refused:
        zone(name)
    assert refused.value.name == name


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("America/New_York", "America/New_York"),
        ("america/new_york", "America/New_York"),
        ("Eastern Time (US & Canada)", "America/New_York"),
        (" eastern time (us & canada) ", "America/New_York"),
        ("Arizona", "America/Phoenix"),
        ("International Date Line West", "Etc/GMT+12"),
        ("St. Petersburg", "Europe/Moscow"),
        ("US/Eastern", "US/Eastern"),
        # Names of both lists mean what the IANA list says.
        ("UTC", "UTC"),
        ("Singapore", "Singapore"),
        ("Eastern", None),
        ("", None),
    ],
)
def test_iana_and_rails_names_are_taken_and_iana_names_given(name: str, canonical: str | None) -> None:
    assert canonical_zone(name) == canonical


def test_every_rails_name_means_a_zone_of_the_database() -> None:
    assert len(RAILS_NAMES) == 152
    for name, iana in RAILS_NAMES.items():
        assert is_zone(iana), name
        assert canonical_zone(name) is not None


def test_a_rails_name_that_is_also_an_iana_name_keeps_the_same_clock() -> None:
    for name, iana in RAILS_NAMES.items():
        if is_zone(name):
            assert clock_changes(name, 2026, 2026) == clock_changes(iana, 2026, 2026)


@pytest.mark.parametrize(
    ("day", "zone_name", "starts", "hours"),
    [
        (date(2026, 3, 8), "America/New_York", "2026-03-08T05:00:00Z", 23),
        (date(2026, 11, 1), "America/New_York", "2026-11-01T04:00:00Z", 25),
        (date(2026, 9, 6), "America/Santiago", "2026-09-06T04:00:00Z", 23),
        (date(2026, 4, 4), "America/Santiago", "2026-04-04T03:00:00Z", 25),
        (date(2026, 10, 25), "Atlantic/Azores", "2026-10-25T00:00:00Z", 25),
        (date(2026, 10, 4), "Australia/Lord_Howe", "2026-10-03T13:30:00Z", 23.5),
        (date(2028, 2, 29), "Asia/Kathmandu", "2028-02-28T18:15:00Z", 24),
        (date(2011, 12, 30), "Pacific/Apia", "2011-12-30T10:00:00Z", 0),
    ],
)
def test_a_local_day_has_its_own_first_instant_and_length(day: date, zone_name: str, starts: str, hours: float) -> None:
    begins = day_start(day, zone_name)

    assert to_rfc3339(begins) == starts
    assert day_start(date.fromordinal(day.toordinal() + 1), zone_name) - begins == hours * HOUR


def test_the_offset_is_that_of_the_target_instant() -> None:
    winter = from_datetime(datetime(2026, 3, 7, 12, tzinfo=UTC))

    assert local_datetime(winter, "America/New_York").hour == 7
    assert local_datetime(winter + DAY, "America/New_York").hour == 8


@pytest.mark.parametrize(
    ("zone_name", "is_whole"),
    [
        ("UTC", True),
        ("America/New_York", True),
        ("Europe/Berlin", True),
        ("Asia/Kolkata", False),
        ("Asia/Kathmandu", False),
        ("Australia/Lord_Howe", False),  # half an hour of summer time
        ("America/Caracas", False),  # -04:30 from 2007 to 2016
        ("Africa/Monrovia", False),  # -00:44:30 until 1972
    ],
)
def test_a_zone_has_whole_hours_if_each_offset_since_1970_is_one(zone_name: str, is_whole: bool) -> None:
    assert has_whole_hours(zone_name) is is_whole


def test_a_reading_with_milliseconds_and_the_second_of_two_can_be_resolved() -> None:
    reading = datetime.fromisoformat("2026-11-01T01:30:00.250")

    assert to_rfc3339(resolve_local(reading, "America/New_York")) == "2026-11-01T05:30:00.250Z"
    assert to_rfc3339(resolve_local(reading.replace(fold=1), "America/New_York")) == "2026-11-01T06:30:00.250Z"


@pytest.mark.parametrize(
    ("country", "some"),
    [
        ("AU", {"Australia/Perth", "Australia/Lord_Howe"}),
        ("NP", {"Asia/Kathmandu"}),
        ("US", {"Pacific/Honolulu"}),
        ("XX", set()),
    ],
)
def test_a_country_has_its_zones_each_of_which_is_known(country: str, some: set[str]) -> None:
    found = country_zones(country)

    assert some <= set(found)
    assert bool(found) == bool(some)
    assert all(map(is_zone, found))
