"""Is an Idempotency-Key one company's for a day?"""

import asyncio
from collections.abc import AsyncIterator

import pytest

from adapters.postgres.idempotency import PostgresIdempotencyKeys
from adapters.reads.ports import IdempotencyClaim
from schemas.instant import DAY
from tests.adapters.postgres.projected_rows import START, Shown


@pytest.fixture
async def shown(migrated_database: str) -> AsyncIterator[Shown]:
    shown = await Shown.on(migrated_database)
    yield shown
    await shown.close()


async def test_the_first_claim_of_a_key_stands(shown: Shown) -> None:
    claims = PostgresIdempotencyKeys(shown.pool)
    first = await claims.claim(1, "key", "digest", "r1", now=START)
    assert first == IdempotencyClaim(digest="digest", request_id="r1")
    assert await claims.claim(1, "key", "another", "r2", now=START + DAY - 1) == first
    assert (await claims.claim(2, "key", "another", "r3", now=START)).request_id == "r3"


async def test_a_key_is_free_again_after_a_day(shown: Shown) -> None:
    claims = PostgresIdempotencyKeys(shown.pool)
    await claims.claim(1, "key", "digest", "r1", now=START)
    assert (await claims.claim(1, "key", "other", "r2", now=START + DAY)).request_id == "r2"


async def test_of_many_at_once_one_wins(shown: Shown) -> None:
    claims = PostgresIdempotencyKeys(shown.pool)
    found = await asyncio.gather(*(claims.claim(1, "key", "d", f"r{number}", now=START) for number in range(20)))
    assert len(set(found)) == 1


async def test_the_first_answer_of_a_key_is_kept_until_the_key_is_free_again(shown: Shown) -> None:
    claims = PostgresIdempotencyKeys(shown.pool)
    await claims.claim(1, "key", "digest", "r1", now=START)
    assert await claims.keep(1, "key", "r1", b"first") == b"first"
    assert await claims.keep(1, "key", "r1", b"second") == b"first"
    assert (await claims.claim(1, "key", "digest", "r2", now=START + 1)).answer == b"first"
    assert (await claims.claim(1, "key", "digest", "r3", now=START + DAY)).answer is None
    assert await claims.keep(1, "key", "r1", b"late") == b"late"
    assert (await claims.claim(1, "key", "digest", "r4", now=START + DAY + 1)).answer is None
