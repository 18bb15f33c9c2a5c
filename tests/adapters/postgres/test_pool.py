"""Does nobody wait without a bound for a database that says nothing?"""

import asyncio
import os
import signal

import pytest

from adapters.postgres import pool as pools
from adapters.postgres.pool import READ_BYTES, open_pool


async def test_who_waits_for_a_connection_goes_without_when_the_time_is_up(database: str) -> None:
    pool = await open_pool(database, size=1)
    pool.wait_seconds = 0.05
    async with pool.acquire(timeout=20.0):
        with pytest.raises(TimeoutError):
            await pool.fetchval("SELECT 1")
    pool.wait_seconds = 20.0
    assert await pool.fetchval("SELECT 1") == 1
    await pool.close()


async def test_a_server_that_takes_a_connection_and_says_nothing_is_not_waited_for() -> None:
    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(say_nothing, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()[:2]
        pool = await open_pool(f"postgresql://nobody@{host}:{port}/nothing", size=1)
        pool.wait_seconds = 0.05
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await pool.fetchval("SELECT 1")
        await pool.close()


async def test_a_connection_whose_statement_cannot_be_called_off_is_cut(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "RELEASE_SECONDS", 0.05)
    pool = await open_pool(database, size=1)
    pid = await pool.fetchval("SELECT pg_backend_pid()")
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(TimeoutError):
            await pool.fetchval("SELECT 1", timeout=0.05)
        assert await pool.fetchval("SELECT pg_backend_pid()") != pid, "the place is free for a connection that answers"
    finally:
        os.kill(pid, signal.SIGCONT)
    await pool.close()


async def test_the_end_is_not_waited_for_while_somebody_keeps_a_connection(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "CLOSE_SECONDS", 0.05)
    pool = await open_pool(database, size=1)
    connection = await pool.acquire()
    await pool.close()
    with pytest.raises(pools.FAILURES):
        await connection.fetchval("SELECT 1")


async def test_a_connection_reads_a_long_answer_in_pieces(database: str) -> None:
    """asyncio and asyncpg may rename what is private; nothing else would show it."""
    pool = await open_pool(database, size=1)
    async with pool.acquire() as connection:
        assert connection._transport.max_size == READ_BYTES
        rows = await connection.fetch("SELECT n, repeat('x', 100) AS text FROM generate_series(1, 20000) AS n")
    assert [row["n"] for row in rows] == list(range(1, 20_001))
    assert {row["text"] for row in rows} == {"x" * 100}
    await pool.close()
