"""Does the suite use the machine, and does it find what a test leaves behind?"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.distribution import count_workers, order_units, unit_of

ROOT = Path(__file__).parent.parent

GIGABYTE = 1_000_000_000

LEAK = """
import socket

def test_leak():
    circle = [socket.socket()]
    circle.append(circle)

def test_later():
    pass
"""


@pytest.mark.parametrize(
    ("cores", "gigabytes", "workers"),
    [(1, 24, 2), (2, 24, 3), (4, 24, 6), (8, 64, 12), (8, 24, 12), (8, 12, 7), (2, 6, 2), (2, 3, 1), (1, 1, 1)],
)
def test_workers_are_three_for_two_cores_as_far_as_memory_goes(cores: int, gigabytes: int, workers: int) -> None:
    assert count_workers(cores, gigabytes * GIGABYTE) == workers


def test_the_longest_unit_begins_first() -> None:
    durations = {"tests/test_b.py": 9.0, "tests/test_c.py": 90.0}

    assert order_units(["tests/test_a.py", "tests/test_b.py", "tests/test_c.py"], durations) == [
        *("tests/test_c.py", "tests/test_b.py", "tests/test_a.py")
    ]


def test_a_file_stays_together_but_for_those_whose_tests_share_nothing() -> None:
    assert unit_of("tests/api/test_docs.py::test_x[a::b]") == "tests/api/test_docs.py"
    assert unit_of("tests/test_style.py::test_x[types]") == "tests/test_style.py::test_x[types]"


def test_what_a_file_leaves_open_fails_it_though_nothing_else_collects_garbage(tmp_path: Path) -> None:
    file = tmp_path / "test_leak.py"
    file.write_text(LEAK)
    options: list[str | Path] = [
        "-p",
        "tests.conftest",
        "-p",
        "no:cacheprovider",
        "-c",
        ROOT / "pyproject.toml",
        "--rootdir",
        ROOT,
        "-n",
        "0",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, file], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 1, done.stdout
    assert "left open by this module" in done.stdout
    assert "2 passed, 1 error" in done.stdout
