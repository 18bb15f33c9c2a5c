"""Do a gateway's statements read few rows when its table grows, before anything analyses it?"""

import asyncio
from collections.abc import AsyncIterator

import pytest

from adapters.postgres.deliveries import PostgresDeliveries
from adapters.postgres.group_commit import GROUP_MAX
from adapters.postgres.pool import Plans, Pool, open_pool
from schemas.instant import EPOCH
from tests.adapters.gateway.deliveries_contract import OUTCOME

FEW = 10
GROWN = 5_000
CLAIMANT = {"claimant": "a", "claim_id": "a1"}
PLANS: Plans = "force_custom_plan"
"""Those of the roles `gateway` and `deliverer`."""


@pytest.fixture
async def pool(migrated_database: str) -> AsyncIterator[Pool]:
    opened = await open_pool(migrated_database, size=1, plans=PLANS)
    await opened.execute("ALTER TABLE work.deliveries SET (autovacuum_enabled = false)")
    yield opened
    await opened.close()


async def deliver(store: PostgresDeliveries, ids: range) -> None:
    """Claim commands, record their outcomes, and mark these as posted."""
    names = [f"c{id_}" for id_ in ids]
    await asyncio.gather(
        *(store.claim(id_, company_id=1, kind="call", claimed_at=EPOCH, lease_seconds=30, **CLAIMANT) for id_ in names)
    )
    await store.renew(dict.fromkeys(names, CLAIMANT["claim_id"]), claimant=CLAIMANT["claimant"], lease_seconds=30)
    await asyncio.gather(*(store.record(id_, outcome=OUTCOME, recorded_at=EPOCH, **CLAIMANT) for id_ in names))
    await asyncio.gather(*(store.mark_posted(id_, posted_at=EPOCH) for id_ in names))


async def rows_scanned(pool: Pool) -> int:
    """Return how many rows of `work.deliveries` sequential scans have read."""
    await pool.execute("SELECT pg_stat_force_next_flush()")
    return int(await pool.fetchval("SELECT seq_tup_read FROM pg_stat_user_tables WHERE relid = 'work.deliveries'::regclass"))


async def test_statements_first_planned_for_an_empty_table_do_not_scan_it_when_it_has_grown(pool: Pool) -> None:
    store = PostgresDeliveries(pool)
    for start in range(0, 10 * FEW, FEW):  # more often than PostgreSQL plans it by itself
        await deliver(store, range(start, start + FEW))
    for start in range(100, GROWN, GROUP_MAX):
        await deliver(store, range(start, start + GROUP_MAX))

    before = await rows_scanned(pool)
    await deliver(store, range(GROWN + GROUP_MAX, GROWN + GROUP_MAX + FEW))

    assert await rows_scanned(pool) - before < GROWN
