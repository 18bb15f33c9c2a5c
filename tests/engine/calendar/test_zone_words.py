"""Does a word for a time zone mean the place that people mean, and is one that may mean several refused with all of them?"""

from datetime import UTC, datetime, timedelta

import pytest

from engine.calendar import canonical_zone, country_zones, is_zone, zones_of_people
from engine.calendar.rails_names import RAILS_NAMES
from engine.calendar.zone_words import (
    UNIVERSAL_TIME,
    WINDOWS_NAMES,
    ambiguous_sentence,
    candidate_zones,
    is_ambiguous,
    place_names,
)
from engine.calendar.zones import all_country_zones, zone, zone_names
from engine.submission.fields import FieldError, parse_person_zone, parse_zone

# Word -> the places that it may mean. Sources: northamerica and europe of the IANA database; of offsets the zones that keep
# them at some time of the year.
REFUSED = {
    "EST": ["America/New_York", "America/Panama"],
    "est": ["America/New_York", "America/Panama"],
    "MST": ["America/Denver or America/Phoenix"],
    "CST": ["America/Chicago", "America/Regina", "Asia/Shanghai"],
    "PST": ["America/Los_Angeles"],
    "EDT": ["America/New_York"],
    "PT": ["America/Los_Angeles"],
    "AST": ["America/Halifax or America/Puerto_Rico"],
    "GMT": ["Europe/London or Africa/Abidjan"],
    "BST": ["Europe/London or Asia/Dhaka"],
    "IST": ["Asia/Kolkata", "Europe/Dublin"],
    "GMT-5": ["America/New_York", "America/Chicago", "America/Lima"],
    "gmt -5": ["America/New_York"],
    "UTC-05:00": ["America/New_York"],
    "-0500": ["America/New_York"],
    "Etc/GMT+5": ["America/New_York", "America/Lima"],
    "Etc/GMT-1": ["Europe/Amsterdam"],
    "GMT+1": ["Europe/Amsterdam"],
    "UTC+5:30": ["Asia/Colombo or Asia/Kolkata"],
    "GMT0": ["Europe/London"],
    "Etc/Greenwich": ["Europe/London or Africa/Abidjan"],
}
TAKEN = {
    "HST": "Pacific/Honolulu",
    "EST5EDT": "America/New_York",
    "cst6cdt": "America/Chicago",
    "MST7MDT": "America/Denver",
    "PST8PDT": "America/Los_Angeles",
    "CET": "CET",
    "Eastern Standard Time": "America/New_York",
    "US Mountain Standard Time": "America/Phoenix",
    "Mountain Standard Time": "America/Denver",
    "hawaiian standard time": "Pacific/Honolulu",
    "Canada Central Standard Time": "America/Regina",
    "GMT Standard Time": "Europe/London",
    "W. Europe Standard Time": "Europe/Berlin",
    "Eastern Time (US & Canada)": "America/New_York",
    "Arizona": "America/Phoenix",
    "International Date Line West": "Etc/GMT+12",
    "America/Indiana/Knox": "America/Indiana/Knox",
}


@pytest.mark.parametrize("word", REFUSED)
def test_an_abbreviation_or_offset_is_refused_with_the_places_that_it_may_mean(word: str) -> None:
    for parse in (parse_zone, parse_person_zone):
        with pytest.raises(FieldError) as refused:
            parse(word)
        assert all(place in str(refused.value) for place in REFUSED[word])
    assert canonical_zone(word) is None


@pytest.mark.parametrize("word", TAKEN)
def test_the_name_of_a_place_is_taken(word: str) -> None:
    assert parse_person_zone(word) == parse_zone(word) == canonical_zone(word) == TAKEN[word]


@pytest.mark.parametrize("word", sorted(UNIVERSAL_TIME))
def test_universal_time_is_a_zone_of_reports_and_of_no_person(word: str) -> None:
    assert parse_zone(word) == word
    with pytest.raises(FieldError, match="Europe/London"):
        parse_person_zone(word)


@pytest.mark.parametrize("word", ["Eastern", "5", "05:00", "Mars/Olympus", "GMT+99", "EST/EDT", "E" * 64, "+", "GMT"[:2]])
def test_what_is_no_word_for_a_zone_has_no_places(word: str) -> None:
    assert candidate_zones(word) == ()
    assert ambiguous_sentence(word) is None
    with pytest.raises(FieldError, match="must be a time zone such as"):
        parse_zone(word)


def test_every_rails_name_is_taken_as_ever() -> None:
    assert all(canonical_zone(name) == (name if name in zone_names() else iana) for name, iana in RAILS_NAMES.items())


def test_every_windows_name_of_cldr_means_a_zone_of_the_database() -> None:
    assert len(WINDOWS_NAMES) > 120
    for name, iana in WINDOWS_NAMES.items():
        assert is_zone(iana), name
        assert canonical_zone(name) == iana


def test_no_name_of_the_database_that_is_taken_is_a_fixed_offset_without_a_place() -> None:
    fixed = {
        name
        for name in place_names()
        if name.startswith("Etc/") or (name.upper() == name and len({*_offsets(name)}) == 1 and "/" not in name)
    }

    assert fixed - UNIVERSAL_TIME == {"Etc/GMT+12", "HST", "PRC", "ROC", "ROK", "W-SU"}, "places, and one where nobody lives"


def _offsets(name: str) -> list[timedelta | None]:
    weeks = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(weeks=week) for week in range(53))
    return [week.astimezone(zone(name)).utcoffset() for week in weeks]


@pytest.mark.parametrize("name", ["Etc/GMT+5", "Etc/GMT-5", "Etc/GMT0", "GMT", "EST", "MST"])
def test_a_stored_offset_is_treated_as_every_place_that_it_may_mean(name: str) -> None:
    places = zones_of_people((name,))

    assert is_ambiguous(name)
    assert places == candidate_zones(name)
    assert set(places) <= {*all_country_zones()}
    assert all(set(_offsets(name)) & set(_offsets(place)) for place in places)


def test_the_zones_of_places_stay_as_they_are() -> None:
    zones = ("America/New_York", "Asia/Kolkata")

    assert zones_of_people(zones) is zones
    assert zones_of_people(()) == ()
    assert zones_of_people(("America/New_York", "MST")) == ("America/New_York", "America/Denver", "America/Phoenix")


def test_candidates_of_an_offset_are_those_that_keep_it_in_summer_or_in_winter() -> None:
    assert {"America/New_York", "America/Chicago", "America/Lima"} <= set(candidate_zones("GMT-5"))
    assert "America/Denver" not in candidate_zones("GMT-5")
    assert set(country_zones("IN")) <= set(candidate_zones("+05:30"))
