"""Are sessions and attempts to sign in kept as a user may rely on, also by many processes at once?"""

import asyncio
from collections.abc import AsyncIterator

import pytest

from adapters.postgres.sign_ins import SESSIONS_MAX, PostgresSignIns
from adapters.reads.ports import SIGN_IN_LIMITS, UserSession
from tests.adapters.postgres.projected_rows import Shown


@pytest.fixture
async def shown(migrated_database: str) -> AsyncIterator[Shown]:
    shown = await Shown.on(migrated_database)
    yield shown
    await shown.close()


def session(number: int, user_id: int = 1) -> UserSession:
    return UserSession(id=f"ss_{user_id}_{number}", token_sha256="x", company_id=1, user_id=user_id, credentials="c")


async def test_a_session_is_found_until_it_ends(shown: Shown) -> None:
    sign_ins = PostgresSignIns(shown.pool)
    opened = await sign_ins.open(session(1))
    assert await sign_ins.find("ss_1_1") == opened
    assert await sign_ins.find("ss_1_2") is None
    await sign_ins.begin_second_factor("ss_1_1", "salt")
    found = await sign_ins.find("ss_1_1")
    assert found is not None
    assert (found.session, found.pending_salt) == (session(1), "salt")
    await sign_ins.end("ss_1_1")
    assert await sign_ins.find("ss_1_1") is None


async def test_use_is_noted_once_a_minute(shown: Shown) -> None:
    sign_ins = PostgresSignIns(shown.pool)
    await sign_ins.open(session(1))
    await shown.pool.execute("UPDATE work.sessions SET seen_at = seen_at - interval '59 minutes'")
    found = await sign_ins.find("ss_1_1")
    assert found is not None
    assert found.is_stale
    await sign_ins.touch("ss_1_1")
    found = await sign_ins.find("ss_1_1")
    assert found is not None
    assert not found.is_stale


async def test_many_sessions_are_read_and_noted_at_once(shown: Shown) -> None:
    sign_ins = PostgresSignIns(shown.pool)
    opened = {f"ss_1_{number}": await sign_ins.open(session(number)) for number in range(3)}
    await sign_ins.end("ss_1_2")
    await shown.pool.execute("UPDATE work.sessions SET seen_at = seen_at - interval '1 hour' WHERE id = 'ss_1_1'")
    assert await sign_ins.find_all((*opened, "ss_1_9")) == {"ss_1_0": opened["ss_1_0"]}
    await shown.pool.execute("UPDATE work.sessions SET seen_at = clock_timestamp() - interval '59 minutes'")
    await sign_ins.touch("ss_1_0", "ss_1_1")
    assert [one.is_stale for one in (await sign_ins.find_all(tuple(opened))).values()] == [False, False]


async def test_a_further_session_ends_the_oldest_of_its_user_alone(shown: Shown) -> None:
    sign_ins = PostgresSignIns(shown.pool)
    await sign_ins.open(session(0, user_id=2))
    for number in range(SESSIONS_MAX + 1):
        await sign_ins.open(session(number))
    kept = [await sign_ins.find(f"ss_1_{number}") is not None for number in range(SESSIONS_MAX + 1)]
    assert kept == [False, *[True] * SESSIONS_MAX]
    assert await sign_ins.find("ss_2_0") is not None


async def test_of_many_attempts_at_once_as_many_are_free_as_one_after_the_other(shown: Shown) -> None:
    sign_ins = PostgresSignIns(shown.pool)
    for kind, limit in SIGN_IN_LIMITS.items():
        waits = await asyncio.gather(*(sign_ins.begin_attempt(kind, kind) for _ in range(limit.free + 10)))
        assert waits.count(None) == limit.free, kind
    assert await sign_ins.begin_attempt("user", "another") is None


async def test_each_wait_is_twice_the_one_before_up_to_the_longest(shown: Shown) -> None:
    sign_ins, limit = PostgresSignIns(shown.pool), SIGN_IN_LIMITS["user"]
    for _ in range(limit.free):
        assert await sign_ins.begin_attempt("user", "ada") is None
    for longest in (10, 20, 40, 80, 160, 320, 640, 900, 900):
        wait = await sign_ins.begin_attempt("user", "ada")
        assert wait is not None
        assert longest - 5 < wait <= longest
        await shown.pool.execute("UPDATE work.sign_in_attempts SET last_at = last_at - make_interval(secs => $1)", longest)
        assert await sign_ins.begin_attempt("user", "ada") is None
    await sign_ins.forget_attempts("ada")
    assert await sign_ins.begin_attempt("user", "ada") is None


async def test_attempts_are_forgotten_after_a_day(shown: Shown) -> None:
    sign_ins, limit = PostgresSignIns(shown.pool), SIGN_IN_LIMITS["user"]
    await asyncio.gather(*(sign_ins.begin_attempt("user", "ada") for _ in range(limit.free)))
    await shown.pool.execute("UPDATE work.sign_in_attempts SET last_at = last_at - interval '25 hours'")
    found = [await sign_ins.begin_attempt("user", "ada") for _ in range(limit.free)]
    assert found == [None] * limit.free


async def test_an_attempt_that_was_right_is_taken_back_from_its_address(shown: Shown) -> None:
    sign_ins, limit = PostgresSignIns(shown.pool), SIGN_IN_LIMITS["address"]
    for _ in range(limit.free + 5):
        assert await sign_ins.begin_attempt("address", "a") is None
        await sign_ins.take_attempt_back("a")


async def test_a_code_is_good_once_and_none_before_it(shown: Shown) -> None:
    sign_ins = PostgresSignIns(shown.pool)
    found = await asyncio.gather(*(sign_ins.use_code(1, 1, 100) for _ in range(10)))
    assert found.count(True) == 1
    assert not await sign_ins.use_code(1, 1, 99)
    assert await sign_ins.use_code(1, 1, 101)
    assert await sign_ins.use_code(1, 2, 100)


async def test_a_purge_deletes_what_is_over_and_nothing_else(shown: Shown) -> None:
    sign_ins = PostgresSignIns(shown.pool)
    for number in range(2):
        await sign_ins.open(session(number))
        await sign_ins.begin_attempt("user", f"user {number}")
    await shown.pool.execute("UPDATE work.sessions SET seen_at = seen_at - interval '1 hour' WHERE id = 'ss_1_0'")
    await shown.pool.execute(
        "UPDATE work.sign_in_attempts SET last_at = last_at - interval '1 day' WHERE subject = 'user 0'"
    )
    await sign_ins.purge()
    assert await shown.pool.fetchval("SELECT array_agg(id) FROM work.sessions") == ["ss_1_1"]
    assert await shown.pool.fetchval("SELECT array_agg(subject) FROM work.sign_in_attempts") == ["user 1"]
