"""Does `leadclock law` say which rows hold and what they allow, offline, and does `law check` warn in time?"""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from adapters.cli.law import law
from engine.law.lookup import find_warnings, look_up
from engine.law.pack import default_pack
from engine.submission.numbers import read_number
from schemas.instant import DAY, Instant, from_datetime


def asked(*words: str) -> Result:
    return CliRunner().invoke(law, words)


def answer(*words: str) -> dict[str, Any]:
    found = asked(*words, "--json")
    assert found.exit_code == 0, found.output
    return dict(json.loads(found.output))


# Twelve people in twelve places: what is known, the instant, whether a call is allowed, the reasons, the rows that decide.
PEOPLE = [
    ("--number +15035550100", "2026-12-01T20:30:00-08:00", False, ["quiet_hours_state"], "us-or"),
    ("--number +12065550100", "2026-12-01T20:30:00-08:00", False, ["quiet_hours_state"], "us-wa"),
    ("--number +12125550100", "2026-12-01T20:30:00-05:00", True, [], "us-federal"),
    ("--state PA", "2026-12-25T12:00:00-05:00", False, ["holiday", "quiet_hours_federal", "quiet_hours_state"], "us-pa"),
    ("--state UT", "2026-12-06T12:00:00-07:00", False, ["quiet_hours_state"], "us-ut"),
    ("--zip 33101", "2026-12-01T20:30:00-05:00", False, ["quiet_hours_state"], "us-fl"),
    ("--number +13105550100 --state AB", "2026-12-01T21:30:00-06:00", False, ["quiet_hours_federal"], "ca"),
    ("--number +14165550100", "2026-12-06T18:30:00-05:00", False, ["quiet_hours_federal"], "ca"),
    ("--country FR", "2026-12-04T13:30:00+01:00", False, ["quiet_hours_federal"], "fr"),
    ("--number +493012345678", "2026-12-06T12:00:00+01:00", False, ["quiet_hours_federal"], "de"),
    ("--number +61293744000", "2026-12-05T16:30:00+11:00", True, [], "au"),
    ("--number +81312345678", "2026-12-06T20:30:00+09:00", True, [], "telephone-floor"),
]


@pytest.mark.parametrize(("person", "at", "is_allowed", "reasons", "row"), PEOPLE)
def test_a_person_is_called_where_the_rows_allow_it(
    person: str, at: str, *, is_allowed: bool, reasons: list[str], row: str
) -> None:
    found = answer(*person.split(), "--at", at)

    assert (found["is_allowed"], found["reasons"]) == (is_allowed, reasons)
    assert row in [one["id"] for one in found["rows"]]
    assert (found["opens_at"] == found["at"]) is is_allowed
    assert (found["closes_at"] is not None) is is_allowed
    assert all(one["source_url"].startswith("http") for one in found["rows"])


def test_a_row_that_ends_says_until_when_and_one_that_begins_changes_the_law() -> None:
    before = answer("--state", "OR", "--at", "2025-12-31T20:30:00-08:00")

    assert [row["id"] for row in before["rows"]] == ["us-federal"]
    assert before["changes_at"] == "2026-01-01T07:00:00Z", "midnight of the east of Oregon, on the clock of Boise"


def test_texts_and_other_purposes_have_their_own_rows() -> None:
    def ids(*words: str) -> list[str]:
        return [row["id"] for row in answer("--state", "ME", "--at", "2026-12-01T12:00:00-05:00", *words)["rows"]]

    assert ids() == ["us-federal", "us-me"]
    assert ids("--channel", "sms") == ["us-federal"]
    assert ids("--purpose", "collections") == ["us-federal", "us-reg-f", "us-reg-f-calls"]


def test_the_table_names_rows_reviews_and_the_verdict() -> None:
    allowed = asked("--state", "NY", "--at", "2026-12-01T12:00:00-05:00")
    closed = asked("--state", "FL", "--at", "2026-12-01T20:30:00-05:00")

    assert "us-federal" in allowed.output
    assert "NY reviewed" in allowed.output
    assert "Allowed at Tue 2026-12-01 12:00 -0500 (America/New_York), until Tue 2026-12-01 21:00" in " ".join(
        allowed.output.split()
    )
    assert "first at Wed 2026-12-02 09:00 -0500" in " ".join(closed.output.split()), "the west of Florida is an hour behind"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--number 12", "must be a telephone number such as +13055550123"),
        ("--state Atlantis", "must be a state or province such as OR"),
        ("--country Atlantis", "--country"),
        ("--time-zone EST", "America/New_York"),
        ("--at noon", "--at"),
        ("--purpose sales", "--purpose"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_option(words: str, sentence: str) -> None:
    found = asked(*words.split())

    assert found.exit_code == 2
    assert sentence in " ".join(found.output.split())


def instant(text: str) -> Instant:
    from datetime import datetime  # noqa: PLC0415 - of this alone

    return from_datetime(datetime.fromisoformat(text))


@pytest.mark.parametrize(
    ("at", "warned"),
    [
        ("2026-09-17T12:00:00Z", []),  # 31 days before Pennsylvania's row begins
        ("2026-09-18T12:00:00Z", ["us-pa-2026"]),
        ("2026-10-18T12:00:00Z", ["us-pa-2026"]),
        ("2026-10-19T12:00:00Z", []),
        ("2027-05-20T12:00:00Z", []),  # 180 days after 2026-11-21
        ("2027-05-21T12:00:00Z", ["telephone-floor"]),
    ],
)
def test_rows_that_change_soon_and_old_reviews_are_warned_of(at: str, warned: list[str]) -> None:
    found = [one.row_id for one in find_warnings(default_pack(), instant(at))]
    result = asked("check", "--at", at)

    assert found == warned
    assert result.exit_code == (1 if warned else 0)
    assert json.loads(asked("check", "--at", at, "--json").output)["law"] == default_pack().stamp


def test_the_rows_of_this_release_need_nobody_on_the_day_after_they_were_read() -> None:
    newest = max(row.reviewed_at for row in default_pack().rules.values())

    assert find_warnings(default_pack(), instant(f"{newest}T12:00:00Z") + DAY) == []


def test_a_number_that_could_be_anywhere_has_every_zone_of_its_country() -> None:
    found = look_up(
        default_pack(), at=instant("2026-12-01T12:00:00Z"), country="US", number=read_number("+18005550100", "US")
    )

    assert {"America/New_York", "Pacific/Honolulu"} <= set(found.zones)
    assert not found.is_allowed
