"""Are the promises kept, whatever breaks and whenever? Each seed is one deployment, its traffic, weather and crashes.

`LEADCLOCK_SEEDS=5000` tries more, `LEADCLOCK_SEEDS=5000-6000` others, `LEADCLOCK_SEED=17` one, whose story is printed.
"""

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.simulation.run import Result, simulate, try_out

SEEDS_BY_DEFAULT = "1000"
CHUNK = 50
WORKERS_MAX = 2
STORY_LINES_MAX = 60

Tried = Callable[[Sequence[int]], Iterable[Result]]


def seeds() -> list[int]:
    """Return the seeds that were asked for."""
    one = os.environ.get("LEADCLOCK_SEED")
    if one:
        return [int(one)]
    first, dash, behind = os.environ.get("LEADCLOCK_SEEDS", SEEDS_BY_DEFAULT).partition("-")
    return list(range(int(first), int(behind))) if dash else list(range(int(first)))


def chunks() -> list[list[int]]:
    """Return the seeds in the portions in which they are tried."""
    wanted = seeds()
    return [wanted[start : start + CHUNK] for start in range(0, len(wanted), CHUNK)]


@pytest.fixture(scope="session")
def tried() -> Iterator[Tried]:
    """Tries seeds side by side; a worker of pytest-xdist, which has brothers, tries them itself."""
    if "PYTEST_XDIST_WORKER" in os.environ or len(seeds()) == 1:
        yield lambda wanted: [try_out(seed) for seed in wanted]
        return
    workers = min(WORKERS_MAX, os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield lambda wanted: pool.map(try_out, wanted, chunksize=5)


def told(result: Result) -> str:
    """Return what a failed run has to say, and the line that runs it again."""
    again = f"LEADCLOCK_SEED={result.seed} .venv/bin/pytest tests/simulation/test_simulation.py"
    found = "\n".join(f"  - {finding}" for finding in result.findings)
    return f"\nseed {result.seed} ({result.kills} kills, {result.decisions} decisions), again by: {again}\n{found}"


@pytest.mark.parametrize("wanted", chunks(), ids=lambda wanted: f"{wanted[0]}-{wanted[-1]}")
def test_every_promise_is_kept_in_every_simulated_run(wanted: list[int], tried: Tried) -> None:
    results = list(tried(wanted))
    failed = [result for result in results if result.findings]
    if len(results) == 1:
        print("\n".join(results[0].story[-STORY_LINES_MAX:]))  # noqa: T201 - shown with the failure
    assert not failed, "".join(told(result) for result in failed)


def test_the_runs_are_worth_their_name() -> None:
    results = [simulate(seed) for seed in range(30)]

    assert sum(result.commands for result in results) > 100
    assert sum(result.kills for result in results) > 20
    assert all(result.decisions > 10 for result in results)


def test_a_seed_tells_the_same_story_in_every_process() -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        elsewhere = list(pool.map(simulate, range(5)))

    assert elsewhere == [simulate(seed) for seed in range(5)]
