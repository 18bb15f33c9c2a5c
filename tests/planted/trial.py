"""Does a test find one planted defect? It fails with the defect, by the words of the patch, and passes without it.

The clone holds what git would commit, uncommitted changes too. A defect is found where every test that its header names
shows it.
"""

import os
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

from msgspec import Struct

from tests.planted.patch import ROOT, Finder, Patch, apply

SIMULATION = "tests/simulation/"
SEEDS = ("0-10", "10-50", "50-100", "100-150", "150-200")
"""Simulated runs in which a defect must show, portion by portion: most show in the first ten."""

TEST_SECONDS_MAX = 1_800.0
"""Of one named test: the slowest takes two minutes on an idle machine."""

PASSED = 0
FAILED = 1
"""Exit statuses of pytest: with another one it has run no test, or not to its end."""

IGNORED = ("LEADCLOCK_SEED", "PYTEST_ADDOPTS")
"""Variables that would run other tests, or other seeds, than those that are asked for."""

PACKAGES = ("adapters", "engine", "schemas", "tests")


class Ran(Struct, frozen=True):
    """How pytest ended, and the message of each test that failed (an error of collection or of a fixture is none)."""

    status: int
    failures: tuple[str, ...]


class PlantedTrial:
    """Plants defects in one clone, one after the other. `passing` is shared by the clones of one run.

    `passing` maps a test and its seeds to what is wrong with it without any defect, empty where it passes.
    """

    def __init__(self, clone: Path, passing: dict[tuple[str, str], str] | None = None) -> None:
        self.clone = clone
        self._passing = {} if passing is None else passing

    def attempt(self, patch: Patch) -> str | None:
        """Plant a defect and take it out again; return what is wrong, None where each of its tests finds it."""
        if not patch.finders:
            return "names no test"
        for finder in patch.finders:
            if not finder.words:
                return f"does not say by which words {finder.test} shows it"
            seeds, problem = self._planted(patch, finder)
            problem = problem or self._without(finder.test, seeds)
            if problem:
                return problem
        return None

    def _planted(self, patch: Patch, finder: Finder) -> tuple[str, str]:
        """Run a test with the defect; return the seeds that show it and no problem, or a problem."""
        refusal = apply(patch, self.clone)
        if refusal:
            return "", f"no longer applies: {refusal}"
        try:
            return self._find(finder) if changed(self.clone) else ("", "changes nothing in the clone")
        finally:
            taken_out = apply(patch, self.clone, "--reverse")
            assert not taken_out, taken_out
            assert not changed(self.clone), changed(self.clone)

    def _find(self, finder: Finder) -> tuple[str, str]:
        others: tuple[str, ...] = ()
        for seeds in SEEDS if finder.test.startswith(SIMULATION) else SEEDS[:1]:
            ran = run(finder.test, self.clone, seeds=seeds)
            if ran.status == PASSED:
                continue
            if ran.status != FAILED or not ran.failures:
                return "", f"NOT PROVEN: {finder.test} could not be run: pytest ends with {ran.status}"
            if any(finder.words in message for message in ran.failures):
                return seeds, ""
            others = others or ran.failures
        if others:
            return "", f"NOT PROVEN: {finder.test} fails without the words `{finder.words}`:\n{others[0][:1_500]}"
        return "", f"SURVIVED {finder.test}"

    def _without(self, test: str, seeds: str) -> str:
        """Return what is wrong where the same test, with the same seeds, does not pass without any defect."""
        if (test, seeds) not in self._passing:
            ran = run(test, self.clone, seeds=seeds)
            wrong = f"NOT PROVEN: {test} does not pass without the defect either (pytest ends with {ran.status})"
            self._passing[test, seeds] = "" if ran.status == PASSED else "\n".join([wrong, *ran.failures])[:1_500]
        return self._passing[test, seeds]


def copy(clone: Path) -> None:
    """Copy what belongs to the checkout, as it is now, into a repository of its own; `.venv` is the checkout's."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, clone / name)
    for command in (["git", "init", "-q"], ["git", "add", "-A"]):  # tests ask git which files there are
        subprocess.run(command, cwd=clone, check=True)
    (clone / ".venv").symlink_to(ROOT / ".venv")


def changed(clone: Path) -> str:
    """Return which files of the clone differ from what was copied."""
    done = subprocess.run(["git", "diff", "--name-only"], cwd=clone, capture_output=True, text=True, check=True)
    return done.stdout


def check_imports(clone: Path) -> None:
    """Raise `RuntimeError` where tests in the clone would import the code of the checkout, which has no defect."""
    program = f"import {', '.join(PACKAGES)}; print({', '.join(f'{name}.__path__[0]' for name in PACKAGES)}, sep='\\n')"
    done = subprocess.run(
        [python(), "-c", program], cwd=clone, env=environment(clone), capture_output=True, text=True, check=True
    )
    strays = [path for path in done.stdout.splitlines() if not Path(path).is_relative_to(clone)]
    if strays:
        raise RuntimeError(f"Python imports from {strays[0]} instead of the clone: no defect there would be met.")


def run(test: str, clone: Path, *, seeds: str) -> Ran:
    """Run a test in the clone, up to its first case that fails."""
    report = clone.parent / "report.xml"
    report.unlink(missing_ok=True)
    command = [python(), "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", f"--junitxml={report}", test]
    given = environment(clone) | {"LEADCLOCK_SEEDS": seeds}
    try:
        done = subprocess.run(
            command, cwd=clone, env=given, capture_output=True, text=True, timeout=TEST_SECONDS_MAX, check=False
        )
    except subprocess.TimeoutExpired:
        return Ran(FAILED, ())
    failures = _failures(report) if report.exists() else ()
    if done.returncode != PASSED and not failures:
        print(done.stdout[-3_000:], done.stderr[-3_000:])  # noqa: T201
    return Ran(done.returncode, failures)


def _failures(report: Path) -> tuple[str, ...]:
    """Return what each failure says: of its text, which quotes the test too, the lines of the exception."""
    cases = ET.parse(report).iter("failure")  # noqa: S314 - pytest has just written it
    texts = [(case.text or "").splitlines() for case in cases]
    return tuple("\n".join(line[1:].strip() for line in lines if line.startswith("E ")) for lines in texts)


def python() -> str:
    """Return the interpreter of the checkout."""
    return str(ROOT / ".venv/bin/python")


def environment(clone: Path) -> dict[str, str]:
    """Return the environment in which Python imports from the clone."""
    kept = {name: value for name, value in os.environ.items() if name not in IGNORED}
    return kept | {"PYTHONPATH": str(clone), "PYTHONDONTWRITEBYTECODE": "1"}
