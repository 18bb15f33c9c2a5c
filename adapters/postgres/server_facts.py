"""What does the database say of itself, which secret keys have the processes that use it, which commands were refused?"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
from msgspec import Struct

from adapters.postgres.database_errors import DatabaseAwayError, describe_database_error
from adapters.postgres.identity import FINGERPRINT_CLASS, LOCK_KEY
from adapters.postgres.pool import CONNECT_SECONDS, FAILURES
from adapters.postgres.sql import queries
from schemas.instant import Instant, from_datetime


class ServerFacts(Struct, frozen=True, kw_only=True):
    """`now` is the server's clock when it answered. The last two are about the connection that asked.

    `tls_version` is None in clear text. `certificate`, as the ssl module gives it, is None where it was not checked.
    """

    version: str
    now: Instant
    tls_version: str | None
    certificate: Mapping[str, Any] | None


class UsingProcess(Struct, frozen=True):
    """A process that uses the database; `fingerprint` of its secret key, None where it shows none."""

    name: str
    fingerprint: int | None


async def read_server_facts(dsn: str) -> ServerFacts:
    """Return what the server says. Raises `DatabaseAwayError`."""
    async with _connected(dsn) as connection:
        sql = queries("identity")
        # The clock last, and alone: the time of its answer is compared with ours.
        row = await connection.fetchrow(sql["server"])
        now = await connection.fetchval(sql["clock"])
        # asyncpg has no public way to the certificate; the ssl module gives a checked one alone.
        certificate = connection._transport.get_extra_info("peercert") or None  # noqa: SLF001
    return ServerFacts(
        version=row["version"],
        now=from_datetime(now),
        tls_version=row["tls_version"],
        certificate=certificate,
    )


async def read_using_processes(dsn: str) -> list[UsingProcess]:
    """Return the processes that use the database now. Raises `DatabaseAwayError`."""
    async with _connected(dsn) as connection:
        rows = await connection.fetch(queries("identity")["fingerprints"], LOCK_KEY, FINGERPRINT_CLASS)
    return [UsingProcess(row["name"], row["fingerprint"]) for row in rows]


async def read_refused_commands(dsn: str) -> dict[str, int]:
    """Return how many commands of each topic were decided again, and refused. Raises `DatabaseAwayError`."""
    async with _connected(dsn) as connection:
        return {row["topic"]: row["refused"] for row in await connection.fetch(queries("deliveries")["refused"])}


@asynccontextmanager
async def _connected(dsn: str) -> AsyncIterator[Any]:
    try:
        connection = await asyncpg.connect(dsn, timeout=CONNECT_SECONDS, command_timeout=CONNECT_SECONDS)
        try:
            yield connection
        finally:
            await connection.close(timeout=CONNECT_SECONDS)
    except FAILURES as error:
        raise DatabaseAwayError(describe_database_error(dsn, error)) from error
