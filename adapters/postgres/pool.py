"""How is a connection made? One pool per process and purpose, with jsonb as Python values and uuids as text."""

from typing import Any

import asyncpg
import msgspec

CONNECT_SECONDS = 10.0
COMMAND_SECONDS = 30.0
"""No statement of ours takes longer on a healthy server; a hung connection is noticed by this."""

STATEMENT_SHARE = 2 / 3
"""Of that time, after which the server itself gives a statement up and says so: a report over too much, not an outage."""

POOL_SIZE = 8
"""Two cores of a small server are busy with four; the rest waits for locks and commits."""

RESULTS_CHANNEL = "leadclock_results"
"""Where the projector says that results were written (NOTIFY); the word carries nothing, listeners look for themselves."""

FAILURES = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)
"""What a statement may fail with: the server refuses it, is away, or cuts the connection. asyncpg tells the last as a fault
of its own where the next statement comes before it has read to the end why."""

Pool = Any
"""`asyncpg.Pool`; its generic parameter is of no use to anybody here."""


async def open_pool(
    dsn: str, *, size: int = POOL_SIZE, command_seconds: float = COMMAND_SECONDS, minimum: int = 0, name: str = "leadclock"
) -> Pool:
    """Open a pool. Connections are made when they are needed, so the server may be away at first.

    Raises `OSError` or `asyncpg.PostgresError` where `minimum` connections cannot be made.
    """
    return await asyncpg.create_pool(
        dsn,
        min_size=minimum,
        max_size=size,
        timeout=CONNECT_SECONDS,
        command_timeout=command_seconds,
        init=prepare,
        reset=_leave_as_it_is,
        server_settings={
            "application_name": name,
            "jit": "off",  # plans are short; compiling them costs more
            "statement_timeout": str(int(1000 * STATEMENT_SHARE * command_seconds)),
        },
    )


async def prepare(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Set the codecs of a connection: jsonb is decoded, a uuid is its text."""
    await connection.set_type_codec(
        "jsonb", schema="pg_catalog", encoder=_encoded, decoder=msgspec.json.decode, format="text"
    )
    await connection.set_type_codec("uuid", schema="pg_catalog", encoder=str, decoder=str, format="text")


def _encoded(value: object) -> str:
    return msgspec.json.encode(value).decode()


async def _leave_as_it_is(connection: object) -> None:
    """Save a round trip per use: nothing of ours leaves session state behind; listeners take their leave."""
