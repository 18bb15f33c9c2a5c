"""Which commit subjects does the commit-msg hook take? And does the pre-commit configuration check what CI checks?"""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "deploy/check_subject.py"


@pytest.fixture(scope="module")
def check() -> ModuleType:
    """Load the hook's script."""
    spec = importlib.util.spec_from_file_location("check_subject", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "message",
    [
        "Fence commands of a deleted lead",
        "Fence commands of a deleted lead\n\nThey were sent after the deletion.\n",
        "# a comment of git's\nFence commands of a deleted lead\n# another\n",
        "É" * 72,
        'Revert "a subject of somebody else that is much longer than seventy-two characters in all"',
        "fixup! fence commands",
        "Merge branch 'x'",
    ],
)
def test_a_good_subject_passes(check: ModuleType, message: str) -> None:
    assert check.find_faults(message) == []


@pytest.mark.parametrize(
    ("message", "word"),
    [
        ("", "Write"),
        ("\n# only a comment\n", "Write"),
        ("F" * 73, "72"),
        ("fence commands", "capital"),
        ("Fence commands.", "full stop"),
        ("Fence commands\nof a lead", "blank line"),
    ],
)
def test_a_bad_subject_is_refused_with_what_to_do(check: ModuleType, message: str, word: str) -> None:
    assert any(word in fault for fault in check.find_faults(message))


def test_the_hook_exits_with_1_where_the_subject_is_bad(tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("bad.")
    (tmp_path / "good").write_text("Good")
    codes = {
        name: subprocess.run([sys.executable, SCRIPT, tmp_path / name], capture_output=True, check=False).returncode
        for name in ("bad", "good")
    }
    assert codes == {"bad": 1, "good": 0}


def test_pre_commit_runs_every_check_of_make_lint() -> None:
    makefile = (ROOT / "Makefile").read_text()
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert recipe
    checks = {line.replace("@$(BIN)/", ".venv/bin/").strip() for line in recipe[1].splitlines()}
    entries = set(re.findall(r"^ +entry: (.*)$", (ROOT / ".pre-commit-config.yaml").read_text(), re.MULTILINE))
    assert checks <= entries
