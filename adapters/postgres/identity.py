"""Which deployment is this the database of, and which of its processes use it now? One row, and one advisory lock."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Self

import asyncpg
import msgspec

from adapters.postgres.database_errors import DatabaseAwayError, describe_database_error
from adapters.postgres.migrate import check_digests
from adapters.postgres.pool import FAILURES
from adapters.postgres.sql import Schemas, queries
from schemas.deployment import AddedTopics, Deployment, with_topics
from schemas.errors import DependencyError
from schemas.wire import to_json

LOCK_KEY = 0x6C65616470726573
"""`leadpres` as a number: every process that uses the database holds this advisory lock, shared."""

FINGERPRINT_CLASS = 0x6C656164
"""`lead` as a number: with it each process shows the fingerprint of its secret key, as a shared lock of two parts."""

CONNECT_SECONDS = 10.0
RETRY_SECONDS = 5.0
"""How long a process whose connection was lost waits before it takes the lock again."""


class NotMigratedError(DependencyError):
    """The database lacks the tables of this release."""

    def __init__(self) -> None:
        super().__init__("the database lacks tables of this release: run `leadclock db migrate`")


async def read_identity(dsn: str, schemas: Schemas = Schemas()) -> Deployment | None:  # noqa: B008 - frozen
    """Return the identity that the database has, or None.

    Raises `OtherDataError`, `NotMigratedError`, `DatabaseAwayError`.
    """
    async with _connected(dsn) as connection:
        return await _read(connection, dsn, schemas)


async def record_identity(
    dsn: str,
    deployment: Deployment,
    *,
    adopt: bool = False,
    schemas: Schemas = Schemas(),  # noqa: B008 - frozen
) -> Deployment | None:
    """Record an identity if there is none, and what was added to it since; return the one that the database then has.

    None if the database was used before it had an identity, and `adopt` is false.
    Raises `OtherDataError`, `NotMigratedError`, `DatabaseAwayError`.
    """
    sql = queries("identity", schemas)
    async with _connected(dsn) as connection:
        found = await _read(connection, dsn, schemas)
        if found is None and (adopt or not await _is_used(connection, sql)):
            await connection.execute(sql["record"], deployment.id, to_json(deployment).decode())
            found = await _read(connection, dsn, schemas)
        if found is not None and found.id == deployment.id:
            newer = with_topics(deployment, AddedTopics(topics={**deployment.topics, **found.topics}))
            if newer != found:
                await connection.execute(sql["renew"], found.id, to_json(newer).decode())
            found = newer
        return found


async def _is_used(connection: Any, sql: dict[str, str]) -> bool:
    if await connection.fetchval(sql["is_worked"]):
        return True
    return bool(await connection.fetchval(sql["has_projection"]) and await connection.fetchval(sql["is_projected"]))


async def _read(connection: Any, dsn: str, schemas: Schemas) -> Deployment | None:
    sql = queries("identity", schemas)
    await check_digests(connection, dsn, schemas)
    if not await connection.fetchval(sql["migrated"]):
        raise NotMigratedError
    text = await connection.fetchval(sql["read"])
    return None if text is None else msgspec.json.decode(text, type=Deployment)


class Presence:
    """Shows other processes that this one uses the database, until it leaves.

    A connection of its own holds an advisory lock, which ends with the process: no stale entries. A second one shows the
    fingerprint of its secret key, where it has one.
    """

    def __init__(
        self,
        dsn: str,
        name: str,
        *,
        fingerprint: int | None = None,
        schemas: Schemas = Schemas(),  # noqa: B008 - frozen
    ) -> None:
        self._dsn = dsn
        self._name = name
        self._fingerprint = fingerprint
        self._sql = queries("identity", schemas)
        self._connection: Any = None
        self._task: asyncio.Task[None] | None = None

    async def take_alone(self) -> list[str]:
        """Take the lock if no other process has it; else return the names of those that do.

        Of two that do this at the same time, at most one succeeds. Raises `DatabaseAwayError`.
        """
        try:
            connection = await self._open()
            if not await connection.fetchval(self._sql["alone"], LOCK_KEY):
                names = [row["name"] or "a process" for row in await connection.fetch(self._sql["others"], LOCK_KEY)]
                await connection.close()
                return names or ["another `leadclock up --attach`"]
            await connection.execute(self._sql["present"], LOCK_KEY)
            await connection.execute(self._sql["together"], LOCK_KEY)
        except FAILURES as error:
            raise DatabaseAwayError(describe_database_error(self._dsn, error)) from error
        self._connection = connection
        return []

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._hold_lock(), name="presence")
        return self

    async def __aexit__(self, *_error: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self.leave()

    def leave(self) -> None:
        """Release the lock."""
        if self._connection is not None:
            self._connection.terminate()

    async def _hold_lock(self) -> None:
        """Hold the lock; take it again if the connection is lost."""
        while True:
            with suppress(*FAILURES):
                if self._connection is None or self._connection.is_closed():
                    self._connection = await self._open_locked()
            await asyncio.sleep(RETRY_SECONDS)

    async def _open_locked(self) -> Any:
        connection = await self._open()
        try:
            await connection.execute(self._sql["present"], LOCK_KEY)
            if self._fingerprint is not None:
                await connection.execute(self._sql["share_fingerprint"], FINGERPRINT_CLASS, self._fingerprint)
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def _open(self) -> Any:
        return await asyncpg.connect(self._dsn, timeout=CONNECT_SECONDS, server_settings={"application_name": self._name})


@asynccontextmanager
async def _connected(dsn: str) -> AsyncIterator[Any]:
    try:
        connection = await asyncpg.connect(dsn, timeout=CONNECT_SECONDS)
        try:
            yield connection
        finally:
            await connection.close(timeout=CONNECT_SECONDS)
    except FAILURES as error:
        raise DatabaseAwayError(describe_database_error(dsn, error)) from error
