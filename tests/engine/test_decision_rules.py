"""Is the version of the decision rules a table without gaps, and does every running partition adopt it?"""

from pathlib import Path

import pytest

from engine import decision_rules
from engine.decision_rules import VERSION_NAME, VERSIONS, release_of, version_of, with_version
from tests.engine.other_rules import MADE_UP, make_up_version


@pytest.fixture(params=["this code", "a made-up version"])
def version(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The version that decides: that of this code, or one after it."""
    return decision_rules.VERSION if request.param == "this code" else make_up_version(monkeypatch)


def test_the_table_names_every_version_from_the_first_one(version: int) -> None:
    assert list(decision_rules.VERSIONS) == list(range(1, version + 1))
    assert all(row.changed and row.decided_by for row in decision_rules.VERSIONS.values())


def test_a_process_adopts_the_version_beside_those_of_its_data(version: int) -> None:
    adopted = with_version({"leadclock": "0.1.0"})
    assert adopted == {"leadclock": "0.1.0", VERSION_NAME: str(version)}
    assert version_of(adopted) == version


def test_before_an_adoption_no_version_is_known() -> None:
    assert version_of({}) is version_of({"leadclock": "0.1.0"}) is None


def test_a_version_that_is_no_number_is_an_error() -> None:
    with pytest.raises(ValueError, match="second"):
        version_of({VERSION_NAME: "second"})


def test_the_auditors_page_holds_the_table() -> None:
    page = (Path(__file__).parents[2] / "deploy/docs/auditors.md").read_text()

    assert all(f"| {number} | {row.changed} | {row.decided_by} |" in page for number, row in VERSIONS.items())


def test_a_version_of_the_table_is_named_by_its_row_and_a_newer_one_by_the_release_that_recorded_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert release_of(1, {"leadclock": "0.0.9"}) == VERSIONS[1].decided_by
    assert release_of(decision_rules.VERSION + 1, {"leadclock": "9.9"}) == "leadclock 9.9"
    version = make_up_version(monkeypatch)
    assert release_of(version, {"leadclock": "9.9"}) == MADE_UP.decided_by
    assert release_of(1, {"leadclock": "9.9"}) == VERSIONS[1].decided_by
