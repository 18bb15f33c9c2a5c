"""Can `make planted` say `found` of a defect that no test shows? A small project has a defect and tests, good and bad."""

import subprocess
from pathlib import Path

import pytest

from tests.planted.__main__ import PlantedTrial
from tests.planted.patch import Finder, Patch

THING = "def double(number):\n    return number * 2\n"
TESTS = """
import pytest
from thing import double

def test_a_number_is_doubled():
    assert double(2) == 4, "two are not doubled"

def test_a_number_is_doubled_and_much_is_said():
    assert double(2) == 4, "\\n".join(["and so on"] * 100 + ["two are not doubled"])

def test_a_number_is_an_integer():
    assert isinstance(double(2), int)

def test_it_is_another_day():
    pytest.fail("two are not doubled, whatever the code does")

@pytest.fixture
def doubled():
    assert double(2) == 4, "two are not doubled"

def test_of_what_was_doubled(doubled):
    pass
"""
WRONG_FACTOR = "    return number * 3"
NO_IMPORT = "    return number * 2\n+raise ImportError('two are not doubled')"
SAYS = "two are not doubled"


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one function and its tests, which need no plugin but the one that knows `-n`."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "xdist.plugin")
    folder = tmp_path / "clone"
    folder.mkdir()
    (folder / "thing.py").write_text(THING)
    (folder / "test_thing.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / ".gitignore").write_text("__pycache__\n")
    for command in (["git", "init", "-q"], ["git", "add", "-A"]):
        subprocess.run(command, cwd=folder, check=True)
    return folder


def planted(clone: Path, test: str, *, words: str = SAYS, by: str = WRONG_FACTOR) -> str | None:
    """Return what is said of a defect that replaces the second line, and that a test should show by its words."""
    path = clone.parent / "defect.patch"
    lines = f"@@ -1,2 +1,{2 + by.count(chr(10))} @@\n def double(number):\n-    return number * 2\n+{by}\n"
    path.write_text(f"diff --git a/thing.py b/thing.py\n--- a/thing.py\n+++ b/thing.py\n{lines}")
    found = PlantedTrial(clone).attempt(Patch(path, "A number is not doubled.", (Finder(f"test_thing.py::{test}", words),)))
    assert (clone / "thing.py").read_text() == THING, "the defect is still there"
    return found


@pytest.mark.parametrize("test", ["test_a_number_is_doubled", "test_a_number_is_doubled_and_much_is_said"])
def test_a_defect_that_a_test_shows_by_its_words_is_found(clone: Path, test: str) -> None:
    assert planted(clone, test) is None


def test_a_defect_survives_a_test_that_passes(clone: Path) -> None:
    assert planted(clone, "test_a_number_is_an_integer") == "SURVIVED test_thing.py::test_a_number_is_an_integer"


@pytest.mark.parametrize(
    ("test", "words", "by", "reason"),
    [
        ("test_a_number_is_doubled", "three are not doubled", WRONG_FACTOR, "fails without the words"),
        ("test_a_number_is_doubled", "def test_a_number", WRONG_FACTOR, "fails without the words"),
        ("test_it_is_another_day", SAYS, WRONG_FACTOR, "does not pass without the defect either"),
        ("test_a_number_is_doubled", SAYS, NO_IMPORT, "could not be run"),
        ("test_of_what_was_doubled", SAYS, WRONG_FACTOR, "could not be run"),
        ("test_that_nobody_wrote", SAYS, WRONG_FACTOR, "could not be run"),
    ],
    ids=["other words", "words of the test", "fails anyway", "no import", "no fixture", "no test"],
)
def test_a_test_that_fails_for_another_reason_proves_nothing(
    clone: Path, test: str, words: str, by: str, reason: str
) -> None:
    said = planted(clone, test, words=words, by=by)

    assert said is not None
    assert said.startswith("NOT PROVEN")
    assert reason in said


def test_a_failure_whose_words_are_not_named_proves_nothing(clone: Path) -> None:
    said = planted(clone, "test_a_number_is_doubled", words="")

    assert said is not None
    assert "does not say by which words" in said


def test_a_patch_that_changes_nothing_or_no_longer_applies_is_no_defect(clone: Path) -> None:
    same = planted(clone, "test_a_number_is_doubled", by="    return number * 2")
    (clone / "thing.py").write_text(moved := THING.replace("double", "twice"))
    path = clone.parent / "defect.patch"
    subprocess.run(["git", "add", "-A"], cwd=clone, check=True)
    gone = PlantedTrial(clone).attempt(Patch(path, "A number is not doubled.", (Finder("test_thing.py::test_x", SAYS),)))

    assert same == "changes nothing in the clone"
    assert gone is not None
    assert gone.startswith("no longer applies")
    assert (clone / "thing.py").read_text() == moved
