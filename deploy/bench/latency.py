"""How long from an HTTP submission to its command, as a committed reader sees it? At light load, one lead at a time.

Against a bare chain of the same length: produce, relay in a transaction, consume. No slots: the first step is a text.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count

from adapters.observability.metrics import Metrics
from adapters.postgres.migrate import migrate
from adapters.roles.api import ApiRole
from adapters.roles.context import Context
from adapters.roles.deciders import scheduler
from adapters.roles.role import Role
from deploy.bench.relay import BareRelay, relays
from deploy.bench.row import BenchError, Row, Runs, quantile, row
from deploy.bench.stage import PARTITIONS, Stage, deployment, new_database
from deploy.bench.submissions import TEXT_TOKEN, requests, submission
from deploy.bench.wire import KeptConnection, post
from engine.limits import RECORD_BYTES_MAX
from engine.partition.ports import Appender, Outgoing, Reader
from schemas.envelope import from_headers
from schemas.topics import COMMANDS_SMS, CONTACTS_DECISIONS, CONTACTS_REQUESTS, CONTACTS_STATE

RUNS = 3
SAMPLES = 100
"""Per run and side: the slowest hundredth of a run is its slowest one."""

WARM_UP = 10
GAP_SECONDS = (0.06, 0.12)
"""Random wait between two submissions: light load, in step with no timer."""

WAIT_SECONDS = 30.0
READY_SECONDS = 30.0

Once = Callable[[], Awaitable[float]]
"""Does it once and returns the seconds it took."""


async def measure(stage: Stage, say: Callable[[str], None]) -> list[Row]:
    """Measure `submit_to_command_p50` and `submit_to_command_p99`."""
    middle, slowest = Runs(), Runs()
    async with _ours(stage) as submit, _bare(stage) as relay:
        for number in range(RUNS):
            say(f"submit_to_command: run {number + 1} of {RUNS}")
            for side, once in (("ours", submit), ("baseline", relay)):
                taken = [await once() for _ in range(WARM_UP + SAMPLES)][WARM_UP:]
                getattr(middle, side).append(1000 * quantile(taken, 0.5))
                getattr(slowest, side).append(1000 * quantile(taken, 0.99))
    return [
        row("submit_to_command_p50", middle, goal="<= 2", unit="ms"),
        row("submit_to_command_p99", slowest, goal="<= 2", unit="ms"),
    ]


# -- ours --------------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def _ours(stage: Stage) -> AsyncIterator[Once]:
    """Run an API and a scheduler; yield what submits one lead and waits for its command."""
    dsn = await new_database(stage)
    await migrate(dsn)
    async with deployment(stage, dsn) as context:
        api = ApiRole(context, Metrics())
        async with serving_roles(api, scheduler(context, Metrics())):
            reader = await _commands(context)
            submitter = _Submitter(api.port, reader)
            yield submitter.submit
            await submitter.close()
            await reader.close()


@asynccontextmanager
async def serving_roles(*roles: Role) -> AsyncIterator[None]:
    """Run roles in this process until the block ends; the block begins once they are ready. Raises `BenchError`."""
    stop = asyncio.Event()
    tasks = [asyncio.create_task(role.run(stop), name=role.name) for role in roles]
    try:
        async with asyncio.timeout(READY_SECONDS):
            while problems := [found for role in roles for found in role.problems().items()]:
                if any(task.done() for task in tasks):
                    raise BenchError(f"a role ended at once: {problems}")
                await asyncio.sleep(0.05)
        yield
    finally:
        stop.set()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Submitter:
    """A producer with one persistent connection."""

    def __init__(self, port: int, reader: Reader) -> None:
        self._reader = reader
        self._numbers = count(1)
        self._connection = KeptConnection("127.0.0.1", port)

    async def submit(self) -> float:
        """Return the seconds from the submission of one more lead to its command."""
        await _gap()
        request = post("/api/v1/leads", submission(next(self._numbers), TEXT_TOKEN), "Prefer: respond-async")
        return await _timed(self._connection.ask(request), self._reader)

    async def close(self) -> None:
        """Hang up."""
        await self._connection.close()


async def _timed(asking: Awaitable[object], reader: Reader) -> float:
    """Return the seconds from a request to the record that it causes; the answer may come before or after that."""
    loop = asyncio.get_running_loop()
    started = loop.time()
    asked = asyncio.ensure_future(asking)
    found = await reader.poll(limit=1, timeout_seconds=WAIT_SECONDS)
    ended = loop.time()
    await asked
    if not found:
        raise BenchError(f"nothing came of a request within {WAIT_SECONDS:.0f} s")
    return ended - started


async def _commands(context: Context) -> Reader:
    topic = context.names.of(COMMANDS_SMS.name)
    return await context.log.reader(topic, range(PARTITIONS), start=None)


async def _gap() -> None:
    await asyncio.sleep(random.uniform(*GAP_SECONDS))  # noqa: S311 - only spreads the samples


# -- the bare chain ----------------------------------------------------------------------------------------------------


@asynccontextmanager
async def _bare(stage: Stage) -> AsyncIterator[Once]:
    """Run a bare relay of every partition; yield what produces one request and waits for what is relayed for it."""
    async with deployment(stage) as context:
        topic = context.names.of(CONTACTS_REQUESTS.name)
        submitted = requests(1_000, PARTITIONS, token=TEXT_TOKEN)
        appender = await context.log.appender()
        async with relays(stage.bootstrap, topic, dict.fromkeys(range(PARTITIONS), 0), app="relay") as bare:
            reader = await _commands(context)
            tasks = [asyncio.create_task(_relay(context, relay, submitted[n][0])) for n, relay in bare.items()]
            # In the order of ours: a reader of several partitions takes up to `SHARED_FETCH_WAIT_MS` longer for a record of
            # the partition that it read from last, which is a matter of chance.
            waiting = iter(sorted(((n, one) for n, found in submitted.items() for one in found), key=_number))
            yield lambda: _produce(context, appender, reader, *next(waiting))
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await reader.close()
        await appender.close()


def _number(waiting: tuple[int, Outgoing]) -> int:
    return from_headers(waiting[1].headers).number or 0


async def _relay(context: Context, relay: BareRelay, like: Outgoing) -> None:
    """Write what a decision writes, a decision, two values, a position and a command, as soon as a request comes."""
    decisions, state, commands = (
        context.names.of(topic.name) for topic in (CONTACTS_DECISIONS, CONTACTS_STATE, COMMANDS_SMS)
    )
    value = like.value or b""
    out = [Outgoing(decisions, like.key, 4 * value), Outgoing(state, like.key, value), Outgoing(state, b"head", value)]
    out += [Outgoing(state, b"__position__", value), Outgoing(commands, like.key, value, like.headers)]
    while True:
        if await relay.poll():
            await relay.transact(out, batch_bytes_max=RECORD_BYTES_MAX)


async def _produce(context: Context, appender: Appender, reader: Reader, partition: int, record: Outgoing) -> float:
    await _gap()
    one = Outgoing(context.names.of(CONTACTS_REQUESTS.name), record.key, record.value, record.headers)
    return await _timed(appender.append(partition, [one]), reader)
