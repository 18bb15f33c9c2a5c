"""Is the version of the decision rules a table without gaps, and does every running partition adopt it?"""

from pathlib import Path

import pytest

from engine.decision_rules import VERSION, VERSION_NAME, VERSIONS, release_of, version_of, with_version


def test_the_table_names_every_version_from_the_first_one() -> None:
    assert list(VERSIONS) == list(range(1, VERSION + 1))
    assert all(row.changed and row.decided_by for row in VERSIONS.values())


def test_a_history_that_records_no_version_was_decided_by_the_first_one() -> None:
    assert version_of({}) == version_of({"leadclock": "0.1.0"}) == 1
    assert version_of(with_version({"leadclock": "0.1.0"})) == VERSION


def test_a_version_that_is_no_number_is_an_error() -> None:
    with pytest.raises(ValueError, match="second"):
        version_of({VERSION_NAME: "second"})


def test_the_auditors_page_holds_the_table() -> None:
    page = (Path(__file__).parents[2] / "deploy/docs/auditors.md").read_text()

    assert all(f"| {number} | {row.changed} | {row.decided_by} |" in page for number, row in VERSIONS.items())


def test_a_newer_version_is_named_by_the_release_that_recorded_it() -> None:
    assert release_of(1, {"leadclock": "0.1.0"}) == VERSIONS[1].decided_by
    assert release_of(VERSION + 1, {"leadclock": "9.9"}) == "leadclock 9.9"
