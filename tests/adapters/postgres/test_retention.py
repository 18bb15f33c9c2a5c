"""Are rows deleted when their time is over?"""

from collections.abc import AsyncIterator

import pytest

from adapters.postgres import retention
from adapters.postgres.idempotency import PostgresIdempotencyKeys
from adapters.postgres.reads import PostgresReads
from adapters.postgres.retention import Purge
from schemas.decisions import Answer, Cause
from schemas.instant import DAY
from tests.adapters.postgres.projected_rows import START, Shown


@pytest.fixture
async def shown(migrated_database: str) -> AsyncIterator[Shown]:
    shown = await Shown.on(migrated_database)
    yield shown
    await shown.close()


async def test_what_is_over_its_time_goes_away(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "PURGE_ROWS", 2)
    claims, reads = PostgresIdempotencyKeys(shown.pool), PostgresReads(shown.pool)
    for number in range(5):
        cause = Cause(kind="request", id=f"r{number}", key="1|+13055550100")
        await shown.decide(cause=cause, answer=Answer(status=200), at=START + number)
        await claims.claim(1, f"k{number}", "d", f"r{number}", now=START + number)
    assert await Purge(shown.pool).run(START + DAY) == 0
    assert await Purge(shown.pool).run(START + DAY + 4) == 8
    assert set(await reads.results([f"r{number}" for number in range(5)])) == {"r4"}
    assert await Purge(shown.pool).run(START + DAY + 4) == 0
