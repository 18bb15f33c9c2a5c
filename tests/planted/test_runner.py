"""Can `make planted` say `found` of a defect that no test shows? A small project has a defect and tests, good and bad."""

import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.planted.__main__ import NOT_TRIED, PlantedTrials, report
from tests.planted.found import FoundDefects
from tests.planted.patch import Finder, Patch
from tests.planted.trial import PlantedTrial

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


def defect(clone: Path, test: str, *, words: str = SAYS, by: str = WRONG_FACTOR, name: str = "defect") -> Patch:
    """Return a defect that replaces the second line, and that a test should show by its words."""
    path = clone.parent / f"{name}.patch"
    lines = f"@@ -1,2 +1,{2 + by.count(chr(10))} @@\n def double(number):\n-    return number * 2\n+{by}\n"
    path.write_text(f"diff --git a/thing.py b/thing.py\n--- a/thing.py\n+++ b/thing.py\n{lines}")
    return Patch(path, "A number is not doubled.", (Finder(f"test_thing.py::{test}", words),))


def planted(clone: Path, test: str, *, words: str = SAYS, by: str = WRONG_FACTOR) -> str | None:
    """Return what is said of a defect that replaces the second line, and that a test should show by its words."""
    found = PlantedTrial(clone).attempt(defect(clone, test, words=words, by=by))
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


def test_two_clones_try_defects_at_once_and_the_table_says_what_came_of_each(
    clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = shutil.copytree(clone, clone.parent / "other" / "clone")
    good, bad = (defect(clone, test, name=test) for test in ("test_a_number_is_doubled", "test_a_number_is_an_integer"))
    found = FoundDefects(clone.parent / "found.json", clone)
    results = PlantedTrials([PlantedTrial(clone), PlantedTrial(other)], time.monotonic() + 600.0).run([good, bad], found)

    assert report(results) == 1
    table = capsys.readouterr().out.partition("defect")[2]
    assert re.search(r"test_a_number_is_doubled +\d+  found\n", table)
    assert re.search(r"test_a_number_is_an_integer +\d+  SURVIVED test_thing.py::test_a_number_is_an_integer\n", table)
    assert "1 of 2 planted defects were NOT found." in table
    assert report([result for result in results if result.patch == good]) == 0


def test_what_was_found_is_left_out_until_a_file_or_the_patch_changes(clone: Path) -> None:
    good, bad = (defect(clone, test, name=test) for test in ("test_a_number_is_doubled", "test_a_number_is_an_integer"))
    kept = clone.parent / "kept" / "found.json"
    PlantedTrials([PlantedTrial(clone)], time.monotonic() + 600.0).run([good, bad], FoundDefects(kept, clone))

    resumed = FoundDefects(kept, clone)
    assert (resumed.has(good), resumed.has(bad)) == (True, False)
    defect(clone, "test_a_number_is_doubled", name="test_a_number_is_doubled", by="    return number * 5")
    assert not resumed.has(good)
    defect(clone, "test_a_number_is_doubled", name="test_a_number_is_doubled")
    assert resumed.has(good)
    (clone / "thing.py").write_text(THING + "\n")
    subprocess.run(["git", "add", "-A"], cwd=clone, check=True)
    assert not FoundDefects(kept, clone).has(good)


def test_a_defect_that_was_not_tried_in_time_is_not_found(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = defect(clone, "test_a_number_is_doubled")
    kept = FoundDefects(clone.parent / "found.json", clone)
    results = PlantedTrials([PlantedTrial(clone)], time.monotonic() - 1.0).run([good], kept)

    assert report(results) == 1
    assert NOT_TRIED in capsys.readouterr().out
    assert not kept.has(good)
