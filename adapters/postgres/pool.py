"""How is a connection made? One pool per process and purpose, with jsonb as Python values and uuids as text."""

import asyncio
from contextlib import suppress
from typing import Any

import asyncpg
import msgspec

from adapters.postgres.jsonb_numbers import decode_jsonb

CONNECT_SECONDS = 10.0
COMMAND_SECONDS = 30.0
"""No statement of ours takes longer on a healthy server; a hung connection is noticed by this."""

STATEMENT_SHARE = 2 / 3
"""Of that time, after which the server itself gives a statement up and says so: a report over too much, not an outage."""

WAIT_SHARE = 1 / 2
"""Of that time, after which whoever waits for a connection goes without: behind a database that is silent, each would else
wait for all before it."""

RELEASE_SECONDS = 5.0
"""A statement that was given up is called off on a connection of its own; where that goes unheard, ours is cut."""

CLOSE_SECONDS = 10.0
"""After which connections that are still in use are cut: whoever used them is gone or waits for nothing."""

QUERIES_MAX = 50_000
IDLE_SECONDS = 300.0
"""asyncpg's own: when a connection is made anew, and when one that nobody needs is given up."""

POOL_SIZE = 8
"""Two cores of a small server are busy with four; the rest waits for locks and commits."""

RESULTS_CHANNEL = "leadclock_results"
"""Where the projector says that results were written (NOTIFY); the word carries nothing, listeners look for themselves."""

FAILURES = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)
"""What a statement may fail with: the server refuses it, is away, or cuts the connection. asyncpg tells the last as a fault
of its own where the next statement comes before it has read to the end why."""

Pool = Any
"""`asyncpg.Pool`; its generic parameter is of no use to anybody here."""


class BoundedPool(asyncpg.Pool):  # type: ignore[misc]
    """A pool in which nobody waits without a bound: not for a connection, not to give it back, not for the end."""

    wait_seconds = WAIT_SHARE * COMMAND_SECONDS

    def acquire(self, *, timeout: float | None = None) -> Any:
        """Lend a connection. Raises `TimeoutError` where none is free or can be made in time."""
        return super().acquire(timeout=self.wait_seconds if timeout is None and not self._has_one_ready() else timeout)

    def _has_one_ready(self) -> bool:
        """Tell whether the next to be lent, the one that was given back last, is open: a timer would cost more than it."""
        free = self._queue._queue  # noqa: SLF001 - its own way to look costs as much
        return bool(free) and free[-1].is_connected()

    async def release(self, connection: Any, *, timeout: float | None = None) -> None:
        """Take a connection back. Raises `TimeoutError` where its statement cannot be called off in time; then it is cut."""
        await super().release(connection, timeout=RELEASE_SECONDS if timeout is None else timeout)

    async def close(self) -> None:
        """End all connections, those still in use by force when the time is up."""
        with suppress(TimeoutError):  # then asyncpg has cut them
            async with asyncio.timeout(CLOSE_SECONDS):
                await super().close()


async def open_pool(
    dsn: str, *, size: int = POOL_SIZE, command_seconds: float = COMMAND_SECONDS, minimum: int = 0, name: str = "leadclock"
) -> Pool:
    """Open a pool. Connections are made when they are needed, so the server may be away at first.

    Raises `OSError` or `asyncpg.PostgresError` where `minimum` connections cannot be made.
    """
    pool = BoundedPool(
        dsn,
        connection_class=asyncpg.Connection,
        record_class=asyncpg.Record,
        min_size=minimum,
        max_size=size,
        max_queries=QUERIES_MAX,
        max_inactive_connection_lifetime=IDLE_SECONDS,
        loop=None,
        timeout=CONNECT_SECONDS,
        command_timeout=command_seconds,
        init=prepare,
        reset=_skip_reset,
        server_settings={
            "application_name": name,
            "jit": "off",  # plans are short; compiling them costs more
            "statement_timeout": str(int(1000 * STATEMENT_SHARE * command_seconds)),
        },
    )
    pool.wait_seconds = WAIT_SHARE * command_seconds
    return await pool


async def prepare(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Set the codecs of a connection: jsonb is decoded, a uuid is its text."""
    await connection.set_type_codec("jsonb", schema="pg_catalog", encoder=_encode_jsonb, decoder=decode_jsonb, format="text")
    await connection.set_type_codec("uuid", schema="pg_catalog", encoder=str, decoder=str, format="text")


def _encode_jsonb(value: object) -> str:
    return msgspec.json.encode(value).decode()


async def _skip_reset(connection: object) -> None:
    """Save a round trip per use: nothing of ours leaves session state behind; listeners take their leave."""
