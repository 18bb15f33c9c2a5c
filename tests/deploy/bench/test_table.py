"""Do the figures come out as they were measured? No test here measures anything."""

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from rich.console import Console

from deploy.bench.command import bench, table
from deploy.bench.peers import PINS, run_program
from deploy.bench.row import BenchError, Row, Runs, quantile, row
from deploy.bench.stage import Stage
from deploy.bench.submissions import requests, rule_records
from deploy.bench.table import MEASURES, Measure, run, write
from engine.contact.aggregate import ContactAggregate
from engine.partition.decider import Decider
from engine.partition.ports import LogRecord
from engine.partition.state import State
from engine.rules import Rules
from schemas.decisions import Position
from schemas.instant import EPOCH, Instant

STAGE = Stage("nowhere:9092", "postgresql://nowhere", Path("nowhere"), Path("nowhere"))


def some_row(name: str = "decisions", ours: float = 30.0, baseline: float = 100.0, goal: str = ">= 0.3") -> Row:
    return row(name, Runs(ours=[ours], baseline=[baseline]), goal=goal, unit="submissions/s")


def measure_of(*rows: Row) -> Measure:
    async def measure(_stage: Stage, _say: object) -> list[Row]:
        return list(rows)

    return measure


def test_a_row_is_the_ratio_of_the_medians() -> None:
    found = row("x", Runs(ours=[1.0, 50.0, 3.0], baseline=[2.0, 6.0, 100.0]), goal=">= 0.5", unit="rows/s")
    assert (found.ours, found.baseline, found.ratio) == (3.0, 6.0, 0.5)


@pytest.mark.parametrize(
    ("ratio", "goal", "is_met"),
    [(0.3, ">= 0.3", True), (0.29, ">= 0.3", False), (2.0, "<= 2", True), (2.01, "<= 2", False)],
)
def test_a_goal_says_which_side_is_better(ratio: float, goal: str, is_met: bool) -> None:
    assert some_row(ours=ratio, baseline=1.0, goal=goal).is_met is is_met


def test_a_bound_of_its_own_needs_no_baseline() -> None:
    found = row("memory", Runs(ours=[590.0]), goal="<= 600", unit="bytes/lead")
    assert (found.baseline, found.ratio, found.is_met) == (None, 590.0, True)


def test_a_row_without_a_measurement_is_no_row() -> None:
    with pytest.raises(BenchError):
        row("x", Runs(), goal=">= 1", unit="rows/s")


def test_the_slowest_hundredth_of_few_is_the_slowest() -> None:
    assert quantile([5.0, 1.0, 3.0], 0.99) == 5.0
    assert quantile([float(number) for number in range(1, 101)], 0.5) == 51.0


def test_what_is_measured_again_replaces_its_row_and_keeps_the_others(tmp_path: Path) -> None:
    path = tmp_path / "bench" / "bench.json"
    write(path, [some_row("a"), some_row("b", ours=10.0)])
    write(path, [some_row("b", ours=60.0)])
    kept = msgspec.json.decode(path.read_bytes())
    assert [(one["name"], one["ours"]) for one in kept] == [("a", 30.0), ("b", 60.0)]
    assert set(kept[0]) == {"name", "ours", "baseline", "ratio", "goal", "unit", "runs"}


async def test_a_row_that_fails_does_not_keep_the_others_from_being_measured() -> None:
    async def fails(_stage: Stage, _say: object) -> list[Row]:
        raise BenchError("the peer is not there")

    rows, failures = await run(STAGE, ["a", "b"], print, {"a": fails, "b": measure_of(some_row("b"))})
    assert [one.name for one in rows] == ["b"]
    assert [(one.name, one.reason) for one in failures] == [("a", "the peer is not there")]


async def test_rows_that_come_together_are_measured_once() -> None:
    both = measure_of(some_row("growth"), some_row("restore"))
    rows, _ = await run(STAGE, ["growth", "restore"], print, {"growth": both, "restore": both})
    assert [one.name for one in rows] == ["growth", "restore"]


def test_the_table_shows_the_ratio_beside_its_goal() -> None:
    console = Console(width=120, record=True, file=None, quiet=False)
    with console.capture() as capture:
        console.print(table([some_row()]))
    assert "0.3" in capture.get()
    assert ">= 0.3" in capture.get()


def test_an_unknown_row_is_refused_with_those_there_are() -> None:
    result = CliRunner().invoke(bench, ["--only", "everything"])
    assert result.exit_code == 2
    assert all(name in result.output for name in MEASURES)


async def test_a_peer_that_fails_says_why() -> None:
    with pytest.raises(BenchError, match="No module named nothing"):
        await run_program(["python3", "-m", "nothing"], seconds=30.0)


@pytest.mark.parametrize("name", ["quixstreams", "procrastinate"])
def test_every_package_of_a_peer_is_pinned_with_hashes_and_none_says_where_it_comes_from(name: str) -> None:
    lines = (PINS / f"{name}.lock").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith((" ", "#"))]
    assert pins
    assert all("==" in line and line.endswith("\\") for line in pins)
    assert not any("index-url" in line or "://" in line for line in lines)


def test_what_is_measured_is_decided_and_planned() -> None:
    rules = Rules()
    for rule in rule_records():
        rules.apply(0, rule)
    decider = Decider(ContactAggregate(), 0, State(), rules, Position())
    for offset, one in enumerate(requests(6, 1)[0]):
        sealed = decider.request(
            LogRecord(one.topic, 0, offset, one.key, one.value, one.headers, EPOCH), Instant(1_784_131_200_000)
        )
        assert sealed.decision.verdict == "done"
        assert [fact.type for fact in sealed.decision.facts] == ["lead.submitted", "lead.created", "lead.waiting"]
