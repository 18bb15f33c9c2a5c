"""How were the histories beside this file recorded? By the real code of one commit, in a simulated deployment with faults.

Run it in a checkout of the commit whose history is wanted, with this file copied to `tests/histories` there:

    .venv/bin/python -m tests.histories.record tests/histories/b6317d7.jsonl.xz

A history is never recorded again: it stands for what a release wrote, which later code must read. See `history.py`.
The seed of a run means what it meant to the simulation of that commit: later ones draw otherwise.
"""

import asyncio
import base64
import json
import lzma
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from adapters.embedded.log import EmbeddedLog
from adapters.partitions.routing import partition_of
from adapters.roles.context import versions
from engine.identity import contact_key
from engine.partition.ports import LogRecord, Outgoing
from schemas.envelope import to_headers
from schemas.requests import LeadSubmitted
from schemas.topics import TOPICS
from schemas.wire import to_json
from tests.simulation import cluster, traffic, virtual
from tests.simulation.invariants import Findings
from tests.simulation.run import Result, World


class Run(msgspec.Struct, frozen=True):
    """How one history was made."""

    seed: int
    """The one of those tried whose run shows the most kinds of facts, steps and states."""

    asked: int
    """Requests in each of two halves; between them every process is replaced by one with newer time zones."""

    left_open: int
    """Requests at the end: what becomes of their leads is left to those who go on with the history."""

    large_share: float
    """Of submissions whose tokens are longer than the messages that name them may be."""


RUNS = {
    "2f2cfb7": Run(seed=17, asked=90, left_open=30, large_share=0.5),
    "f2c5c71": Run(seed=16, asked=90, left_open=30, large_share=0.5),
    "e98619b": Run(seed=16, asked=90, left_open=30, large_share=0.5),
    "9942af5": Run(seed=16, asked=90, left_open=30, large_share=0.5),
    "be378fd": Run(seed=16, asked=90, left_open=30, large_share=0.5),
    "1390c62": Run(seed=50, asked=130, left_open=40, large_share=0.1),
    "b6317d7": Run(seed=11, asked=90, left_open=30, large_share=0.5),
    "65662b1": Run(seed=11, asked=90, left_open=30, large_share=0.5),
    "45df17e": Run(seed=16, asked=90, left_open=30, large_share=0.5),
    "44a45ee": Run(seed=16, asked=90, left_open=30, large_share=0.5),
    "ae4c449": Run(seed=16, asked=90, left_open=30, large_share=0.5),
    "e5f0855": Run(seed=16, asked=90, left_open=30, large_share=0.5),
}
"""By commit."""

PARTITIONS = 2
"""What the seeds draw."""

COMPANIES = [1, 2, 3]
NEWER_TZDATA = {"tzdata": "2099z"}
NUMBERS = 60_000
NOT_KEPT = ("leads.inbox",)


class Recording(World):
    """One deployment of three companies: faults, a change of versions, and a submission whose decision is too large."""

    def __init__(self, run: Run) -> None:
        super().__init__(run.seed)
        self._of = run
        traffic.LARGE_SHARE = run.large_share

    async def _run(self) -> Result:
        cluster.VERSIONS = versions()
        self.traffic._companies = COMPANIES
        self.traffic._people = [f"+1305555{n:04}" for n in range(8)]
        self.traffic._addresses = [f"p{n}@example.com" for n in range(3)]
        providers = asyncio.ensure_future(self._carry_out())
        self.cluster.boot()
        await self._phase(self.traffic.found())
        await self._ask_under_faults()
        cluster.VERSIONS = {**versions(), **NEWER_TZDATA}
        for machine in self.cluster.machines:
            machine.kill()
        await self._calm()
        await self._ask_under_faults()
        await self._calm()
        await self._fail()
        await self._settle()
        self.era.go_on(300.0)
        await self._phase(self.traffic.ask(self._of.left_open, 5.0))
        providers.cancel()
        await self.cluster.stop()
        await asyncio.gather(providers, return_exceptions=True)
        return self._result(Findings())

    async def _carry_out(self) -> None:
        """Stand in for the gateways, as they never fail here; commits up to f72e0dd have no others, and another name."""
        older = getattr(self, "gateways", None)
        await (self.providers.run() if older is None else older.run(self.partitions))

    async def _ask_under_faults(self) -> None:
        self._is_rough = True
        self.weather.worsen()
        faults = asyncio.ensure_future(self._inject_faults())
        await self._phase(self.traffic.ask(self._of.asked, 30.0))
        self._is_rough = False
        faults.cancel()
        await asyncio.wait([faults])

    async def _fail(self) -> None:
        """Submit numbers that take less than a record as they come, and more than one as they are stored."""
        company_id, caller_id = COMPANIES[-1], "+13055559999"
        key = contact_key(company_id, caller_id, None) or ""
        request = LeadSubmitted(
            company_id=company_id,
            contact_key=key,
            caller_id=caller_id,
            data={"numbers": []},
            schedule_id=self.traffic._ids(company_id, "schedule")[0],
            received_at=self.era.now(),
        )
        numbers = b"[%b]" % b",".join([b"1e15"] * NUMBERS)
        headers = to_headers(self.traffic._envelope(request))
        large = Outgoing("contacts.requests", key.encode(), to_json(request).replace(b"[]", numbers), headers)
        await self.traffic._appender.append(partition_of(key.encode(), PARTITIONS), [large])


def lines(log: EmbeddedLog) -> Iterator[dict[str, Any]]:
    """Yield first what the topics are, then each record in order."""
    kept = [topic.name for topic in TOPICS if topic.name not in NOT_KEPT]
    ends = {name: [log.partition(name, number).end for number in range(PARTITIONS)] for name in kept}
    yield {"partitions": PARTITIONS, "topic_ids": {name: log._facts(name).topic_id for name in kept}, "ends": ends}
    for name in kept:
        for number in range(PARTITIONS):
            for record in log.partition(name, number).records:
                yield line(record)


def line(record: LogRecord) -> dict[str, Any]:
    """Return a record as it is kept: parts that are no text are in base64, under another name."""
    found: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "at": record.appended_at,
    }
    for name, part in (("key", record.key), ("value", record.value)):
        found |= encoded(name, part)
    if record.headers:
        found["headers"] = [[name, encoded("value", value)] for name, value in record.headers]
    return found


def encoded(name: str, part: bytes | None) -> dict[str, str]:
    """Return a part of a record under its name, or nothing where there is none."""
    if part is None:
        return {}
    try:
        return {name: part.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(part).decode()}


def main(path: Path) -> None:
    """Record a history."""
    virtual.TURNS_MAX = 10_000_000
    world = Recording(RUNS[path.name.partition(".")[0]])
    print(world.run())  # noqa: T201 - a script
    data = b"".join(json.dumps(one, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for one in lines(world.log))
    path.write_bytes(lzma.compress(data, preset=9))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
