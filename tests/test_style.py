"""Do style, format, types and the direction of imports hold? The linters say so, beside the other tests."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

LINTERS = {
    "style": ("ruff", "check"),
    "format": ("ruff", "format", "--check"),
    "types": ("mypy",),
    "direction of imports": ("lint-imports", "--no-logo"),
}


@pytest.mark.parametrize("command", LINTERS.values(), ids=LINTERS)
def test_a_linter_finds_nothing(command: tuple[str, ...]) -> None:
    program, *arguments = command
    done = subprocess.run(
        [Path(sys.executable).with_name(program), *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
