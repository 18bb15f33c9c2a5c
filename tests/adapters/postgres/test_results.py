"""Does a client that waits for a request hear of it soon, and one that asks late or in vain get a plain answer?"""

import asyncio
from collections.abc import AsyncIterator

import pytest

from adapters.postgres import results as waiting
from adapters.postgres.pool import open_pool
from adapters.postgres.reads import PostgresReads
from adapters.postgres.results import ResultWaiter
from adapters.reads.ports import ReadsUnavailableError
from schemas.decisions import Answer, Cause
from tests.adapters.postgres.projected_rows import START, Shown

ANSWER = Answer(status=201, record_type="lead", record_id=5, dedupe_action="created", extra={"svc_number_plain": "+1305"})


@pytest.fixture
async def shown(migrated_database: str) -> AsyncIterator[Shown]:
    shown = await Shown.on(migrated_database)
    yield shown
    await shown.close()


@pytest.fixture
async def results(shown: Shown) -> AsyncIterator[ResultWaiter]:
    results = ResultWaiter(shown.pool, PostgresReads(shown.pool))
    results.start()
    yield results
    await results.close()


async def answer(shown: Shown, request_id: str, *, announce: bool = True) -> None:
    cause = Cause(kind="request", id=request_id, key="1|+13055550100")
    await shown.decide(cause=cause, answer=ANSWER, announce=announce)


async def test_a_result_that_is_there_is_returned_at_once(shown: Shown, results: ResultWaiter) -> None:
    await answer(shown, "r1")
    for timeout_seconds in (0.0, 5.0):
        found = await results.wait("r1", timeout_seconds)
        assert found is not None
        assert (found.request_id, found.company_id, found.verdict, found.decided_at) == ("r1", 1, "done", START)
        assert found.answer == ANSWER


async def test_a_waiting_request_hears_of_its_result(
    shown: Shown, results: ResultWaiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "POLL_SECONDS", 30.0)  # so that only the announcement can wake it
    asked = [asyncio.create_task(results.wait(name, 20.0)) for name in ("r1", "r1", "r2")]
    while not results._is_listening:
        await asyncio.sleep(0.01)
    await answer(shown, "other")
    await answer(shown, "r1")
    await answer(shown, "r2")
    assert [found.request_id for found in await asyncio.gather(*asked) if found is not None] == ["r1", "r1", "r2"]


async def test_a_word_that_is_lost_is_made_up_for(shown: Shown, results: ResultWaiter) -> None:
    asked = asyncio.create_task(results.wait("r1", 20.0))
    await asyncio.sleep(0.05)
    await answer(shown, "r1", announce=False)
    assert await asked is not None


async def test_the_time_is_kept(results: ResultWaiter) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert await results.wait("never", 0.2) is None
    assert loop.time() - began > 0.19
    assert results._waiting == {}
    assert await results.wait("never", 0.0) is None


async def lost_and_back(results: ResultWaiter) -> None:
    """Wait until a listener has noticed that its connection is gone, and hears on another."""
    async with asyncio.timeout(20.0):
        while results._is_listening:
            await asyncio.sleep(0)
        while not results._is_listening:
            await asyncio.sleep(0.001)


async def test_a_listener_that_lost_its_connection_comes_back(
    shown: Shown, results: ResultWaiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "RELISTEN_SECONDS", 0.01)
    monkeypatch.setattr(waiting, "ALIVE_SECONDS", 0.05)
    while not results._is_listening:
        await asyncio.sleep(0.01)
    async with shown.pool.acquire() as connection:
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            " AND datname = current_database()"
        )
    await lost_and_back(results)
    asked = asyncio.create_task(results.wait("r1", 20.0))
    await answer(shown, "r1", announce=False)
    assert await asked is not None


async def test_a_listener_whose_connection_ends_in_the_midst_gives_it_back(
    shown: Shown, results: ResultWaiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "RELISTEN_SECONDS", 0.01)
    monkeypatch.setattr(waiting, "ALIVE_SECONDS", 0.01)
    while not results._is_listening:
        await asyncio.sleep(0.001)
    for holder in shown.pool._holders:
        if holder._con is not None and holder._con._listeners:
            holder._con._protocol.abort()  # as where the server is lost: closed, and not tidied up after yet
    await lost_and_back(results)
    await results.close()
    assert [holder for holder in shown.pool._holders if holder._in_use is not None] == []


async def test_a_database_that_is_away_is_distinguished_from_no_result() -> None:
    pool = await open_pool("postgresql://nobody@127.0.0.1:1/nothing")
    results = ResultWaiter(pool, PostgresReads(pool))
    results.start()
    with pytest.raises(ReadsUnavailableError):
        await results.wait("r1", 0.3)
    with pytest.raises(ReadsUnavailableError):
        await results.wait("r1", 0.0)
    await results.close()
    await pool.close()
