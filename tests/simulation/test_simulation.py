"""Are the promises kept, whatever breaks and whenever? Each seed is one deployment, its traffic, weather and crashes.

There are three kinds of runs: with real gateways, at half the cost with an actor that carries out and never fails, and with
topics that are lost, cut, or laid back from an older copy.
`LEADCLOCK_SEEDS=5000` tries more, `LEADCLOCK_SEEDS=5000-6000` others, `LEADCLOCK_SEED=17` one, whose story is printed.
"""

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import pytest

from tests.simulation.losing import lose, try_to_lose
from tests.simulation.run import Result, simulate, try_out

SEEDS_BY_DEFAULT = "1000"
GATEWAY_SEEDS_BY_DEFAULT = "100"
LOSING_SEEDS_BY_DEFAULT = "60"
CHUNK = 50
WORKERS_MAX = 2
STORY_LINES_MAX = 60

Try = Callable[[int], Result]
Tried = Callable[[Try, Sequence[int]], Iterable[Result]]


def seeds(by_default: str = SEEDS_BY_DEFAULT) -> list[int]:
    """Return the seeds that were asked for."""
    one = os.environ.get("LEADCLOCK_SEED")
    if one:
        return [int(one)]
    first, dash, behind = os.environ.get("LEADCLOCK_SEEDS", by_default).partition("-")
    return list(range(int(first), int(behind))) if dash else list(range(int(first)))


def chunks(by_default: str = SEEDS_BY_DEFAULT) -> list[list[int]]:
    """Return the seeds in the portions in which they are tried."""
    wanted = seeds(by_default)
    return [wanted[start : start + CHUNK] for start in range(0, len(wanted), CHUNK)]


@pytest.fixture(scope="session")
def tried() -> Iterator[Tried]:
    """Tries seeds side by side; a worker of pytest-xdist, which has brothers, tries them itself."""
    if "PYTEST_XDIST_WORKER" in os.environ or len(seeds()) == 1:
        yield lambda attempt, wanted: [attempt(seed) for seed in wanted]
        return
    workers = min(WORKERS_MAX, os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield lambda attempt, wanted: pool.map(attempt, wanted, chunksize=5)


def describe_failure(result: Result, kind: str) -> str:
    """Return what a failed run has to say, and the line that runs it again."""
    again = f"LEADCLOCK_SEED={result.seed} .venv/bin/pytest tests/simulation/test_simulation.py -k {kind}"
    found = "\n".join(f"  - {finding}" for finding in result.findings)
    return f"\nseed {result.seed} ({result.kills} kills, {result.decisions} decisions), again by: {again}\n{found}"


@pytest.mark.parametrize("wanted", chunks(), ids=lambda wanted: f"{wanted[0]}-{wanted[-1]}")
def test_every_promise_is_kept_in_every_simulated_run(wanted: list[int], tried: Tried) -> None:
    judge(list(tried(try_out, wanted)), "in_every_simulated_run")


@pytest.mark.parametrize("wanted", chunks(GATEWAY_SEEDS_BY_DEFAULT), ids=lambda wanted: f"{wanted[0]}-{wanted[-1]}")
def test_every_promise_is_kept_where_real_gateways_carry_out(wanted: list[int], tried: Tried) -> None:
    judge(list(tried(partial(try_out, has_gateways=True), wanted)), "real_gateways")


@pytest.mark.parametrize("wanted", chunks(LOSING_SEEDS_BY_DEFAULT), ids=lambda wanted: f"{wanted[0]}-{wanted[-1]}")
def test_every_promise_is_kept_where_topics_are_lost_and_settled(wanted: list[int], tried: Tried) -> None:
    judge(list(tried(try_to_lose, wanted)), "topics_are_lost")


def judge(results: list[Result], kind: str) -> None:
    """Fail with what broken runs have to say; show the story where there is one only."""
    failed = [result for result in results if result.findings]
    if len(results) == 1:
        print("\n".join(results[0].story[-STORY_LINES_MAX:]))  # noqa: T201 - shown with the failure
    assert not failed, "".join(describe_failure(result, kind) for result in failed)


@pytest.mark.parametrize("has_gateways", [False, True])
def test_the_runs_are_worth_their_name(has_gateways: bool) -> None:
    results = [simulate(seed, has_gateways=has_gateways) for seed in range(30)]

    assert sum(result.commands for result in results) > 100
    assert sum(result.kills for result in results) > 20
    assert all(result.decisions > 10 for result in results)


def test_the_runs_with_losses_are_worth_their_name() -> None:
    stories = ["\n".join(lose(seed).story) for seed in range(30)]

    for words in (
        "is made again",
        "is emptied",
        "is cut",
        "is older copy",
        "while processes run",
        "settled contacts.requests",
    ):
        assert any(words in story for story in stories), words
    assert any("the operator stops everything" not in story for story in stories), "some lose nothing"


@pytest.mark.parametrize("has_gateways", [False, True])
def test_a_seed_tells_the_same_story_in_every_process(has_gateways: bool) -> None:
    attempt = partial(simulate, has_gateways=has_gateways)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        elsewhere = list(pool.map(attempt, range(5)))

    assert elsewhere == [attempt(seed) for seed in range(5)]
