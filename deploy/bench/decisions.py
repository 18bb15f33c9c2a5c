"""How many lead submissions does one scheduler process decide in a second, exactly once, each with its proof?

Against a bare relay of the same bytes, and against Quix Streams doing next to nothing with the same requests.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import msgspec

from adapters.partitions.outbox import OutboxSender
from adapters.roles.context import Context
from deploy.bench.peers import run_peer
from deploy.bench.relay import Written, relays
from deploy.bench.row import Row, Runs, row
from deploy.bench.stage import PARTITIONS, Stage, append_all, deployment, timed
from deploy.bench.submissions import requests
from engine.contact.aggregate import ContactAggregate
from engine.limits import RECORD_BYTES_MAX
from engine.partition.ports import Log, LogRecord, Outbox, Outgoing
from engine.partition.runner import CycleLimits, Runner
from schemas.topics import CONTACTS_DECISIONS, CONTACTS_REQUESTS, CONTACTS_STATE

SUBMISSIONS = 20_000
RUNS = 3
QUIX_RUNS = 2
POLL_LIMIT = 5_000

Requests = dict[int, list[Outgoing]]


async def measure(stage: Stage, say: Callable[[str], None]) -> list[Row]:
    """Measure `decisions`."""
    submitted = requests(SUBMISSIONS, PARTITIONS)
    written: dict[int, Written] = {}
    await _decide(stage, submitted, written)
    runs = Runs()
    for number in range(RUNS):
        say(f"decisions: run {number + 1} of {RUNS}")
        runs.ours.append(SUBMISSIONS / await _decide(stage, submitted))
        runs.baseline.append(SUBMISSIONS / await _relay(stage, submitted, written))
    return [row("decisions", runs, goal=">= 0.30", unit="submissions/s")]


async def measure_quix(stage: Stage, say: Callable[[str], None]) -> list[Row]:
    """Measure `decisions_quix`."""
    submitted = requests(SUBMISSIONS, PARTITIONS)
    runs = Runs()
    for number in range(QUIX_RUNS):
        say(f"decisions_quix: run {number + 1} of {QUIX_RUNS}")
        runs.ours.append(SUBMISSIONS / await _decide(stage, submitted))
        runs.baseline.append(await _quix(stage, submitted))
    return [row("decisions_quix", runs, goal=">= 3", unit="submissions/s")]


async def _decide(stage: Stage, submitted: Requests, written: dict[int, Written] | None = None) -> float:
    """Return the seconds in which one process decided all submissions; note in `written` what it wrote."""
    async with deployment(stage) as context:
        await append_all(context, CONTACTS_REQUESTS.name, submitted)
        async with running(context) as runners:
            with timed() as watch:
                await asyncio.gather(*(until_decided(runner, len(submitted[n])) for n, runner in runners.items()))
        if written is not None:
            topics = (CONTACTS_DECISIONS.name, CONTACTS_STATE.name)
            for partition, records in submitted.items():
                written[partition] = await written_by(context, topics, partition, len(records))
        return watch.seconds


async def _relay(stage: Stage, submitted: Requests, written: dict[int, Written]) -> float:
    """Return the seconds in which a bare relay wrote as much."""
    async with deployment(stage) as context:
        await append_all(context, CONTACTS_REQUESTS.name, submitted)
        topic = context.names.of(CONTACTS_REQUESTS.name)
        outgoing = {n: [[_renamed(context, one) for one in share] for share in shares] for n, shares in written.items()}
        async with relays(stage.bootstrap, topic, dict.fromkeys(submitted, 0), app="relay") as bare:
            with timed() as watch:
                await asyncio.gather(
                    *(
                        relay.run(outgoing[n], inputs_max=CycleLimits().inputs_max, batch_bytes_max=RECORD_BYTES_MAX)
                        for n, relay in bare.items()
                    )
                )
        return watch.seconds


def _renamed(context: Context, record: Outgoing) -> Outgoing:
    return msgspec.structs.replace(record, topic=context.names.of(record.topic))


async def _quix(stage: Stage, submitted: Requests) -> float:
    """Return the submissions per second that Quix Streams counted by key."""
    async with deployment(stage) as context:
        await append_all(context, CONTACTS_REQUESTS.name, submitted)
        topic = context.names.of(CONTACTS_REQUESTS.name)
        state = stage.folder / f"quix-{topic}"
        found = await run_peer(stage.peers, "quixstreams", stage.bootstrap, topic, str(SUBMISSIONS), str(state))
        return SUBMISSIONS / float(found["seconds"])


# -- runners -----------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def running(context: Context, partitions: Sequence[int] = range(PARTITIONS)) -> AsyncIterator[dict[int, Runner]]:
    """Own and restore partitions of the contacts, as the scheduler role does; release them at the end."""
    appender = await context.log.appender()

    def outbox(stream: str) -> Outbox:
        return OutboxSender(stream, log=context.log, names=context.names, appender=appender)

    runners = {partition: _runner(context, partition, outbox) for partition in partitions}
    try:
        await asyncio.gather(*(runner.open() for runner in runners.values()))
        yield runners
    finally:
        await asyncio.gather(*(runner.close() for runner in runners.values()))
        await appender.close()


def _runner(context: Context, partition: int, outbox: Callable[[str], Outbox]) -> Runner:
    return Runner(
        ContactAggregate(),
        partition,
        log=context.log,
        clock=context.clock,
        outbox=outbox,
        versions=context.versions,
        rules_feed=context.rules,
        names=context.names,
    )


async def until_decided(runner: Runner, inputs: int) -> None:
    """Let a runner cycle until it has decided so many requests."""
    decided = 0
    while decided < inputs:
        decided += (await runner.cycle()).inputs


# -- what is written ---------------------------------------------------------------------------------------------------


async def written_by(context: Context, topics: Sequence[str], partition: int, inputs: int) -> Written:
    """Return what a runner wrote to a partition, shared out evenly over its inputs, topic by topic in order."""
    shares: list[list[Outgoing]] = [[] for _ in range(inputs)]
    for topic in topics:
        records = await read_all(context.log, context.names.of(topic), partition)
        for index, record in enumerate(records):
            outgoing = Outgoing(topic, record.key, record.value, record.headers)
            shares[index * inputs // len(records)].append(outgoing)
    return shares


async def read_all(log: Log, topic: str, partition: int) -> list[LogRecord]:
    """Return every committed record of a partition."""
    reader = await log.reader(topic, [partition])
    found: list[LogRecord] = []
    try:
        end = await reader.end(partition)
        while reader.position(partition) < end:
            found += await reader.poll(limit=POLL_LIMIT, timeout_seconds=1.0)
    finally:
        await reader.close()
    return found
