"""Are all places found where a person may be?"""

import runpy
import zlib
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import zipcodes

from engine.calendar.zones import is_zone
from engine.submission.numbers import read_number
from engine.submission.place import STATE_ZONES, STATES, Location, locate, state_code
from engine.submission.zip_places import zip_place

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
