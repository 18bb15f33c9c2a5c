"""How is the history beside this file recorded? By the code of this tree, in a simulated deployment with faults.

Until 0.1.0 is tagged, this command records it again whenever a decision or a recorded word changes:

    .venv/bin/python -m tests.histories.record

The same code and seed give the same bytes. From the tag on, the history stands for what that release wrote: it is never
recorded again, later code must read it, and each later version of the decision rules gets a history of its own beside it.
"""

import asyncio
import base64
import json
import lzma
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from adapters.embedded.log import EmbeddedLog
from adapters.partitions.routing import partition_of
from adapters.roles.context import versions
from engine.identity import contact_key
from engine.partition.ports import LogRecord, Outgoing
from schemas.envelope import Envelope, to_headers
from schemas.requests import REQUEST_TYPES, LeadSubmitted
from schemas.topics import ACCOUNTS_REQUESTS, CONTACTS_REQUESTS, TOPICS
from schemas.wire import to_json
from tests.histories.history import HISTORY
from tests.histories.rules_digest import write_digest
from tests.histories.scenes import play
from tests.simulation import cluster, traffic, virtual
from tests.simulation.invariants import Findings
from tests.simulation.run import Result, World

SEED = 440
"""The one of those tried whose run holds all of `kinds.txt`; it draws `PARTITIONS`."""

ASKED = 100
"""Requests in each of two halves; between them every process is replaced by one with newer time zones."""

LEFT_OPEN = 30
"""Requests at the end: what becomes of their leads is left to those who go on with the history."""

LARGE_SHARE = 0.3
"""Of submissions whose tokens are longer than the messages that name them may be."""

PARTITIONS = 2
COMPANIES = [1, 2, 3]
NEWER_TZDATA = {"tzdata": "2099z"}
NUMBERS = 60_000
NOT_KEPT = ("leads.inbox",)
REPEATED = 3

NO_TEXT = (("ce_id", b"\xff"),)
"""A header that cannot be read."""


class Recording(World):
    """One deployment of three companies: faults, a change of versions, and each kind of what else it may read."""

    def __init__(self, seed: int = SEED) -> None:
        super().__init__(seed)
        traffic.LARGE_SHARE = LARGE_SHARE

    async def _run(self) -> Result:
        cluster.VERSIONS = versions()
        self.traffic._companies = COMPANIES
        self.traffic._people = [f"+1305555{n:04}" for n in range(8)]
        self.traffic._addresses = [f"p{n}@example.com" for n in range(3)]
        providers = asyncio.ensure_future(self.providers.run())
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
        await self._phase(play(self.traffic, self.era, self.cluster.schedulers))
        await self._append_junk()
        await self._repeat()
        await self._settle()
        self.era.go_on(300.0)
        await self._phase(self.traffic.ask(LEFT_OPEN, 5.0))
        providers.cancel()
        await self.cluster.stop()
        await asyncio.gather(providers, return_exceptions=True)
        return self._result(Findings())

    async def _ask_under_faults(self) -> None:
        self._is_rough = True
        self.weather.worsen()
        faults = asyncio.ensure_future(self._inject_faults())
        await self._phase(self.traffic.ask(ASKED, 30.0))
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
            with_key=True,
        )
        numbers = b"[%b]" % b",".join([b"1e15"] * NUMBERS)
        headers = to_headers(self.traffic._envelope(request))
        large = Outgoing("contacts.requests", key.encode(), to_json(request).replace(b"[]", numbers), headers)
        await self.traffic._appender.append(partition_of(key.encode(), PARTITIONS), [large])

    async def _append_junk(self) -> None:
        """Append one unreadable request of each type to each topic of requests, and records that nobody of ours writes."""
        appender = self.traffic._appender
        for place, request_type in enumerate(REQUEST_TYPES.values()):
            for topic in (CONTACTS_REQUESTS.name, ACCOUNTS_REQUESTS.name):
                envelope = Envelope(id=f"junk-{topic}-{request_type}", type=request_type, source="/junk")
                poison = traffic.POISON[place % len(traffic.POISON)]
                await appender.append(place % PARTITIONS, [Outgoing(topic, b"1|nobody", poison, to_headers(envelope))])
        for topic in (CONTACTS_REQUESTS.name, ACCOUNTS_REQUESTS.name):
            await appender.append(0, [Outgoing(topic, b"1|nobody", b"{}"), Outgoing(topic, b"1|nobody", b"{}", NO_TEXT)])
        for topic in traffic.INTERNAL:
            for place, key in enumerate(traffic.FOREIGN_KEYS):
                await appender.append(place % PARTITIONS, [Outgoing(topic, key, b"{")])

    async def _repeat(self) -> None:
        """Append the last requests of each type once more, as a producer does that heard no acknowledgement."""
        for topic in (CONTACTS_REQUESTS.name, ACCOUNTS_REQUESTS.name):
            for number in range(PARTITIONS):
                by_type: dict[bytes, list[LogRecord]] = defaultdict(list)
                for record in self.log.partition(topic, number).records:
                    headers = dict(record.headers)
                    if headers.get("ce_source", b"/junk") != b"/junk":
                        by_type[headers["ce_type"]].append(record)
                for record in [record for records in by_type.values() for record in records[-REPEATED:]]:
                    await self.traffic._appender.append(number, [Outgoing(topic, record.key, record.value, record.headers)])


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
    kept: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "at": record.appended_at,
    }
    for name, part in (("key", record.key), ("value", record.value)):
        kept |= encoded(name, part)
    if record.headers:
        kept["headers"] = [[name, encoded("value", value)] for name, value in record.headers]
    return kept


def encoded(name: str, part: bytes | None) -> dict[str, str]:
    """Return a part of a record under its name, or nothing where there is none."""
    if part is None:
        return {}
    try:
        return {name: part.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(part).decode()}


def recorded(seed: int = SEED) -> bytes:
    """Return the history that this code records, uncompressed."""
    virtual.TURNS_MAX = 10_000_000
    world = Recording(seed)
    print(world.run())  # noqa: T201 - a script
    return b"".join(json.dumps(one, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for one in lines(world.log))


def main() -> None:
    """Record the history again, and write its digest, which data of this version holds."""
    history = recorded()
    HISTORY.write_bytes(lzma.compress(history, preset=9))
    write_digest(history)


if __name__ == "__main__":
    main()
