"""What stands beside the read schema while it is rebuilt, and how does it take its place?

All of it is done by one connection, which holds the right to rebuild (an advisory lock) for as long as it lives: a second
rebuild is refused, and a process that lost its connection can no longer swap anything.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import asyncpg

from adapters.postgres.migrate import migrate
from adapters.postgres.pool import FAILURES, prepare
from adapters.postgres.sql import Schemas, queries
from schemas.errors import DependencyError

LOCK_KEY = 7_108_302
"""Of the advisory lock: one process rebuilds at a time."""

CONNECT_SECONDS = 10.0
STATEMENT_SECONDS = 60.0
LOCK_SECONDS = 5
"""How long the freeze may wait for a batch under way, and the projectors behind it."""

DROP_ATTEMPTS = 12
DROP_PAUSE_SECONDS = 2.0
"""Between two attempts to drop what was read before: reports that began on it may still run, half a minute at most."""


class RebuildError(DependencyError):
    """A projection cannot be rebuilt or compared now; the text says why, and what to do."""


class RebuildSchema:
    """The schema that is built beside `schemas.read`, under the name `schema`. `open` first, `close` at the end."""

    def __init__(self, dsn: str, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._dsn = dsn
        self._schemas = schemas
        self.schema = f"{schemas.read}_rebuild"
        self.former = f"{schemas.read}_former"
        self._sql = {
            name: text.replace("{shadow}", self.schema).replace("{former}", self.former)
            for name, text in queries("rebuild", schemas).items()
        }
        self._lock_connection: Any = None

    @property
    def schemas(self) -> Schemas:
        """The shadow in the place of the read schema, for everything that writes or reads one."""
        return Schemas(read=self.schema, work=self._schemas.work)

    async def open(self) -> None:
        """Connect, and become the only one to rebuild. Raises `RebuildError`."""
        self._lock_connection = await asyncpg.connect(
            self._dsn,
            timeout=CONNECT_SECONDS,
            command_timeout=STATEMENT_SECONDS,
            server_settings={"application_name": "leadclock rebuild", "jit": "off"},
        )
        await prepare(self._lock_connection)
        if not await self._lock_connection.fetchval(self._sql["alone"], LOCK_KEY):
            raise RebuildError("another `leadclock projection rebuild` or `verify` is under way")
        if not await self._lock_connection.fetchval(self._sql["applied"]):
            raise RebuildError(
                f"there is no schema {self._schemas.read}: `leadclock db migrate` makes one, and the projectors fill it"
            )
        await self.drop_former()

    async def begin(self, note: str, *, afresh: bool) -> bool:
        """Make the shadow, or keep the one that an interrupted rebuild left under the same note; True where it was kept.

        The note names what rows are made of and by (release, topics): rows of two of them do not go into one projection.
        """
        note_before = await self._lock_connection.fetchval(self._sql["standing"])
        if note_before == note and not afresh and await self._lock_connection.fetchval(self._sql["same_files"]):
            return True
        await self._lock_connection.execute(f"DROP SCHEMA IF EXISTS {self.schema} CASCADE")
        await migrate(self._dsn, schemas=self.schemas, only=["read"])
        if not await self._lock_connection.fetchval(self._sql["same_files"]):
            raise RebuildError("the read schema is not that of this release: run `leadclock db migrate` first")
        await self._lock_connection.execute(f"COMMENT ON SCHEMA {self.schema} IS {_quoted(note)}")
        return False

    async def raise_epochs(self, places: Sequence[tuple[str, int, str]]) -> None:
        """Let whoever was building this write nothing more; a place is a topic, a partition and the topic's id."""
        await self._lock_connection.execute(self._sql["begin_epoch"], *map(list, zip(*places, strict=True)))

    async def fill(self, statements: Sequence[str], timeout_seconds: float) -> int:
        """Run statements in one transaction; return how many rows they inserted."""
        async with self._lock_connection.transaction():
            done = [await self._lock_connection.execute(statement, timeout=timeout_seconds) for statement in statements]
        return sum(int(status.rpartition(" ")[2]) for status in done if status.startswith("INSERT"))

    @asynccontextmanager
    async def frozen(self) -> AsyncIterator[None]:
        """Hold all positions of the read schema where they are; whoever reads is not held up.

        Commits at the end, rolls back on an error. Raises `RebuildError` where a batch under way takes too long.
        """
        async with self._lock_connection.transaction():
            await self._lock_connection.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
            try:
                await self._lock_connection.execute(self._sql["freeze"])
            except asyncpg.LockNotAvailableError as error:
                raise RebuildError(f"the projectors did not stand still within {LOCK_SECONDS} s; try again") from error
            yield

    async def swap(self) -> None:
        """Put the shadow in the place of the read schema; only within `frozen`, with both at the same decisions.

        Raises `RebuildError`, and then nothing is changed.
        """
        await self._lock_connection.execute(self._sql["freeze_shadow"])
        if not await self._lock_connection.fetchval(self._sql["same_files"]):
            raise RebuildError("the read schema was migrated meanwhile: run the rebuild again")
        await self._lock_connection.execute(self._sql["hand_over"])
        await self._lock_connection.execute(f"COMMENT ON SCHEMA {self.schema} IS NULL")
        await self._lock_connection.execute(self._sql["swap"])

    async def list_unequal_positions(self) -> list[str]:
        """Name the partitions that do not stand at the same decision in both."""
        rows = await self._lock_connection.fetch(self._sql["apart"])
        return [f"{row['topic']}[{row['partition']}]" for row in rows]

    async def tables(self) -> list[str]:
        """Name the tables of the shadow."""
        return [row["relname"] for row in await self._lock_connection.fetch(self._sql["tables"])]

    async def vacuum(self, table: str, timeout_seconds: float) -> None:
        """Vacuum and analyse a table, so that the first reader of it gets good plans."""
        await self._lock_connection.execute(f"VACUUM (ANALYZE) {self.schema}.{table}", timeout=timeout_seconds)

    async def drop(self) -> None:
        """Drop the shadow."""
        await self._lock_connection.execute(f"DROP SCHEMA IF EXISTS {self.schema} CASCADE")

    async def drop_former(self, attempts: int = 1) -> bool:
        """Drop what was read before a swap; False where somebody still reads it, then the next rebuild does it."""
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
        """Let go of the connection, and with it of the right to rebuild. Never raises."""
        connection, self._lock_connection = self._lock_connection, None
        if connection is not None:
            with suppress(*FAILURES):
                await connection.close(timeout=CONNECT_SECONDS)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
