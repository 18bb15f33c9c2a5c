"""Do both stores keep the promises of `ProjectionStore`? One suite for the dictionaries and for PostgreSQL."""

from collections.abc import AsyncIterator
from hashlib import blake2b

import pytest

from adapters.errors import StoreError
from adapters.postgres.pool import open_pool
from adapters.projector.batch import OffsetRange, ProjectionBatch, build_batch
from adapters.projector.postgres import PostgresStore
from adapters.projector.store import (
    OwnershipLostError,
    PositionMovedError,
    ProjectionStore,
    RowsRefusedError,
    TopicChangedError,
)
from engine.partition.ports import LogRecord
from schemas.instant import EPOCH
from tests.adapters.projector.histories import COMPANY, TOPIC, World, world_of
from tests.adapters.projector.memory import MemoryStore
from tests.adapters.projector.tables import rewind, tables_of
from tests.contact_ids import SHAPES
from tests.databases import migrated

Store = MemoryStore | PostgresStore


@pytest.fixture(params=["memory", "postgres"])
async def store(request: pytest.FixtureRequest, postgres_dsn: str) -> AsyncIterator[Store]:
    if request.param == "memory":
        yield MemoryStore()
        return
    async with migrated(postgres_dsn) as dsn:
        pool = await open_pool(dsn, size=4)
        postgres = PostgresStore(pool)
        yield postgres
        await postgres.close()
        await pool.close()


def batch(world: World, epoch: int, *, start: int = 0, stop: int | None = None, offset: int = 0) -> ProjectionBatch:
    records = world.records[1][start:stop]
    return build_batch(
        records, OffsetRange(TOPIC, 1, epoch, offset, records[-1].offset + 1), start, topic=TOPIC, shapes=SHAPES
    )


async def test_a_new_partition_is_read_from_its_start(store: ProjectionStore) -> None:
    owned = await store.take(TOPIC, "id", 1)
    assert (owned.epoch, owned.next_offset, owned.sequence) == (1, 0, 0)


async def test_rows_and_position_are_written_together(store: Store) -> None:
    world = world_of([("put", 1), ("put", 1)])
    await store.take(TOPIC, "id", 1)
    await store.write(batch(world, 1))
    (position,) = await store.positions()
    assert (position.next_offset, position.sequence) == (7, 2)
    assert position.decided_at == world.tables["leads"][COMPANY, 1]["updated_at"]
    assert await tables_of(store) == world.tables


async def test_a_batch_that_is_written_already_is_left_as_it_is(store: Store) -> None:
    world = world_of([("put", 1)])
    await store.take(TOPIC, "id", 1)
    await store.write(batch(world, 1))
    await store.write(batch(world, 1))
    assert await tables_of(store) == world.tables


async def test_a_former_owner_writes_nothing(store: Store) -> None:
    world = world_of([("put", 1)])
    await store.take(TOPIC, "id", 1)
    await store.take(TOPIC, "id", 1)
    with pytest.raises(OwnershipLostError):
        await store.write(batch(world, 1))
    assert (await tables_of(store))["leads"] == {}
    await store.write(batch(world, 2))
    with pytest.raises(OwnershipLostError):  # not even what its successor has written already
        await store.write(batch(world, 1))


async def test_a_position_that_was_moved_is_distinguished_from_an_owner_that_was_replaced(store: Store) -> None:
    world = world_of([("put", 1), ("put", 1)])
    await store.take(TOPIC, "id", 1)
    await store.write(batch(world, 1, stop=1))
    await rewind(store, TOPIC, 1, 0)
    with pytest.raises(PositionMovedError):
        await store.write(batch(world, 1, start=1, offset=4))
    owned = await store.take(TOPIC, "id", 1)
    assert (owned.next_offset, owned.sequence) == (0, 1)


async def test_a_topic_that_was_created_again_is_refused(store: ProjectionStore) -> None:
    await store.take(TOPIC, "id", 1)
    with pytest.raises(TopicChangedError):
        await store.take(TOPIC, "another id", 1)


async def test_a_decision_that_cannot_be_read_is_a_fault_and_the_partition_goes_on(store: Store) -> None:
    world = world_of([("put", 1), ("put", 1)])
    bad = LogRecord(TOPIC, 1, 0, None, b"{", (), EPOCH)
    await store.take(TOPIC, "id", 1)
    records = [bad, *world.records[1]]
    await store.write(
        build_batch(records, OffsetRange(TOPIC, 1, 1, 0, records[-1].offset + 1), 0, topic=TOPIC, shapes=SHAPES)
    )
    tables = await tables_of(store)
    assert tables["leads"] == world.tables["leads"]
    assert "truncated" in tables["faults"][TOPIC, 1, 0]["error"]


async def test_a_value_that_cannot_be_read_costs_its_row_and_not_the_history(store: Store) -> None:
    world = world_of([("put", 1)])
    (record,) = world.records[1]
    value = (record.value or b"").replace(b'"uuid":', b'"uid":')
    await store.take(TOPIC, "id", 1)
    await store.write(
        build_batch(
            [LogRecord(TOPIC, 1, 3, None, value, (), EPOCH)], OffsetRange(TOPIC, 1, 1, 0, 4), 0, topic=TOPIC, shapes=SHAPES
        )
    )
    tables = await tables_of(store)
    record_digest = blake2b(value, digest_size=16).digest()
    history = {key: row | {"digest": record_digest} for key, row in world.tables["history"].items()}
    assert (tables["leads"], tables["history"]) == ({}, history)
    assert "uuid" in tables["faults"][TOPIC, 1, 3]["error"]


async def test_text_that_postgresql_cannot_hold_is_shown_all_the_same(store: Store) -> None:
    world = world_of([("put", 1)])
    (record,) = world.records[1]
    value = (record.value or b"").replace(b'"Ann"', rb'"A\u0000n"')
    await store.take(TOPIC, "id", 1)
    await store.write(
        build_batch(
            [LogRecord(TOPIC, 1, 3, None, value, (), EPOCH)], OffsetRange(TOPIC, 1, 1, 0, 4), 0, topic=TOPIC, shapes=SHAPES
        ),
    )
    assert (await tables_of(store))["leads"][COMPANY, 1]["data"]["first_name"] == "A\ufffdn"


async def test_a_row_that_does_not_fit_leaves_the_whole_batch_unwritten(migrated_database: str) -> None:
    pool = await open_pool(migrated_database, size=4)
    store, world = PostgresStore(pool), world_of([("put", 1), ("put", 1)])
    await store.take(TOPIC, "id", 1)
    unfit = batch(world, 1)
    unfit.rows["leads"] = {(COMPANY, 2**80): (COMPANY, 2**80, *next(iter(unfit.rows["leads"].values()))[2:])}
    with pytest.raises(RowsRefusedError):
        await store.write(unfit)
    tables = await tables_of(store)
    assert (tables["leads"], tables["history"], (await store.positions())[0].next_offset) == ({}, {}, 0)
    await pool.close()


async def test_a_database_that_is_away_is_a_store_error() -> None:
    pool = await open_pool("postgresql://nobody@127.0.0.1:1/nothing")
    with pytest.raises(StoreError):
        await PostgresStore(pool).take(TOPIC, "id", 1)
    await pool.close()


async def test_a_missing_schema_is_a_store_error(database: str) -> None:
    pool = await open_pool(database)
    with pytest.raises(StoreError, match="positions"):
        await PostgresStore(pool).take(TOPIC, "id", 1)
    await pool.close()
