"""Which rows does a bench have, and how do they run? One after the other, each alone; a row that fails gives the reason."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from adapters.local.process import LocalServerError
from deploy.bench import console, deciding, decisions, latency, lists, pending, projection, reads, replay, timers, waiting
from deploy.bench.row import BenchError, Row
from deploy.bench.stage import Stage
from engine.partition.ports import LogError

Measure = Callable[[Stage, Callable[[str], None]], Awaitable[list[Row]]]

MEASURES: dict[str, Measure] = {
    "decide": deciding.measure,
    "decisions": decisions.measure,
    "decisions_quix": decisions.measure_quix,
    "timers": timers.measure,
    "projector": projection.measure,
    "submit_to_command": latency.measure,
    "get_lead": reads.measure,
    "list_page": lists.measure,
    "reports": lists.measure,
    "console_first_paint": console.measure,
    "console_lists": console.measure,
    "console_tabs": console.measure,
    "growth": pending.measure,
    "restore": pending.measure,
    "memory": pending.measure_memory,
    "replay": replay.measure,
    "waiting": waiting.measure,
}
"""Name -> what measures it. One may give several rows: `submit_to_command` two, `growth` and `restore` come together."""


LARGE = ("list_page", "reports", "console_first_paint", "console_lists", "console_tabs")
"""The rows that `--large` measures: those that depend on the number of leads."""


class Failure(Struct, frozen=True):
    """A row that could not be measured."""

    name: str
    reason: str


async def run(
    stage: Stage, names: Sequence[str], say: Callable[[str], None], measures: Mapping[str, Measure] | None = None
) -> tuple[list[Row], list[Failure]]:
    """Measure the named rows in order; one that fails does not keep the others from being measured."""
    known = MEASURES if measures is None else measures
    rows: list[Row] = []
    failures: list[Failure] = []
    for measure, name in _once({name: known[name] for name in names}):
        try:
            rows += await measure(stage, say)
        except (BenchError, LogError, LocalServerError, OSError, TimeoutError) as error:
            failures.append(Failure(name, str(error) or type(error).__name__))
    return rows, failures


def _once(measures: Mapping[str, Measure]) -> list[tuple[Measure, str]]:
    """Return each measure once, with the first name that asks for it."""
    first: dict[Measure, str] = {}
    for name, measure in measures.items():
        first.setdefault(measure, name)
    return list(first.items())


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write the rows as JSON; those of the file that were not measured this time stay, in their order."""
    known = {one.name: one for one in _read(path)}
    known.update((one.name, one) for one in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(list(known.values()))))


def _read(path: Path) -> list[Row]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[Row])
    except (OSError, msgspec.DecodeError):
        return []
