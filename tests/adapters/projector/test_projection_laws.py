"""Does it matter how decisions are cut into batches, which partition is ahead, or what is read again? It must not."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from adapters.postgres.pool import open_pool
from adapters.projector.batch import OffsetRange, build_batch
from adapters.projector.postgres import PostgresStore
from tests.adapters.projector.histories import PARTITIONS, TOPIC, World, world_of
from tests.adapters.projector.memory import MemoryStore
from tests.adapters.projector.tables import of_memory, of_postgres, rewind
from tests.contact_ids import SHAPES

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "move", "remove", "call", "slots", "slots", "queue", "queue", "result", "repeat"]),
        st.integers(min_value=1, max_value=4),
    ),
    max_size=40,
)
CUTS = st.lists(
    st.tuples(
        st.integers(min_value=0, max_value=PARTITIONS - 1),  # whose turn it is
        st.integers(min_value=1, max_value=12),  # how many decisions it writes
        st.sampled_from([None, None, None, 0, 1, 5]),  # how far it is set back afterwards
    ),
    max_size=20,
)
Cuts = list[tuple[int, int, int | None]]
Store = MemoryStore | PostgresStore

MOVED_AND_BACK = [("put", 1), ("move", 1), ("put", 1), ("move", 1), ("put", 1), ("remove", 1)]
CLOSED_AND_OPENED = [
    ("put", 1),
    ("queue", 1),
    ("put", 3),
    ("queue", 1),
    ("put", 1),
    ("queue", 3),
    ("remove", 3),
    ("queue", 1),
]
SECOND_FIRST: Cuts = [(1, 12, None), (0, 12, 0), (1, 12, 0)]


async def project(world: World, store: Store, cuts: Cuts) -> None:
    """Write everything, as the cuts say and then to the end."""
    for partition, count, back in cuts:
        await _write(world, store, partition, count)
        if back is not None:
            await rewind(store, TOPIC, partition, 3 * back)
    for partition in range(PARTITIONS):
        await _write(world, store, partition, len(world.records[partition]))


async def _write(world: World, store: Store, partition: int, count: int) -> None:
    owned = await store.take(TOPIC, "id", partition)
    records = [record for record in world.records[partition] if record.offset >= owned.next_offset][:count]
    if records:
        offset_range = OffsetRange(TOPIC, partition, owned.epoch, owned.next_offset, records[-1].offset + 1)
        await store.write(build_batch(records, offset_range, owned.sequence, topic=TOPIC, shapes=SHAPES))


@given(steps=STEPS, cuts=CUTS)
@example(steps=MOVED_AND_BACK, cuts=SECOND_FIRST)
@example(steps=CLOSED_AND_OPENED, cuts=SECOND_FIRST)
@settings(max_examples=300, deadline=None)
async def test_any_cut_and_any_repeat_gives_the_fold_of_the_decisions(steps: list[tuple[str, int]], cuts: Cuts) -> None:
    world, store = world_of(steps), MemoryStore()
    await project(world, store, cuts)
    assert of_memory(store) == world.tables


@pytest.fixture
async def pool(migrated_database: str) -> AsyncIterator[Any]:
    pool = await open_pool(migrated_database, size=4)
    yield pool
    await pool.close()


@given(steps=STEPS, cuts=CUTS)
@example(steps=MOVED_AND_BACK, cuts=SECOND_FIRST)
@example(steps=CLOSED_AND_OPENED, cuts=SECOND_FIRST)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_postgresql_gives_the_same_tables(pool: Any, steps: list[tuple[str, int]], cuts: Cuts) -> None:
    world, store = world_of(steps), PostgresStore(pool)
    async with pool.acquire() as connection:
        await connection.execute(f"TRUNCATE {', '.join(f'read.{name}' for name in (*world.tables, 'positions'))}")
    await project(world, store, cuts)
    assert await of_postgres(pool) == world.tables
