"""Does the projection hold on a real database that loses connections, restarts transactions and refuses values?"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from adapters.clock import SystemClock
from adapters.embedded.log import EmbeddedLog
from adapters.postgres.migrate import migrate
from adapters.postgres.pool import open_pool, prepare
from adapters.projector.postgres import PostgresStore
from adapters.projector.projector import Projector, ProjectorLimits
from engine.partition.ports import Outgoing
from schemas.instant import EPOCH
from tests.adapters.projector.histories import PARTITIONS, TOPIC, World, world_of
from tests.adapters.projector.tables import of_postgres
from tests.contact_ids import CONTACT_IDS

TOPICS = (TOPIC, "accounts.decisions", "contacts.requests")
STEPS = [("put", 1), ("put", 2), ("call", 1), ("move", 1), ("result", 2), ("put", 1), ("put", 3), ("slots", 3)] * 15
SMALL = ProjectorLimits(records_max=5, buffered_max=10, poll_seconds=0.01, retry_seconds_min=0.001, retry_seconds_max=0.02)


@pytest.fixture
async def pool(migrated_database: str) -> AsyncIterator[Any]:
    pool = await open_pool(migrated_database, size=4)
    yield pool
    await pool.close()


async def log_of(world: World) -> EmbeddedLog:
    log = EmbeddedLog(None, now=lambda: EPOCH)
    for topic in TOPICS:
        await log.create_topic(topic, PARTITIONS)
    for partition, records in world.records.items():
        ownership = await log.own("contacts.requests", partition)
        for record in records:
            await ownership.commit([Outgoing(TOPIC, None, record.value)])
        await ownership.close()
    return log


async def test_every_connection_may_be_cut_at_any_time(pool: Any, migrated_database: str) -> None:
    world = world_of(STEPS)
    log, store = await log_of(world), PostgresStore(pool)
    projector = Projector(log, store, SystemClock(), contact_ids=CONTACT_IDS, limits=SMALL)
    projector.assign(range(PARTITIONS))
    stop = asyncio.Event()
    running = asyncio.create_task(projector.run(stop))
    total, cuts = sum(map(len, world.records.values())), 0
    async with asyncio.timeout(60):
        while projector.decisions_written < total:
            cuts += await _cut_connections(migrated_database)
            await asyncio.sleep(0.005 * cuts)  # ever longer, so that even a busy machine gets something done in between
    stop.set()
    await running
    await projector.close()
    await log.close()
    async with asyncpg.create_pool(migrated_database, init=prepare) as fresh:
        assert await of_postgres(fresh) == world.tables
    assert cuts > 0


async def test_a_value_that_the_database_refuses_costs_only_its_own_decision(pool: Any) -> None:
    world = world_of([("put", 1), ("put", 3), ("put", 5), ("put", 7)])
    records = world.records[1]
    bad = (records[2].value or b"").replace(b'"n":3', b'"n":1e300000')
    records[2] = records[2].__class__(*(TOPIC, 1, records[2].offset, None, bad, (), EPOCH))
    log, store = await log_of(world), PostgresStore(pool)
    projector = Projector(log, store, SystemClock(), contact_ids=CONTACT_IDS)
    projector.assign(range(PARTITIONS))
    while await projector.run_once():
        pass
    tables = await of_postgres(pool)
    assert sorted(key[1] for key in tables["leads"]) == [1, 3, 7]
    assert [row["error"] for row in tables["faults"].values()] == ["RowsRefusedError: value overflows numeric format"]
    await projector.close()
    await log.close()


async def test_a_schema_that_is_built_again_is_followed_again(pool: Any, migrated_database: str) -> None:
    world = world_of(STEPS)
    log, store = await log_of(world), PostgresStore(pool)
    projector = Projector(log, store, SystemClock(), contact_ids=CONTACT_IDS, limits=SMALL)
    projector.assign(range(PARTITIONS))
    stop = asyncio.Event()
    running = asyncio.create_task(projector.run(stop))
    async with asyncio.timeout(30):
        while projector.decisions_written == 0:
            await asyncio.sleep(0.005)
        async with pool.acquire() as connection:
            await connection.execute("DROP SCHEMA read CASCADE")
        while projector.health.ready:
            await asyncio.sleep(0.005)
        await migrate(migrated_database)
        again = await open_pool(migrated_database, size=4)
        projector.assign(range(PARTITIONS))
        while await of_postgres(again) != world.tables:
            await asyncio.sleep(0.05)
    stop.set()
    await running
    await projector.close()
    await again.close()
    await log.close()


async def _cut_connections(dsn: str) -> int:
    connection = await asyncpg.connect(dsn)
    try:
        return int(
            await connection.fetchval(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )
        )
    finally:
        await connection.close()
