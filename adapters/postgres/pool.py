"""How are connections made and bounded? One pool per process and purpose, with jsonb as Python values and uuids as text."""

import asyncio
from contextlib import suppress
from typing import Any, Literal

import asyncpg

from adapters.postgres.jsonb_numbers import decode_jsonb
from schemas.wire import to_json

CONNECT_SECONDS = 10.0
COMMAND_SECONDS = 30.0
"""No statement of ours takes longer on a healthy server; this timeout detects a hung connection."""

STATEMENT_SHARE = 2 / 3
"""Share of that time after which the server cancels a statement: then a report was too large; the server is up."""

WAIT_SHARE = 1 / 2
"""Share of that time after which waiting for a connection fails: with a silent database, each would otherwise wait for all
before it."""

RELEASE_SECONDS = 5.0
"""An abandoned statement is cancelled on another connection; if that takes longer, its own connection is terminated."""

CLOSE_SECONDS = 10.0
"""After this, connections that are still in use are terminated."""

READ_BYTES = 32 * 1024
"""Of an answer at a time: some 300 rows, which take 1 ms to decode. asyncio reads 256 KB, and nothing else ran for 8 ms."""

QUERIES_MAX = 50_000
IDLE_SECONDS = 300.0
"""Defaults of asyncpg: when a connection is replaced, and when an idle one is closed."""

POOL_SIZE = 8
"""Four keep two cores of a small server busy; the others wait for locks and commits."""

RESULTS_CHANNEL = "leadclock_results"
"""The NOTIFY channel on which the projector announces results; without payload, listeners query the results."""

FAILURES = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)
"""Errors of a statement: the server refuses it, is down, or closes the connection. asyncpg may report the last as an
internal error, if the next statement comes before it has read the reason."""

Plans = Literal["auto", "force_custom_plan"]
"""When PostgreSQL plans a prepared statement: `auto`, a few times, then it keeps a plan; `force_custom_plan`, each time.
A plan that is kept from an empty table scans the table, however much it grows, until the table is analysed: a record of
ten outcomes took 14.7 ms at 20,000 rows instead of 0.5 ms, to which planning adds 0.3 ms."""

Pool = Any
"""`asyncpg.Pool`, without its generic parameter."""


class BoundedPool(asyncpg.Pool):  # type: ignore[misc]
    """A pool with a timeout for each wait: for a connection, for its release, for the close."""

    wait_seconds = WAIT_SHARE * COMMAND_SECONDS

    def acquire(self, *, timeout: float | None = None) -> Any:
        """Acquire a connection. Raises `TimeoutError` if none is free or can be made in time."""
        return super().acquire(timeout=self.wait_seconds if timeout is None and not self._has_one_ready() else timeout)

    def _has_one_ready(self) -> bool:
        """Return whether the next connection (last in, first out) is open; then a timer would be wasted."""
        free = self._queue._queue  # noqa: SLF001 - the public way costs as much as the timer
        return bool(free) and free[-1].is_connected()

    async def release(self, connection: Any, *, timeout: float | None = None) -> None:
        """Release a connection. Raises `TimeoutError` if its statement cannot be cancelled in time; then it is closed."""
        await super().release(connection, timeout=RELEASE_SECONDS if timeout is None else timeout)

    async def close(self) -> None:
        """Close all connections; terminate those still in use after `CLOSE_SECONDS`."""
        with suppress(TimeoutError):  # then asyncpg has terminated them
            async with asyncio.timeout(CLOSE_SECONDS):
                await super().close()


async def open_pool(
    dsn: str,
    *,
    size: int = POOL_SIZE,
    command_seconds: float = COMMAND_SECONDS,
    minimum: int = 0,
    name: str = "leadclock",
    plans: Plans = "auto",
) -> Pool:
    """Open a pool. Connections are made on demand, so the server may be down at first.

    Raises `OSError` or `asyncpg.PostgresError` if `minimum` connections cannot be made.
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
            "plan_cache_mode": plans,
            "statement_timeout": str(int(1000 * STATEMENT_SHARE * command_seconds)),
        },
    )
    pool.wait_seconds = WAIT_SHARE * command_seconds
    return await pool


async def prepare(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Set the codecs of a connection (jsonb as a Python value, uuid as text), and how much is read of an answer at once."""
    _read_in_pieces(connection)
    await connection.set_type_codec("jsonb", schema="pg_catalog", encoder=_encode_jsonb, decoder=decode_jsonb, format="text")
    await connection.set_type_codec("uuid", schema="pg_catalog", encoder=str, decoder=str, format="text")


def _read_in_pieces(connection: Any) -> None:
    """Let the event loop do other work between two parts of a long answer.

    asyncpg decodes each part when it arrives. asyncio has no public option for its size.
    """
    transport = connection._transport  # noqa: SLF001
    for reads in (transport, getattr(transport, "_ssl_protocol", transport)):
        if hasattr(reads, "max_size"):
            reads.max_size = READ_BYTES


def _encode_jsonb(value: object) -> str:
    return to_json(value).decode()


async def _skip_reset(connection: object) -> None:
    """Do nothing, which saves a round trip per use: statements leave no session state, and listeners remove themselves."""
