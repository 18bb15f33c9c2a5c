"""When is an unblock contact job over for a reader? When every partition of contacts that is projected has ended."""

from collections.abc import Sequence
from typing import Any

import pytest_asyncio

from adapters.postgres.pool import open_pool
from adapters.postgres.reads import PostgresReads
from adapters.projector.batch import OffsetRange, ProjectionBatch
from adapters.projector.postgres import PostgresStore
from adapters.projector.rows import unblock_sweep_row
from schemas.contact import UnblockSweep
from schemas.instant import EPOCH, Instant
from schemas.topics import CONTACTS_DECISIONS
from tests.contact_ids import CONTACT_IDS

COMPANY, JOB = 7, 70
TOPIC = CONTACTS_DECISIONS.name
ENDED = Instant(1_773_000_000_000)


@pytest_asyncio.fixture
async def pool(migrated_database: str) -> Any:
    pool = await open_pool(migrated_database, size=4)
    yield pool
    await pool.close()


async def write(pool: Any, partition: int, sweeps: Sequence[UnblockSweep]) -> None:
    """Project one decision of a partition, which changes these sweeps; without any it is only taken."""
    store = PostgresStore(pool)
    owned = await store.take(TOPIC, "id", partition)
    sequence = owned.sequence + 1
    batch = ProjectionBatch(OffsetRange(TOPIC, partition, owned.epoch, owned.next_offset, owned.next_offset + 1), sequence)
    for sweep in sweeps:
        row = unblock_sweep_row(CONTACT_IDS, sweep, partition, sequence)
        batch.rows.setdefault("unblock_sweeps", {})[row[:3]] = row
    if sweeps:
        await store.write(batch)
    await store.close()


def sweep(count: int = 0, *, company_id: int = COMPANY, **fields: Any) -> UnblockSweep:
    return UnblockSweep(company_id=company_id, job_id=JOB, blocked_until=EPOCH, made_at=EPOCH, unblock_count=count, **fields)


async def test_a_job_is_over_when_the_last_partition_has_ended(pool: Any) -> None:
    reads = PostgresReads(pool)
    for partition in range(3):
        await write(pool, partition, [])
    assert await reads.unblock_progress(COMPANY, [JOB]) == {}

    await write(pool, 0, [sweep(2, ended_at=ENDED, last_contact_key="7|+1", last_unblocked_at=ENDED - 5)])
    await write(pool, 2, [sweep(3, failed_count=1, last_contact_key="7|+2", last_unblocked_at=ENDED - 3)])
    found = (await reads.unblock_progress(COMPANY, [JOB]))[JOB]
    assert (found.partitions_begun, found.unblock_count, found.failed_count, found.ended_at) == (2, 5, 1, None)
    assert found.last_contact_id == CONTACT_IDS.id_of("7|+2")

    await write(pool, 2, [sweep(4, ended_at=ENDED + 9, version=2)])
    assert (await reads.unblock_progress(COMPANY, [JOB]))[JOB].ended_at is None
    await write(pool, 1, [sweep(ended_at=ENDED + 1)])  # no contact of the company
    found = (await reads.unblock_progress(COMPANY, [JOB]))[JOB]
    assert (found.partitions_begun, found.unblock_count, found.ended_at) == (3, 6, ENDED + 9)


async def test_the_sweeps_of_another_company_are_not_counted(pool: Any) -> None:
    await write(pool, 0, [sweep(2), sweep(5, company_id=8)])

    reads = PostgresReads(pool)
    assert (await reads.unblock_progress(COMPANY, [JOB]))[JOB].unblock_count == 2
    assert await reads.unblock_progress(9, [JOB]) == {}
