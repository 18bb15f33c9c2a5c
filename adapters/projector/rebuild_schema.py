"""Into which schema is a projection rebuilt, and how does it replace the read schema?

One connection does everything. It holds an advisory lock for as long as it lives: a second rebuild is refused, and a
process that lost its connection can no longer swap.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import asyncpg

from adapters.postgres.migrate import migrate
from adapters.postgres.pool import FAILURES, prepare
from adapters.postgres.sql import Schemas, queries
from schemas.errors import DependencyError

LOCK_KEY = 7_108_302
"""Key of the advisory lock: one process rebuilds at a time."""

CONNECT_SECONDS = 10.0
STATEMENT_SECONDS = 60.0
LOCK_SECONDS = 5
"""How long the freeze may wait for a batch in progress, and projectors for the freeze."""

DROP_ATTEMPTS = 12
DROP_PAUSE_SECONDS = 2.0
"""Between two attempts to drop the former schema: reports that began on it run for half a minute at most."""


class RebuildError(DependencyError):
    """The projection cannot be rebuilt or compared now; the text says why and what to do."""


class RebuildRightsError(RebuildError):
    """The database role of this process may not make, rename or drop schemas: no retry can correct that."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the database role of this process may not make and rename schemas ({reason}); type `leadclock projection "
            "verify` or `leadclock projection rebuild` with the role that `leadclock db migrate` uses"
        )


class RebuildSchema:
    """The schema `schema` that is built beside `schemas.read`. `open` first, `close` at the end."""

    def __init__(self, dsn: str, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._dsn = dsn
        self._schemas = schemas
        self.schema = f"{schemas.read}_rebuild"
        self.former = f"{schemas.read}_former"
        self._sql = {
            name: text.replace("{rebuild}", self.schema).replace("{former}", self.former)
            for name, text in queries("rebuild", schemas).items()
        }
        self._lock_connection: Any = None

    @property
    def schemas(self) -> Schemas:
        """Return the names of schemas with this one in place of the read schema."""
        return Schemas(read=self.schema, work=self._schemas.work)

    async def open(self) -> None:
        """Connect and take the advisory lock. Raises `RebuildError` if another process holds it."""
        self._lock_connection = await asyncpg.connect(
            self._dsn,
            timeout=CONNECT_SECONDS,
            command_timeout=STATEMENT_SECONDS,
            server_settings={"application_name": "leadclock rebuild", "jit": "off"},
        )
        await prepare(self._lock_connection)
        if not await self._lock_connection.fetchval(self._sql["take_lock"], LOCK_KEY):
            raise RebuildError("another `leadclock projection rebuild` or `verify` is under way")
        if not await self._lock_connection.fetchval(self._sql["is_migrated"]):
            raise RebuildError(
                f"there is no schema {self._schemas.read}: `leadclock db migrate` makes one, and the projectors fill it"
            )
        await self.drop_former()

    async def begin(self, note: str, *, afresh: bool) -> bool:
        """Create the schema, or resume the one that an interrupted rebuild left with the same note; return True if resumed.

        The note names the release and the topics: rows of two releases or topics do not go into one projection.
        """
        note_before = await self._lock_connection.fetchval(self._sql["note"])
        if note_before == note and not afresh and await self._lock_connection.fetchval(self._sql["same_migrations"]):
            return True
        await self._lock_connection.execute(f"DROP SCHEMA IF EXISTS {self.schema} CASCADE")
        await migrate(self._dsn, schemas=self.schemas, only=["read"])
        if not await self._lock_connection.fetchval(self._sql["same_migrations"]):
            raise RebuildError("the read schema is not that of this release: run `leadclock db migrate` first")
        await self._lock_connection.execute(f"COMMENT ON SCHEMA {self.schema} IS {_quoted(note)}")
        return False

    async def raise_epochs(self, places: Sequence[tuple[str, int, str]]) -> None:
        """Fence former rebuilds of this schema by a higher epoch; a place is a topic, a partition and the topic's id."""
        await self._lock_connection.execute(self._sql["raise_epochs"], *map(list, zip(*places, strict=True)))

    async def fill(self, statements: Sequence[str], timeout_seconds: float) -> int:
        """Run statements in one transaction; return how many rows they inserted."""
        async with self._lock_connection.transaction():
            done = [await self._lock_connection.execute(statement, timeout=timeout_seconds) for statement in statements]
        return sum(int(status.rpartition(" ")[2]) for status in done if status.startswith("INSERT"))

    @asynccontextmanager
    async def frozen(self) -> AsyncIterator[None]:
        """Lock all positions of the read schema, so that projectors wait; readers do not wait.

        Commits at the end, rolls back on an error. Raises `RebuildError` if a batch in progress takes too long.
        """
        async with self._lock_connection.transaction():
            await self._lock_connection.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
            try:
                await self._lock_connection.execute(self._sql["freeze"])
            except asyncpg.LockNotAvailableError as error:
                raise RebuildError(f"the projectors did not pause within {LOCK_SECONDS} s; try again") from error
            yield

    async def may_swap(self) -> bool:
        """Return whether the role may rename the read schema."""
        return bool(await self._lock_connection.fetchval(self._sql["may_swap"]))

    async def swap(self, note: Callable[[Any], Awaitable[None]] | None = None) -> None:
        """Replace the read schema by this one; only within `frozen`, with both at the same decisions.

        `note` writes down the swap in its transaction, by this connection. Where it raises, or on `RebuildError`, nothing
        has changed.
        """
        await self._lock_connection.execute(self._sql["freeze_rebuild"])
        if not await self._lock_connection.fetchval(self._sql["same_migrations"]):
            raise RebuildError("the read schema was migrated meanwhile: run the rebuild again")
        await self._lock_connection.execute(self._sql["copy_epochs"])
        await self._lock_connection.execute(f"COMMENT ON SCHEMA {self.schema} IS NULL")
        await self._lock_connection.execute(self._sql["swap"])
        if note is not None:
            await note(self._lock_connection)

    async def list_unequal_positions(self) -> list[str]:
        """Return the partitions whose position differs between both schemas."""
        rows = await self._lock_connection.fetch(self._sql["unequal_positions"])
        return [f"{row['topic']}[{row['partition']}]" for row in rows]

    async def tables(self) -> list[str]:
        """Return the names of the schema's tables."""
        return [row["relname"] for row in await self._lock_connection.fetch(self._sql["tables"])]

    async def vacuum(self, table: str, timeout_seconds: float) -> None:
        """Vacuum and analyse a table, so that its first readers get good plans."""
        await self._lock_connection.execute(f"VACUUM (ANALYZE) {self.schema}.{table}", timeout=timeout_seconds)

    async def drop(self) -> None:
        """Drop the schema."""
        await self._lock_connection.execute(f"DROP SCHEMA IF EXISTS {self.schema} CASCADE")

    async def drop_former(self, attempts: int = 1) -> bool:
        """Drop the former read schema; return False if it is still being read, then the next rebuild drops it."""
        for attempt in range(attempts):
            if attempt:
                await asyncio.sleep(DROP_PAUSE_SECONDS)
            try:
                async with self._lock_connection.transaction():
                    await self._lock_connection.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
                    await self._lock_connection.execute(f"DROP SCHEMA IF EXISTS {self.former} CASCADE")
            except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError):
                continue
            return True
        return False

    async def close(self) -> None:
        """Close the connection, which releases the advisory lock. Never raises."""
        connection, self._lock_connection = self._lock_connection, None
        if connection is not None:
            with suppress(*FAILURES):
                await connection.close(timeout=CONNECT_SECONDS)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
