"""How fast is everything decided again for an audit? Against deciding it in memory, decoding and encoding included.

The audit also reads the log, compares every byte and follows the hash chain.
"""

from collections.abc import Callable

from adapters.audit.verify import verify
from adapters.bench.decisions import read_all, running, until_decided
from adapters.bench.row import BenchError, Row, Runs, row
from adapters.bench.stage import PARTITIONS, Stage, append_all, deployment, timed
from adapters.bench.submissions import requests
from engine.contact.aggregate import ContactAggregate
from engine.partition.decider import Decider
from engine.partition.state import State
from engine.rules import Rules
from schemas.decisions import Position
from schemas.topics import CONTACTS_REQUESTS

SUBMISSIONS = 40_000
"""About a quarter of them are of the partition that is verified."""

RUNS = 3


async def measure(stage: Stage, say: Callable[[str], None]) -> list[Row]:
    """Measure `replay`."""
    submitted = requests(SUBMISSIONS, PARTITIONS)[0]
    runs = Runs()
    async with deployment(stage) as context:
        await append_all(context, CONTACTS_REQUESTS.name, {0: submitted})
        async with running(context, [0]) as runners:
            await until_decided(runners[0], len(submitted))
        inputs = await read_all(context.log, context.names.of(CONTACTS_REQUESTS.name), 0)
        for number in range(RUNS):
            say(f"replay: run {number + 1} of {RUNS}")
            with timed() as watch:
                found = await verify(context.log, context.names, ContactAggregate(), 0, context.rules.entries)
            if found.difference is not None:
                raise BenchError(f"what was decided cannot be decided again: {found.difference}")
            runs.ours.append(len(submitted) / watch.seconds)
            rules = Rules()
            for partition, record in context.rules.entries:
                rules.apply(partition, record)
            decider = Decider(ContactAggregate(), 0, State(), rules, Position())
            with timed() as watch:
                for one in inputs:
                    decider.request(one, one.appended_at)
            runs.baseline.append(len(submitted) / watch.seconds)
    return [row("replay", runs, goal=">= 0.7", unit="decisions/s")]
