"""How fast does an audit decide everything again? Compared with deciding in memory, decoding and encoding included.

The audit also reads the log, compares every byte and checks the hash chain.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct

from adapters.audit.verify import verify
from adapters.roles.context import Context
from deploy.bench.decisions import read_all, running, until_decided
from deploy.bench.row import BenchError, Row, Runs, row
from deploy.bench.stage import PARTITIONS, Stage, append_all, deployment, timed
from deploy.bench.submissions import requests
from engine.contact.aggregate import ContactAggregate
from engine.partition.decider import Decider
from engine.partition.ports import LogRecord
from engine.partition.state import State
from engine.rules import Rules
from schemas import records
from schemas.decisions import Cause, Decision, Position
from schemas.instant import Instant
from schemas.topics import CONTACTS_DECISIONS, CONTACTS_REQUESTS
from schemas.wire import from_json

SUBMISSIONS = 40_000
"""About a quarter of them are of the partition that is verified."""

RUNS = 3


class DecidedInput(Struct, frozen=True):
    """An input as it was decided: the instant is its cycle's, not that of its arrival. Without a record, an adoption."""

    cause: Cause
    now: Instant
    record: LogRecord | None = None


async def measure(stage: Stage, say: Callable[[str], None]) -> list[Row]:
    """Measure `replay`."""
    submitted = requests(SUBMISSIONS, PARTITIONS)[0]
    runs = Runs()
    async with deployment(stage) as context:
        await append_all(context, CONTACTS_REQUESTS.name, {0: submitted})
        async with running(context, [0]) as runners:
            await until_decided(runners[0], len(submitted))
        turns = await _turns(context)
        for number in range(RUNS):
            say(f"replay: run {number + 1} of {RUNS}")
            with timed() as watch:
                found = await verify(context.log, context.names, ContactAggregate(), 0, context.rules)
            if found.difference is not None:
                raise BenchError(f"what was decided cannot be decided again: {found.difference}")
            runs.ours.append(len(submitted) / watch.seconds)
            with timed() as watch:
                chain = decide_in_memory(turns, context.rules.entries)
            if chain != found.chain:
                raise BenchError("the baseline decides something else than what was verified")
            runs.baseline.append(len(submitted) / watch.seconds)
    return [row("replay", runs, goal=">= 0.7", unit="decisions/s")]


def decide_in_memory(turns: Sequence[DecidedInput], rules: Sequence[tuple[int, records.Record]]) -> str:
    """Decide every input again at its instant, without a log; return the digest of the last decision."""
    decider = Decider(ContactAggregate(), 0, State(), Rules(), Position())
    for turn in turns:
        if turn.record is None:
            decider.adoption(rules, turn.cause.versions, turn.now)
        else:
            decider.request(turn.record, turn.now, behind=turn.cause.behind)
    return decider.position.chain


async def _turns(context: Context) -> list[DecidedInput]:
    inputs = await read_all(context.log, context.names.of(CONTACTS_REQUESTS.name), 0)
    by_offset = {record.offset: record for record in inputs}
    recorded = await read_all(context.log, context.names.of(CONTACTS_DECISIONS.name), 0)
    decisions = [from_json(record.value or b"", Decision) for record in recorded]
    return [
        DecidedInput(one.cause, one.decided_at, None if one.cause.offset is None else by_offset[one.cause.offset])
        for one in decisions
    ]
