"""How long may something take on this machine? Bounds in real time follow how fast it is, and how many workers share it.

A bound is what a good machine needs many times over; nothing waits for it to pass, so a generous one costs a failing test
alone. The run measures once, before any worker starts: how long a Python process takes to start and end.
"""

import os
import subprocess
import sys
import time

PACE_VARIABLE = "PACE_OF_LEADCLOCK_TESTS"
"""Set by the run itself and inherited by its workers; a command refuses unknown names that begin as its settings do."""

START_SECONDS = 0.15
"""What starting Python with asyncio takes on a machine for which the bounds were chosen."""

STARTS = 3


def measure_pace(workers_per_core: float) -> float:
    """Return by how much bounds are stretched: 1 on a fast machine whose workers have a core each."""
    fastest = min(_start_seconds() for _ in range(STARTS))
    return max(1.0, fastest / START_SECONDS) * max(1.0, workers_per_core)


def bound(seconds: float) -> float:
    """Return a bound that a fast machine keeps easily, stretched for this one."""
    return seconds * float(os.environ.get(PACE_VARIABLE, "1"))


def _start_seconds() -> float:
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import asyncio"], check=True)
    return time.monotonic() - began
