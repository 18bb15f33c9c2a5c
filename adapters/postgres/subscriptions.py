"""Where do events for subscriptions wait? One row each in `work.subscription_deliveries`, with a log of attempts beside."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs

from adapters.postgres.conditions import Statement, add_delivery_conditions
from adapters.postgres.database_errors import convert_read_errors, run_statement
from adapters.postgres.lists import Lists
from adapters.postgres.old_rows import delete_in_steps
from adapters.postgres.pool import Pool
from adapters.postgres.sql import Schemas, queries
from adapters.reads.ports import DeliveryFilter, Page, Paging, Row
from adapters.subscriptions.ports import (
    HELD_BACK_SECONDS,
    RETENTION_SECONDS,
    WAITING_MAX,
    DeliveryPlaces,
    DueDelivery,
    NewDelivery,
    PostAttempt,
)
from engine.partition.continuity import ReadMark
from schemas.instant import Instant, to_datetime

COUNT_SECONDS = 10.0
"""How old the counts of waiting events may be by which further ones are dropped."""

PURGE_ROWS = 5_000
"""Rows of one statement, so that it holds its locks for milliseconds."""

ATTEMPTS_SHOWN = 100
"""Newest attempts of a delivery that are shown; one that is never replayed has at most eight."""


STANDING_COLUMNS = (
    *("waiting_count", "failed_count", "last_delivered_at", "failing_since"),
    *("disabled_at", "disabled_reason", "dropped_count", "dropped_since"),
)


PROGRESS_COLUMNS = ("topic_id", "offset", "last_offset", "last_digest")
"""Of a mark, in the sequence of `save_progress`: events have no numbers of decisions."""


class PostgresSubscriptionStore:
    """Keeps the promises of `adapters.subscriptions.ports.SubscriptionStore`."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas(), *, waiting_max: int = WAITING_MAX) -> None:  # noqa: B008
        self._pool = pool
        self._sql = queries("subscriptions", schemas)
        self._waiting_max = waiting_max
        self._counts: dict[int, int] = defaultdict(int)
        self._counted_at = float("-inf")

    async def progress(self, topic: str, partition: int) -> ReadMark | None:
        """Return how far every event of a partition is stored, of a former topic too, or None."""
        row = await run_statement(self._pool.fetchrow(self._sql["progress"], topic, partition))
        return None if row is None else ReadMark(row["topic_id"], row["next_offset"], row["last_offset"], row["last_digest"])

    async def store(self, topic: str, marks: Mapping[int, ReadMark], deliveries: Sequence[NewDelivery]) -> None:
        """Store events and how far each partition was read, all or nothing."""
        if deliveries:
            await self._count()
        await run_statement(self._store(topic, marks, deliveries))

    async def disabled(self) -> frozenset[int]:
        """Return the subscriptions that are not sent to any more."""
        rows = await run_statement(self._pool.fetch(self._sql["disabled"]))
        return frozenset(row["subscription_id"] for row in rows)

    async def claim(
        self, places: Sequence[DeliveryPlaces], *, most: int, claimant: str, lease_seconds: float
    ) -> list[DueDelivery]:
        """Lease deliveries that are due."""
        columns = [list(column) for column in zip(*(structs.astuple(one) for one in places), strict=True)]
        given = *columns, most, claimant, lease_seconds, HELD_BACK_SECONDS
        rows = await run_statement(self._pool.fetch(self._sql["claim"], *given))
        return [DueDelivery(**row) for row in sorted(rows, key=lambda row: row["id"])]

    async def record(self, delivery_id: int, attempt: PostAttempt, *, claimant: str) -> bool:
        """Record an attempt."""
        given = delivery_id, claimant, attempt.status, attempt.detail, attempt.is_delivered
        row = await run_statement(
            self._pool.fetchrow(self._sql["record"], *given, attempt.retry_in_seconds, attempt.milliseconds)
        )
        if row is None or row["delivery_failing_since"] is None:
            return False
        accepted_at = row["last_delivered_at"]
        return accepted_at is None or accepted_at < row["delivery_failing_since"]

    async def release(self, delivery_ids: Sequence[int], *, claimant: str) -> None:
        """Give leases back under which nothing was sent."""
        await run_statement(self._pool.execute(self._sql["release"], list(delivery_ids), claimant))

    async def disable(self, subscription_id: int, reason: str) -> None:
        """Stop sending to a subscription."""
        await run_statement(self._pool.execute(self._sql["disable"], subscription_id, reason))

    async def purge(self) -> int:
        """Delete deliveries and attempts that are old."""
        return await self._purge("purge_deliveries") + await self._purge("purge_attempts")

    async def _purge(self, name: str) -> int:
        return await delete_in_steps(
            lambda: run_statement(self._pool.execute(self._sql[name], RETENTION_SECONDS, PURGE_ROWS)), PURGE_ROWS
        )

    async def _count(self) -> None:
        if time.monotonic() - self._counted_at < COUNT_SECONDS:
            return
        rows = await run_statement(self._pool.fetch(self._sql["waiting_counts"]))
        self._counts = defaultdict(int, {row["subscription_id"]: row["count"] for row in rows})
        self._counted_at = time.monotonic()

    async def _store(self, topic: str, marks: Mapping[int, ReadMark], deliveries: Sequence[NewDelivery]) -> None:
        kept: list[NewDelivery] = []
        dropped: dict[tuple[int, int], int] = defaultdict(int)
        for delivery in deliveries:
            if self._counts[delivery.subscription_id] < self._waiting_max:
                self._counts[delivery.subscription_id] += 1
                kept.append(delivery)
            else:
                dropped[delivery.subscription_id, delivery.company_id] += 1
        async with self._pool.acquire() as connection, connection.transaction():
            if kept:
                await connection.execute(self._sql["insert"], *_columns(kept))
            for (subscription_id, company_id), count in sorted(dropped.items()):
                await connection.execute(self._sql["drop"], subscription_id, company_id, count)
            ordered = dict(sorted(marks.items()))
            columns = [[getattr(mark, name) for mark in ordered.values()] for name in PROGRESS_COLUMNS]
            await connection.execute(self._sql["save_progress"], topic, list(ordered), *columns)


class PostgresSubscriptionReads:
    """Keeps the promises of `adapters.reads.ports.SubscriptionReads`."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("subscriptions", schemas)
        self._lists = Lists(pool, schemas, self._sql)

    async def deliveries(self, company_id: int, wanted: DeliveryFilter, paging: Paging) -> Page:
        """Return deliveries, newest first."""
        statement = Statement(company_id)
        add_delivery_conditions(wanted, statement)
        return await self._lists.page("deliveries", statement, paging, "id")

    async def body(self, company_id: int, delivery_id: int) -> str | None:
        """Return what a delivery sends."""
        async with convert_read_errors():
            body: str | None = await self._pool.fetchval(self._sql["body"], company_id, delivery_id)
        return body

    async def attempts(self, delivery_id: int) -> Sequence[Row]:
        """Return the attempts of a delivery, newest first."""
        async with convert_read_errors():
            rows: Sequence[Row] = await self._pool.fetch(self._sql["attempts"], delivery_id, ATTEMPTS_SHOWN)
        return rows

    async def standings(self, company_id: int, subscription_ids: Sequence[int]) -> Mapping[int, Row]:
        """Return how the receiver of each subscription does."""
        async with convert_read_errors():
            rows = await self._pool.fetch(self._sql["standings"], company_id, list(subscription_ids))
        return {row["subscription_id"]: {name: row[name] for name in STANDING_COLUMNS} for row in rows}

    async def replay(
        self, company_id: int, subscription_id: int, *, since: Instant, until: Instant, states: Sequence[str]
    ) -> int:
        """Send the events of a span again."""
        given = company_id, subscription_id, to_datetime(since), to_datetime(until), list(states), WAITING_MAX
        async with convert_read_errors():
            status: str = await self._pool.execute(self._sql["replay"], *given)
        return int(status.rpartition(" ")[2])

    async def enable(self, company_id: int, subscription_id: int) -> None:
        """Send to a subscription again, at once."""
        async with convert_read_errors(), self._pool.acquire() as connection, connection.transaction():
            await connection.execute(self._sql["enable"], company_id, subscription_id)
            await connection.execute(self._sql["wake"], company_id, subscription_id)


def _columns(deliveries: Sequence[NewDelivery]) -> list[list[Any]]:
    rows = (
        (
            *(one.webhook_id, one.company_id, one.subscription_id, one.event, one.lead_id, one.call_id),
            *(to_datetime(one.occurred_at), one.body.decode()),
        )
        for one in deliveries
    )
    return [list(column) for column in zip(*rows, strict=True)]
