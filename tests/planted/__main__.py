"""Would the tests find each planted defect? Apply each to a clone of this checkout and run the tests that should.

`python -m tests.planted [NAME …]`: all patches of this folder, or those. The clone holds what git would commit, uncommitted
changes too. A defect is found where every test that its header names fails. Exit status 1: a defect survived, a patch no
longer applies, or a named test fails without any defect.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.planted.patch import ROOT, Patch, apply, patches

SEEDS = "200"
"""Simulated runs in which a defect must show; the first fifty are enough for most, and the tests stop there."""

CONTROL_SEEDS = "50"
TEST_SECONDS_MAX = 1_800.0
"""Of one named test: the slowest takes two minutes on an idle machine."""

FAILED = 1
"""Exit status of pytest where tests failed."""


def main(names: list[str]) -> int:
    """Try each patch; print a line for each, and then what is wrong."""
    chosen = patches(names)
    with tempfile.TemporaryDirectory(prefix="leadclock-planted-") as folder:
        clone = Path(folder) / "clone"
        copy(clone)
        problems = control(chosen, clone)
        for patch in chosen if not problems else []:
            began = time.monotonic()
            problem = attempt(patch, clone)
            verdict = "found" if problem is None else problem
            print(f"{patch.name}: {verdict} ({time.monotonic() - began:.0f} s)", flush=True)  # noqa: T201
            if problem is not None:
                problems.append(f"{patch.name}: {problem}\n    {patch.defect}")
    if problems:
        print("\n" + "\n".join(problems))  # noqa: T201
        return 1
    print(f"\nAll of {len(chosen)} planted defects were found.")  # noqa: T201
    return 0


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


def control(chosen: list[Patch], clone: Path) -> list[str]:
    """Return which named tests fail although nothing is planted: they would prove nothing."""
    tests = sorted({test for patch in chosen for test in patch.tests})
    status, failures = run(tests, clone, seeds=CONTROL_SEEDS)
    if status == 0:
        return []
    return [f"The tests do not pass without a defect (pytest ends with {status}): {', '.join(failures) or 'see above'}"]


def attempt(patch: Patch, clone: Path) -> str | None:
    """Plant a defect and take it out again; return what is wrong, None where each of its tests finds it."""
    if not patch.tests:
        return "names no test"
    refusal = apply(patch, clone)
    if refusal:
        return f"no longer applies: {refusal}"
    try:
        for test in patch.tests:
            status, failures = run([test], clone, seeds=SEEDS)
            if status == 0:
                return f"SURVIVED {test}"
            if status != FAILED or not failures:
                return f"{test} could not be run: pytest ends with {status}"
    finally:
        taken_out = apply(patch, clone, "--reverse")
        assert not taken_out, taken_out
    return None


def run(tests: list[str], clone: Path, *, seeds: str) -> tuple[int, list[str]]:
    """Run tests in the clone up to the first that fails; return pytest's status, and the failures (not errors) by name."""
    report = clone.parent / "report.xml"
    report.unlink(missing_ok=True)
    command = [str(ROOT / ".venv/bin/python"), "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
    given = os.environ | {"PYTHONPATH": str(clone), "PYTHONDONTWRITEBYTECODE": "1", "LEADCLOCK_SEEDS": seeds}
    try:
        done = subprocess.run(
            [*command, f"--junitxml={report}", *tests],
            cwd=clone,
            env=given,
            capture_output=True,
            text=True,
            timeout=TEST_SECONDS_MAX * len(tests),
            check=False,
        )
    except subprocess.TimeoutExpired:
        return FAILED, []
    failures = [] if not report.exists() else _failures(report)
    if done.returncode != 0 and not failures:
        print(done.stdout[-3_000:], done.stderr[-3_000:])  # noqa: T201
    return done.returncode, failures


def _failures(report: Path) -> list[str]:
    cases = ET.parse(report).iter("testcase")  # noqa: S314 - pytest has just written it
    return [f"{case.get('classname')}::{case.get('name')}" for case in cases if case.find("failure") is not None]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
