"""Are all places found where a person may be?"""

import runpy
import zlib
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import zipcodes

from engine.calendar.zones import TZDATA_VERSION, country_zones, is_zone, local_datetime
from engine.submission.numbers import read_number
from engine.submission.place import Location, locate, located_again, places_version
from engine.submission.states import PROVINCES, STATE_ZONES, STATES, state_code
from engine.submission.zip_places import zip_place
from schemas.instant import from_datetime

ROOT = Path(__file__).parents[3]
STORED = ROOT / "engine" / "submission" / "zip_places.bin"

MIAMI, NEW_YORK = read_number("+13055550123", "US"), read_number("+12125550123", "US")


def test_a_stated_zone_is_trusted_alone_but_states_are_united() -> None:
    place = locate(country="US", stated_zone="America/Denver", zip_code="10001", state="Texas", number=MIAMI)
    assert place == Location(("America/Denver",), "stated", ("TX", "NY", "FL"))


def test_zip_state_and_number_are_united() -> None:
    place = locate(country="US", stated_zone=None, zip_code="80014", state="FL", number=NEW_YORK)
    assert place == Location(("America/Denver", "America/New_York", "America/Chicago"), "zip", ("FL", "CO", "NY"))


@pytest.mark.parametrize(
    ("zip_code", "zones"),
    [
        ("33101", ("America/New_York",)),
        ("33101-1234", ("America/New_York",)),
        ("2108", ("America/New_York",)),
        ("00601", ("America/Puerto_Rico",)),
        ("99999", ()),
        ("09002", ()),
        ("", ()),
    ],
)
def test_a_zip_code_has_the_zone_of_its_place(zip_code: str, zones: tuple[str, ...]) -> None:
    assert locate(country="US", stated_zone=None, zip_code=zip_code, state=None, number=None).zones == zones


def write_zip_places() -> bytes:
    written: bytes = runpy.run_path(str(ROOT / "deploy" / "write_zip_places.py"))["table"]()
    return written


def test_the_table_of_zip_codes_is_that_of_the_package() -> None:
    assert zlib.decompress(STORED.read_bytes()) == zlib.decompress(write_zip_places()), (
        "run python deploy/write_zip_places.py"
    )


@pytest.mark.parametrize("code", ["", "3310", "331011", "ABCDE", "3310\u0661", "-0001"])
def test_what_is_no_zip_code_is_nowhere(code: str) -> None:
    assert zip_place(code) == (None, None)


def test_a_foreign_postal_code_is_no_zip_code() -> None:
    assert locate(country="DE", stated_zone=None, zip_code="33101", state="IN", number=None) == Location()


def test_nothing_known_gives_no_zone() -> None:
    assert locate(country="US", stated_zone=None, zip_code=None, state="Atlantis", number=None) == Location()


@pytest.mark.parametrize(
    ("text", "code"), [("fl", "FL"), ("Florida", "FL"), (" new york ", "NY"), ("qc", "QC"), ("??", None)]
)
def test_states_have_codes_and_names(text: str, code: str | None) -> None:
    assert state_code(text) == code


def test_the_zones_of_a_state_hold_the_clock_of_each_of_its_zip_codes() -> None:
    def clock(zone: str) -> tuple[object, ...]:
        moments = (datetime(2026, month, 15, tzinfo=UTC) for month in (1, 7))
        return tuple(moment.astimezone(ZoneInfo(zone)).utcoffset() for moment in moments)

    clocks = {state: {clock(zone) for zone in zones} for state, zones in STATE_ZONES.items()}
    missing = {
        (row["state"], row["timezone"])
        for row in zipcodes.filter_by(country="US")  # type: ignore[no-untyped-call]
        if row["state"] in STATES and is_zone(row["timezone"]) and clock(row["timezone"]) not in clocks[row["state"]]
    }
    assert missing == set()


def test_every_state_has_a_zone() -> None:
    assert all(zones and all(map(is_zone, zones)) for zones in STATE_ZONES.values())


def weeks() -> list[datetime]:
    """Every week of the next two years, from the release of the pinned database on."""
    year = int(TZDATA_VERSION[:4])
    return [datetime(year, 1, 1, 12, tzinfo=UTC) + timedelta(weeks=week) for week in range(3 * 53)]


def clocks(zones: Iterable[str], at: datetime) -> set[object]:
    return {local_datetime(from_datetime(at), zone).utcoffset() for zone in zones}


# Every zone of zone.tab in the United States and Canada: the states in which it lies, by the comments of that file.
OWN_ZONES = {
    "America/New_York": "CT DC DE FL GA KY MA MD ME NC NH NJ NY OH PA RI SC TN VA VT WV",
    "America/Detroit": "MI",
    "America/Kentucky/Louisville": "KY",
    "America/Kentucky/Monticello": "KY",
    "America/Indiana/Indianapolis": "IN",
    "America/Indiana/Vincennes": "IN",
    "America/Indiana/Winamac": "IN",
    "America/Indiana/Marengo": "IN",
    "America/Indiana/Petersburg": "IN",
    "America/Indiana/Vevay": "IN",
    "America/Indiana/Tell_City": "IN",
    "America/Indiana/Knox": "IN",
    "America/Chicago": "AL AR FL IA IL KS KY LA MN MO MS ND NE OK SD TN TX WI",
    "America/Menominee": "MI",
    "America/North_Dakota/Center": "ND",
    "America/North_Dakota/New_Salem": "ND",
    "America/North_Dakota/Beulah": "ND",
    "America/Denver": "AZ CO ID KS MT ND NE NM OR SD TX UT WY",
    "America/Boise": "ID OR",
    "America/Phoenix": "AZ",
    "America/Los_Angeles": "CA ID NV OR WA",
    "America/Anchorage": "AK",
    "America/Juneau": "AK",
    "America/Sitka": "AK",
    "America/Metlakatla": "AK",
    "America/Yakutat": "AK",
    "America/Nome": "AK",
    "America/Adak": "AK",
    "Pacific/Honolulu": "HI",
    "America/St_Johns": "NL",
    "America/Goose_Bay": "NL",
    "America/Halifax": "NS PE QC",
    "America/Glace_Bay": "NS",
    "America/Moncton": "NB",
    "America/Blanc-Sablon": "QC",
    "America/Toronto": "ON QC",
    "America/Iqaluit": "NU",
    "America/Atikokan": "ON NU",
    "America/Winnipeg": "MB ON",
    "America/Resolute": "NU",
    "America/Rankin_Inlet": "NU",
    "America/Regina": "SK",
    "America/Swift_Current": "SK",
    "America/Edmonton": "AB BC NT SK",
    "America/Cambridge_Bay": "NU",
    "America/Inuvik": "NT",
    "America/Vancouver": "BC",
    "America/Creston": "BC",
    "America/Dawson_Creek": "BC",
    "America/Fort_Nelson": "BC",
    "America/Whitehorse": "YT",
    "America/Dawson": "YT",
}


def test_every_zone_of_the_database_is_in_a_state_or_province() -> None:
    assert set(OWN_ZONES) == {*country_zones("US"), *country_zones("CA")}


@pytest.mark.parametrize("state", sorted({state for states in OWN_ZONES.values() for state in states.split()}))
def test_the_clocks_of_a_state_are_those_of_its_own_places_in_each_week_of_two_years(state: str) -> None:
    own = [zone for zone, states in OWN_ZONES.items() if state in states.split()]

    for at in weeks():
        assert clocks(own, at) <= clocks(STATE_ZONES[state], at), at


@pytest.mark.parametrize("state", sorted(PROVINCES))
def test_a_province_has_the_zones_of_its_own_places(state: str) -> None:
    own = {zone for zone, states in OWN_ZONES.items() if state in states.split()}

    assert own <= set(STATE_ZONES[state])


@pytest.mark.parametrize(
    ("state", "zones"),
    [
        ("AB", ("America/Edmonton",)),
        ("BC", ("America/Vancouver", "America/Creston", "America/Dawson_Creek", "America/Fort_Nelson", "America/Edmonton")),
        ("SK", ("America/Edmonton", "America/Regina", "America/Swift_Current", "America/Winnipeg")),
        ("MB", ("America/Winnipeg",)),
        ("NT", ("America/Edmonton", "America/Inuvik")),
    ],
)
def test_a_province_has_no_zone_of_the_united_states(state: str, zones: tuple[str, ...]) -> None:
    assert STATE_ZONES[state] == zones
    assert not {zone for province in PROVINCES for zone in STATE_ZONES[province]} & set(country_zones("US"))


def test_an_albertan_by_address_is_not_called_at_night_for_a_number_of_los_angeles() -> None:
    place = locate(country="CA", stated_zone=None, zip_code=None, state="AB", number=read_number("+13105550100", "US"))

    assert place == Location(("America/Edmonton", "America/Los_Angeles"), "state", ("AB", "CA"))


@pytest.mark.parametrize(
    ("number", "zones"),
    [
        ("+14035550123", {"America/Edmonton"}),
        ("+16045550123", {"America/Vancouver"}),
        ("+18679790123", set(STATE_ZONES["NT"]) | set(STATE_ZONES["NU"]) | set(STATE_ZONES["YT"])),  # Iqaluit, or a mobile
        ("+15065550123", {"America/Moncton"}),
        ("+17095550123", {"America/St_Johns", "America/Goose_Bay"}),
        ("+19025550123", {"America/Halifax", "America/Glace_Bay"}),
    ],
)
def test_a_canadian_number_has_the_zones_of_its_province(number: str, zones: set[str]) -> None:
    found = read_number(number, "CA")

    assert found is not None
    assert set(found.zones) == zones


@pytest.mark.parametrize(
    ("columns", "caller_id", "known", "found"),
    [
        # Of a state, of a zip code, of a number alone, of a zone that a stranger stated beside it.
        ({"country": "CA", "state_province": "AB"}, None, ("state", "AB"), ("America/Edmonton",)),
        ({"country": "US", "zip_postal_code": "80014"}, None, ("zip", "CO"), ("America/Denver",)),
        ({}, "+14035550123", ("number", "AB"), ("America/Edmonton",)),
        ({"time_zone": "America/Lima"}, "+14035550123", ("number", "AB"), ("America/Edmonton", "America/Lima")),
        # Nothing is known of the country, or the zone was trusted alone.
        ({"zip_postal_code": "80014"}, None, ("zip", "CO"), ("America/Chicago",)),
        ({"time_zone": "America/Chicago"}, "+14035550123", ("stated", "AB"), ("America/Chicago",)),
        ({}, "+18005550123", ("default", "AB"), ("America/Chicago",)),
    ],
)
def test_a_stored_person_is_located_again_by_the_tables_of_this_release(
    columns: dict[str, str], caller_id: str | None, known: tuple[str, str], found: tuple[str, ...]
) -> None:
    source, state = known

    place = located_again(columns, caller_id, Location(("America/Chicago",), source, (state,)))

    assert (place.zones, place.source, place.states) == (found, source, (state,))


def test_the_tables_of_places_have_a_version() -> None:
    assert len(places_version()) == 16
