"""Which worker runs which tests, and in which order? A file goes to one worker; long files begin first.

A worker runs one file after another, so a long file that begins last keeps all others waiting: `durations.json` says how
long each took when it was last written (`pytest --write-durations`). A wrong duration costs time and no check.
Half of the workers begin with files that mostly wait (for processes, time-outs, restarts), the others with those that
compute; so what waits does not wait alone at the end.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from xdist.scheduler import LoadScopeScheduling

DURATIONS = Path(__file__).with_name("durations.json")
UNKNOWN_SECONDS = 1.0
"""What most files take; a new one is not in the table yet."""

SECONDS_WRITTEN_MIN = 2.0
"""A shorter file may begin at any time."""

CORES_PER_WAITING_WORKER = 2
"""Beside a worker for each core, there is one for every two cores: tests wait for servers part of the time. With two
workers a core a whole run was not shorter, and what starts many processes came near its bounds."""

WORKER_BYTES = 1_250_000_000
"""What a worker takes with the servers that its tests start: 0.7 to 1.1 GB."""

SERVERS_BYTES = 2_500_000_000
"""What the run's broker and database take."""

WAITING = ("tests/system/", "tests/adapters/cli/", "tests/adapters/local/", "tests/api/test_servers_away.py")
"""Folders and files whose tests mostly wait for processes that they start."""

DIVISIBLE = frozenset(
    {"tests/simulation/test_simulation.py", "tests/simulation/test_planted_faults.py", "tests/test_style.py"}
)
"""Files whose tests share nothing, and of which each test is long: they go to workers one by one."""


def count_workers(cores: int, free_bytes: int) -> int:
    """Return how many workers a machine should have: by cores, bounded by memory, at least one."""
    wanted = cores + max(1, cores // CORES_PER_WAITING_WORKER)
    return max(1, min(wanted, (free_bytes - SERVERS_BYTES) // WORKER_BYTES))


def count_own_workers() -> int:
    """Return how many workers the cores of this process (see `taskset`) and the free memory of this machine allow."""
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        rows = dict(line.split(":", 1) for line in meminfo.read_text("ascii").splitlines())
        free_bytes = int(rows["MemAvailable"].split()[0]) * 1024
    else:  # macOS: it does not say which pages are free
        free_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    return count_workers(count_cores(), free_bytes)


def count_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def unit_of(nodeid: str) -> str:
    """Return what goes to one worker as a whole: a file, or one test of a divisible file."""
    file = nodeid.partition("::")[0]
    return nodeid if file in DIVISIBLE else file


def read_durations() -> dict[str, float]:
    """Return the seconds that each unit took when they were last written."""
    return msgspec.json.decode(DURATIONS.read_bytes(), type=dict[str, float]) if DURATIONS.exists() else {}


def order_units(units: Iterable[str], durations: Mapping[str, float]) -> list[str]:
    """Return units in the order in which they begin: the longest first, equals by name."""
    return sorted(units, key=lambda unit: (-durations.get(unit, UNKNOWN_SECONDS), unit))


def estimate_minutes(durations: Mapping[str, float], workers: int) -> int:
    """Return about how many minutes a whole run takes: the sum of what its units took, over as many workers."""
    return max(1, round(sum(durations.values()) / workers / 60))


class LongestFirst(LoadScopeScheduling):  # type: ignore[misc]
    """Gives each worker the longest unit of its kind that is left, then the longest of the other kind."""

    def __init__(self, config: pytest.Config, log: Any, durations: Mapping[str, float]) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)
        self._durations = durations
        self._is_ordered = False

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        if not self._is_ordered:
            for unit in order_units(tuple(self.workqueue), self._durations):
                self.workqueue.move_to_end(unit)
            self._is_ordered = True
        prefers_waiting = self.nodes.index(node) % 2 == 1
        preferred = (unit for unit in self.workqueue if unit.startswith(WAITING) == prefers_waiting)
        unit = next(preferred, next(iter(self.workqueue)))
        self.workqueue.move_to_end(unit, last=False)
        super()._assign_work_unit(node)


class DurationsWriter:
    """Adds up what each unit took, and writes the table at the end of a run that passed."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count set-up, call and teardown of a test."""
        unit = unit_of(report.nodeid)
        self._seconds[unit] = self._seconds.get(unit, 0.0) + report.duration

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Write the units that a run should begin early."""
        if exitstatus == pytest.ExitCode.OK:
            long = {unit: round(seconds, 1) for unit, seconds in self._seconds.items() if seconds >= SECONDS_WRITTEN_MIN}
            rows = dict(sorted(long.items()))
            DURATIONS.write_bytes(msgspec.json.format(msgspec.json.encode(rows)) + b"\n")
