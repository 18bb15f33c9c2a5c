"""How many rows does the projector write in a second? Compared with bare upserts of the same prepared rows.

The bare side skips the projector's work: reading and decoding the log, collapsing, positions and epochs.
"""

import asyncio
from collections.abc import Callable, Sequence

from adapters.postgres.migrate import migrate
from adapters.postgres.pool import Pool, open_pool
from adapters.postgres.sql import queries
from adapters.postgres.tables import TABLES
from adapters.postgres.upserts import upserts
from adapters.projector.batch import OffsetRange, ProjectionBatch, build_batch
from adapters.projector.postgres import PostgresStore
from adapters.projector.projector import Projector, ProjectorLimits
from adapters.projector.rows import shapes_of
from adapters.roles.context import Context
from deploy.bench.decisions import read_all, running, until_decided
from deploy.bench.row import Row as BenchRow
from deploy.bench.row import Runs, row
from deploy.bench.stage import PARTITIONS, Stage, append_all, deployment, new_database, timed
from deploy.bench.submissions import requests
from schemas.topics import CONTACTS_DECISIONS, CONTACTS_REQUESTS

SUBMISSIONS = 12_000
RUNS = 3
POLL_SECONDS = 0.002


async def measure(stage: Stage, say: Callable[[str], None]) -> list[BenchRow]:
    """Measure `projector`."""
    submitted = requests(SUBMISSIONS, PARTITIONS)
    runs = Runs()
    async with deployment(stage) as context:
        await append_all(context, CONTACTS_REQUESTS.name, submitted)
        async with running(context) as runners:
            await asyncio.gather(*(until_decided(runner, len(submitted[n])) for n, runner in runners.items()))
        batches = [await _batches(context, partition) for partition in range(PARTITIONS)]
        rows = sum(batch.rows_count for partition in batches for batch in partition)
        for number in range(RUNS):
            say(f"projector: run {number + 1} of {RUNS}")
            runs.ours.append(rows / await _project(stage, context))
            runs.baseline.append(rows / await _upsert(stage, batches))
    return [row("projector", runs, goal=">= 0.7", unit="rows/s")]


async def _project(stage: Stage, context: Context) -> float:
    """Return the seconds in which the projector wrote every decision."""
    pool = await _database(stage)
    projector = Projector(
        context.log, PostgresStore(pool), context.clock, contact_ids=context.contact_ids(), names=context.names
    )
    projector.assign(range(PARTITIONS))
    stop = asyncio.Event()
    task = None
    try:
        await projector.run_once()  # takes the partitions, and writes what one poll brings
        with timed() as watch:
            before = projector.rows_written
            task = asyncio.create_task(projector.run(stop))
            while projector.decisions_written < SUBMISSIONS:  # noqa: ASYNC110 - the projector has no event for it
                await asyncio.sleep(POLL_SECONDS)
            written = projector.rows_written - before
        return watch.seconds * projector.rows_written / max(1, written)
    finally:
        stop.set()
        if task is not None:
            await task
        await projector.close()
        await pool.close()


async def _upsert(stage: Stage, partitions: Sequence[Sequence[ProjectionBatch]]) -> float:
    """Return the seconds in which four connections wrote the same rows, in the same batches, and nothing else."""
    pool = await _database(stage)
    try:
        with timed() as watch:
            await asyncio.gather(*(_upsert_partition(pool, partition) for partition in partitions))
        return watch.seconds
    finally:
        await pool.close()


async def _upsert_partition(pool: Pool, batches: Sequence[ProjectionBatch]) -> None:
    sql, upsert_of = queries("projection"), upserts()
    for batch in batches:
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute("SET LOCAL synchronous_commit = off")
            for table in TABLES:
                if rows := batch.rows.get(table.name):
                    await connection.execute(upsert_of[table.name], list(rows.values()))
            await connection.execute(sql["insert_history"], batch.history)
            if batch.results:
                await connection.execute(sql["insert_results"], list(batch.results.values()))


async def _batches(context: Context, partition: int) -> list[ProjectionBatch]:
    """Return what the projector would write of a partition, in batches of its size."""
    topic = CONTACTS_DECISIONS.name
    records = await read_all(context.log, context.names.of(topic), partition)
    size = ProjectorLimits().records_max
    offset_range = OffsetRange(topic, partition, 1, 0, 0)
    shapes = shapes_of(context.contact_ids())
    return [
        build_batch(records[start : start + size], offset_range, 0, topic=topic, shapes=shapes)
        for start in range(0, len(records), size)
    ]


async def _database(stage: Stage) -> Pool:
    dsn = await new_database(stage)
    await migrate(dsn)
    return await open_pool(dsn, minimum=PARTITIONS + 1)
