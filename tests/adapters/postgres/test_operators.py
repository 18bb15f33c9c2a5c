"""Are the keys of operators bounded, and is a change audited that fails or is never finished? On a real database."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from adapters.postgres import operators
from adapters.postgres.operators import OperatorKeyError, PostgresOperators
from adapters.postgres.pool import open_pool
from adapters.reads.ports import OperatorChange, Row

NEWEST = 2**53
CHANGE = OperatorChange(key_id=1, actor="Ada", address="10.0.0.7", action="x.changed", subject="3:17", detail="as it was")


@pytest.fixture
async def store(migrated_database: str) -> AsyncIterator[PostgresOperators]:
    pool = await open_pool(migrated_database, size=4)
    yield PostgresOperators(pool)
    await pool.close()


async def newest(store: PostgresOperators) -> Row:
    return (await store.audits(before=NEWEST, limit=1))[0]


async def test_only_so_many_keys_are_there_and_a_revoked_one_counts_no_more(
    store: PostgresOperators, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operators, "KEYS_MAX", 2)
    for name in ("op_a", "op_b"):
        await store.create(name, "0" * 64, name)
    with pytest.raises(OperatorKeyError, match="there are 2 operator keys"):
        await store.create("op_c", "0" * 64, "c")
    assert (await newest(store))["outcome"].startswith("OperatorKeyError")
    await store.revoke("op_a")
    await store.create("op_c", "0" * 64, "c")
    assert [row["public_key"] for row in await store.keys()] == ["op_c", "op_b", "op_a"]
    assert all("private_key_sha256" not in dict(row) for row in await store.keys())


async def test_of_two_who_revoke_one_key_both_see_the_same_instant(store: PostgresOperators) -> None:
    await store.create("op_a", "0" * 64, "a")
    one, other = await asyncio.gather(store.revoke("op_a"), store.revoke("op_a"))
    assert one["revoked_at"] == other["revoked_at"]


async def test_a_change_that_fails_says_why_and_one_that_is_cut_off_says_nothing(store: PostgresOperators) -> None:
    with pytest.raises(ValueError, match="no"):
        async with store.audited(CHANGE):
            raise ValueError("no")
    assert (await newest(store))["outcome"] == "ValueError: no"
    with pytest.raises(asyncio.CancelledError):
        async with store.audited(CHANGE):
            raise asyncio.CancelledError
    row = await newest(store)
    assert (row["outcome"], row["actor"], row["address"], row["subject"]) == (None, "Ada", "10.0.0.7", "3:17")
