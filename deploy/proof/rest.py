"""When is a deployment at rest? When every record that came in was decided, carried out, answered and shown."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import asyncpg

from adapters.roles.context import Context
from deploy.proof.evidence import CONNECT_SECONDS, open_reader
from deploy.proof.processes import ProcessGroup
from engine.partition.ports import Reader
from schemas.errors import DependencyError
from schemas.instant import to_datetime
from schemas.topics import ACCOUNTS_DECISIONS, CONTACTS_DECISIONS, CONTACTS_REQUESTS, DEADLETTER, Topic

LOOK_SECONDS = 0.5
STILL_SECONDS = 3.0
"""At rest for this long: an outcome that was on its way, or a message between partitions, would have shown."""

PROJECTOR = "projector"

READ_LIMIT = 1_000
READ_SECONDS = 0.2

COUNTS = """
SELECT count(*) AS leads, count(*) FILTER (WHERE flight IS NOT NULL) AS in_flight,
       count(*) FILTER (WHERE is_live AND next_action_at < $1) AS due
FROM read.leads
"""
POSITIONS = "SELECT topic, partition, next_offset FROM read.positions"

DECISIONS = (CONTACTS_DECISIONS, ACCOUNTS_DECISIONS)
WATCHED = (CONTACTS_REQUESTS, DEADLETTER, *DECISIONS)


class NoRestError(DependencyError):
    """Something is still under way after the bound; `str(error)` says what."""


async def until_at_rest(
    context: Context,
    dsn: str,
    *,
    leads: int,
    seconds: float,
    say: Callable[[str], None] = lambda _: None,
    is_paused: bool = False,
) -> None:
    """Wait until `leads` are shown, none is in flight or due, and nothing moves. Raises `NoRestError`, `LogError`.

    Where the company `is_paused`, leads that are due stay so.
    """
    deadline = time.monotonic() + seconds
    async with _watch(context, dsn) as watch:
        still_since, before = time.monotonic(), ""
        while True:
            is_done, now = await watch.look(leads, is_paused=is_paused)
            say(now)
            if now != before:
                still_since, before = time.monotonic(), now
            if is_done and time.monotonic() - still_since >= STILL_SECONDS and await watch.unshown() == 0:
                return
            if time.monotonic() > deadline:
                raise NoRestError(f"not at rest after {seconds:.0f} s: {now}, {await watch.unshown():,} decisions to show")
            await asyncio.sleep(LOOK_SECONDS)


async def stop_and_show(deployment: ProcessGroup, context: Context, *, seconds: float) -> dict[str, int]:
    """Stop every role, projectors last; return the exit statuses. Raises `DeploymentError`, `NoRestError`, `LogError`.

    Timers fire until the last scheduler has ended, and the database must show what they decided before it is compared.
    """
    statuses = await asyncio.to_thread(deployment.stop, spared=PROJECTOR)
    deadline = time.monotonic() + seconds
    async with _watch(context, context.settings.postgres_dsn) as watch:
        while count := await watch.unshown():
            if time.monotonic() > deadline:
                raise NoRestError(f"{count:,} decisions are not shown after {seconds:.0f} s")
            await asyncio.sleep(LOOK_SECONDS)
    return statuses | await asyncio.to_thread(deployment.stop)


class _Watch:
    """Numbers that do not change at rest."""

    def __init__(self, context: Context, connection: asyncpg.Connection, readers: dict[Topic, Reader], count: int) -> None:
        self._context = context
        self._connection = connection
        self._readers = readers
        self._partitions = range(count)

    async def look(self, leads: int, *, is_paused: bool) -> tuple[bool, str]:
        """Return whether no lead is on its way, and the numbers that must not move any more."""
        found = await self._connection.fetchrow(COUNTS, to_datetime(self._context.clock.now()))
        ends = [await self._end(topic) for topic in WATCHED]
        words = (
            f"{found['leads']:,} of {leads:,} leads, {found['in_flight']:,} in flight, {found['due']:,} due, "
            f"log of requests at {ends[0]:,}, of dead letters at {ends[1]:,}, of decisions at {sum(ends[2:]):,}"
        )
        is_moving = found["in_flight"] or (found["due"] and not is_paused)
        return found["leads"] >= leads and not is_moving, words

    async def unshown(self) -> int:
        """Return how many decisions the projector has still to show."""
        shown = {(row["topic"], row["partition"]): row["next_offset"] for row in await self._connection.fetch(POSITIONS)}
        count = 0
        for topic in DECISIONS:
            reader = self._readers[topic]
            for partition in self._partitions:
                await reader.seek(partition, shown.get((topic.name, partition), 0))
            ends = {partition: await reader.end(partition) for partition in self._partitions}
            while any(reader.position(partition) < end for partition, end in ends.items()):
                count += len(await reader.poll(limit=READ_LIMIT, timeout_seconds=READ_SECONDS))
        return count

    async def _end(self, topic: Topic) -> int:
        return sum([await self._readers[topic].end(partition) for partition in self._partitions])


@asynccontextmanager
async def _watch(context: Context, dsn: str) -> AsyncIterator[_Watch]:
    async with AsyncExitStack() as stack:
        connection = await asyncpg.connect(dsn, timeout=CONNECT_SECONDS)
        stack.push_async_callback(connection.close)
        count = await context.log.partition_count(context.names.of(CONTACTS_REQUESTS.name))
        readers = {}
        for topic in WATCHED:
            name = context.names.of(topic.name)
            readers[topic] = await open_reader(context.log, name, range(count), start=None)
            stack.push_async_callback(readers[topic].close)
        yield _Watch(context, connection, readers, count)
