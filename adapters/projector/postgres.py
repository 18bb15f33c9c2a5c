"""How is a batch written to PostgreSQL? In one transaction: the position first, then all rows by `unnest`, table by table.

The position is moved before the rows are sent, so that a former owner fails with its first statement (fencing by epoch).
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import asyncpg

from adapters.errors import StoreError
from adapters.postgres.pool import FAILURES, RESULTS_CHANNEL, Pool
from adapters.postgres.sql import Schemas, queries
from adapters.postgres.tables import TABLES
from adapters.postgres.upserts import upserts
from adapters.projector.batch import ProjectionBatch
from adapters.projector.rows import Row
from adapters.projector.store import (
    OwnedPartition,
    OwnershipLostError,
    PartitionPosition,
    PositionMovedError,
    RowsRefusedError,
    TopicChangedError,
)
from schemas.instant import from_datetime

ANNOUNCE_GAP_SECONDS = 0.01
"""Between two NOTIFYs of a process: each takes a lock that all committing transactions wait for."""

AWAY_SECONDS = 0.5
"""Before the announcer retries to get a connection."""

AWAY = (OSError, asyncio.TimeoutError, asyncpg.InterfaceError, asyncpg.PostgresConnectionError)
"""Connection errors: the statement itself may be right."""

UNFIT = (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError, asyncpg.ProgramLimitExceededError, ValueError)
"""Errors of a row: retrying cannot help. asyncpg raises `ValueError` for what it cannot encode."""


class PostgresStore:
    """The projection in the schema `schemas.read`. One connection of the pool is used for NOTIFY."""

    def __init__(self, pool: Pool, *, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("projection", schemas)
        self._upserts = upserts(schemas)
        self._announcer = _Announcer(pool)

    async def take(self, topic: str, topic_id: str, partition: int) -> OwnedPartition:
        """Become the owner of a partition."""
        async with self._connection() as connection:
            row = await connection.fetchrow(self._sql["take_position"], topic, partition, topic_id)
        if row["topic_id"] != topic_id:
            raise TopicChangedError(f"{topic} was deleted and made again since it was projected: run `leadclock recover`")
        return OwnedPartition(row["epoch"], row["next_offset"], row["sequence"], row["last_digest"])

    async def write(self, batch: ProjectionBatch) -> None:
        """Write rows and position, all or nothing."""
        async with self._connection() as connection:
            try:
                async with connection.transaction():
                    if await self._move(connection, batch):
                        await self._write_rows(connection, batch)
            except UNFIT as error:
                raise RowsRefusedError(str(error)) from error

    async def announce(self) -> None:
        """Notify processes that wait for results."""
        self._announcer.announce()

    async def positions(self) -> list[PartitionPosition]:
        """Return every position, by topic and partition."""
        async with self._connection() as connection:
            rows = await connection.fetch(self._sql["positions"])
        return [
            PartitionPosition(
                topic=row["topic"],
                partition=row["partition"],
                topic_id=row["topic_id"],
                epoch=row["epoch"],
                next_offset=row["next_offset"],
                sequence=row["sequence"],
                decided_at=None if row["decided_at"] is None else from_datetime(row["decided_at"]),
            )
            for row in rows
        ]

    async def close(self) -> None:
        """Stop announcing; the pool stays open."""
        await self._announcer.close()

    async def _move(self, connection: Any, batch: ProjectionBatch) -> bool:
        """Move the position; return False if this very batch is written already (its commit was in doubt)."""
        offset_range = batch.offset_range
        moved = await connection.fetchval(
            self._sql["move_position"],
            *(
                offset_range.topic,
                offset_range.partition,
                offset_range.epoch,
                offset_range.offset,
                offset_range.offset_after,
                batch.sequence,
                batch.decided_at,
                offset_range.last_digest,
            ),
        )
        if moved is not None:
            return True
        row = await connection.fetchrow(self._sql["position"], offset_range.topic, offset_range.partition)
        if row is None or row["epoch"] != offset_range.epoch:
            raise OwnershipLostError(f"another owner took {offset_range.topic}[{offset_range.partition}]")
        if row["next_offset"] != offset_range.offset_after:
            raise PositionMovedError(f"{offset_range.topic}[{offset_range.partition}] was moved to {row['next_offset']}")
        return False

    async def _write_rows(self, connection: Any, batch: ProjectionBatch) -> None:
        queues = batch.queues()
        before = await self._queues_as_shown(connection, batch, queues)
        await self._write_tables(connection, batch)
        await self._show_waiting(connection, batch, queues, before)
        await self._send(connection, "insert_history", batch.history)
        await self._send(connection, "insert_results", [batch.results[key] for key in sorted(batch.results)])
        await self._send(connection, "insert_impressions", batch.impressions)
        await self._send(connection, "insert_faults", batch.faults)

    async def _queues_as_shown(
        self, connection: Any, batch: ProjectionBatch, queues: Sequence[tuple[int, str]]
    ) -> list[Any]:
        """Return what queues for slots wait for, as the database has it."""
        if not queues:
            return []
        found: list[Any] = await connection.fetch(
            self._sql["queues_as_shown"], batch.offset_range.partition, *map(list, zip(*queues, strict=True))
        )
        return found

    async def _show_waiting(
        self, connection: Any, batch: ProjectionBatch, queues: Sequence[tuple[int, str]], before: Sequence[Any]
    ) -> None:
        """Show what their queue waits for with the leads that wait in it: those of changed queues, and those written.

        So a queue that closes or opens costs no decision for each of its leads.
        """
        partition, known = batch.offset_range.partition, set(before)
        after = await self._queues_as_shown(connection, batch, queues)
        changed = [(row["company_id"], row["queue"]) for row in after if row not in known]
        if changed:
            await connection.execute(self._sql["show_queues"], partition, *map(list, zip(*changed, strict=True)))
        if waiting := batch.waiting_leads():
            await connection.execute(self._sql["show_waiting_leads"], partition, *map(list, zip(*waiting, strict=True)))

    async def _write_tables(self, connection: Any, batch: ProjectionBatch) -> None:
        if batch.parts:
            parts = [batch.parts[key] for key in sorted(batch.parts)]
            await connection.execute(self._sql["upsert_token_parts"], *map(list, zip(*parts, strict=True)))
        for table in TABLES:
            rows = batch.rows.get(table.name)
            if rows:
                await connection.execute(self._upserts[table.name], [rows[key] for key in sorted(rows)])
            split = batch.split.get(table.name)
            if split:  # before removals: a row that is marked as deleted keeps its tokens
                columns = zip(*((*key, one.sequence, one.count) for key, one in sorted(split.items())), strict=True)
                await connection.execute(self._sql[f"join_{table.name}"], batch.offset_range.partition, *columns)
            removals = batch.removals.get(table.name)
            if removals:
                columns = zip(*((*item.key, item.sequence, item.at) for _, item in sorted(removals.items())), strict=True)
                await connection.execute(self._sql[f"remove_{table.name}"], batch.offset_range.partition, *columns)
        if batch.part_removals:
            removed = zip(*sorted(batch.part_removals.items()), strict=True)
            await connection.execute(self._sql["remove_token_parts"], batch.offset_range.partition, *removed)

    async def _send(self, connection: Any, name: str, rows: Sequence[Row]) -> None:
        if rows:
            await connection.execute(self._sql[name], rows)

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Any]:
        try:
            async with self._pool.acquire() as connection:
                yield connection
        except AWAY as error:
            cause = error.__context__ or error  # the error of the rollback hides the one before it
            raise StoreError(str(cause) or type(cause).__name__) from error
        except (asyncpg.PostgresError, asyncpg.InternalClientError) as error:
            await self._pool.expire_connections()  # cached types and plans of a connection may be stale
            raise StoreError(f"{type(error).__name__}: {error}") from error


class _Announcer:
    """Sends NOTIFY on a connection of its own. Listeners also poll, so a lost notification only costs time."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._wanted = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def announce(self) -> None:
        self._wanted.set()
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="announce results")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _run(self) -> None:
        while True:
            with suppress(*FAILURES):
                async with self._pool.acquire() as connection:
                    await self._notify_when_wanted(connection)
            await asyncio.sleep(AWAY_SECONDS)

    async def _notify_when_wanted(self, connection: Any) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            await connection.execute("SELECT pg_notify($1, '')", RESULTS_CHANNEL)
            await asyncio.sleep(ANNOUNCE_GAP_SECONDS)
