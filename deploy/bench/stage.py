"""Where does a bench run? On a real broker and a real database of this machine, in a folder that is deleted afterwards."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import msgspec
from msgspec import Struct

from adapters.clock import wall_now
from adapters.local.resolution import broker, database
from adapters.partitions.routing import partition_of
from adapters.postgres.migrate import migrate
from adapters.roles.context import Context, open_context, prepare
from adapters.roles.garbage_collection import configure_garbage_collection
from adapters.roles.identity import establish
from adapters.settings import Settings
from deploy.bench.large import LEADS_DEFAULT
from deploy.bench.submissions import NOON, rule_records
from engine.partition.ports import Outgoing
from schemas.records import Record, rules_key
from schemas.topics import ACCOUNTS_RULES
from schemas.wire import to_json

PARTITIONS = 4
"""As many as `leadclock up` creates."""

SECRET_KEY = "bench " * 8
"""The deployment lives for minutes and listens on this machine alone."""

_numbers = count(1)


class Stage(Struct, frozen=True):
    """The servers of one bench. `peers` is where other products' environments are kept between benches.

    `leads` is the size of the large company that lists, reports and pages are measured on; `dataset_folder` keeps its
    data set between benches; None creates it each time.
    """

    bootstrap: str
    dsn: str
    folder: Path
    peers: Path
    leads: int = LEADS_DEFAULT
    dataset_folder: Path | None = None


@asynccontextmanager
async def open_stage(
    folder: Path, peers: Path, leads: int = LEADS_DEFAULT, dataset_folder: Path | None = None
) -> AsyncIterator[Stage]:
    """Start broker and database in a folder. Raises `LocalServerError` where this machine cannot."""
    async with broker(folder, choice="kafka") as served, database(folder, durable=False) as stored:
        await migrate(stored.dsn)
        yield Stage(served.bootstrap, stored.dsn, folder, peers, leads, dataset_folder)


@asynccontextmanager
async def deployment(stage: Stage, dsn: str | None = None) -> AsyncIterator[Context]:
    """Open a deployment of its own: fresh topics under a prefix, the rules written; it is noon in New York there."""
    settings = Settings(
        kafka_bootstrap=stage.bootstrap,
        topic_prefix=f"b{next(_numbers)}.",
        partitions=PARTITIONS,
        postgres_dsn=dsn or stage.dsn,
        secret_key=SECRET_KEY,
        http_port=0,
        rate_limits="off",
        clock_wall_at=wall_now(),
        clock_domain_at=NOON,
    )
    async with open_context(settings) as context:
        await prepare(context)
        await establish(context)
        await write_rules(context, rule_records())
        yield context


async def write_rules(context: Context, records: Sequence[Record]) -> None:
    """Write account records to where the accounts role would have put them."""
    topic = context.names.of(ACCOUNTS_RULES.name)
    appender = await context.log.appender()
    try:
        for record in records:
            outgoing = Outgoing(topic, rules_key(record).encode(), to_json(record))
            await appender.append(partition_of(str(record.company_id).encode(), PARTITIONS), [outgoing])
    finally:
        await appender.close()
    await context.rules.refresh()


async def append_all(context: Context, name: str, records: dict[int, list[Outgoing]]) -> None:
    """Append records to the partitions of a topic, whatever topic they were made for."""
    topic = context.names.of(name)
    appender = await context.log.appender()
    try:
        await asyncio.gather(
            *(
                appender.append(partition, [msgspec.structs.replace(one, topic=topic) for one in batch])
                for partition, batch in records.items()
            )
        )
    finally:
        await appender.close()


class Watch(Struct):
    """A stop watch: `seconds` is set when the block has ended."""

    seconds: float = 0.0


@contextmanager
def timed() -> Iterator[Watch]:
    """Time a block, with the garbage collector set as in a role's process, for either side."""
    watch = Watch()
    configure_garbage_collection()
    started = time.perf_counter()
    try:
        yield watch
    finally:
        watch.seconds = time.perf_counter() - started
        gc.unfreeze()


async def new_database(stage: Stage) -> str:
    """Return the DSN of a fresh, empty database."""
    name = f"bench_{next(_numbers)}"
    connection = await asyncpg.connect(stage.dsn)
    try:
        await connection.execute(f"CREATE DATABASE {name}")
    finally:
        await connection.close()
    return urlunsplit(urlsplit(stage.dsn)._replace(path=f"/{name}"))
