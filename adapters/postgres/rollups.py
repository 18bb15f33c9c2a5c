"""Which sums are pre-aggregated, and when? Those of marked (changed) days, then of their months and years."""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from math import ceil
from typing import TypeAlias

import asyncpg
from msgspec import Struct

from adapters.clock import wall_now
from adapters.postgres.database_errors import convert_read_errors
from adapters.postgres.pool import Pool
from adapters.postgres.reports import WORK_MEM, sums_again, sums_of
from adapters.postgres.rollup_reports import daily_categories, hourly_categories, pair_pieces, wide_pieces
from adapters.postgres.sql import Schemas, queries
from schemas.instant import HOUR, MINUTE, Instant, Millis, to_datetime

DAYS_AT_ONCE = 5
"""Marked days per transaction: with 100,000 calls a day some ten seconds, half of the statement timeout."""

PAIRED_AT_ONCE = 50_000
"""Rows whose pairs one statement adds up: 50 us per call, 100 us per lead, three times that on a busy machine."""

SPANS_AT_ONCE = 50
"""Months or years read at once; each has a transaction of its own."""

TURN_SECONDS = 40.0
"""Of one run, which starts each minute; the next one does the rest."""

LOCK_KEY = 7_108_301
"""Key of the advisory lock: one process makes rollups at a time."""

GAPS: Mapping[str, Millis] = {"day": 5 * MINUTE, "month": HOUR, "year": 6 * HOUR}
"""Minimum time between two rollups of one span. A span that keeps changing is meanwhile added up from the tier below."""

SOURCES = ("leads", "calls")
_OF_DAYS = (
    *("forget_days", "forget_hours", "roll_up_values_by_hour", "roll_up_days_of_hours"),
    *("roll_up_days", "roll_up_quarters", "roll_up_hours"),
)
"""Statements for days, in order: days are sums of the hours made before, and hours of quarters."""

_PARTS: Mapping[str, str] = {"month": "day", "year": "month"}

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


class RollupSpan(Struct, frozen=True):
    """A month or year of one company's leads or calls."""

    source: str
    company_id: int
    start: datetime
    until: datetime


class Rollups:
    """Makes the rollups; run it every minute. `now` is read for `gaps` only, wall time of this process.

    Raise `days_at_once` to roll up years of a known size at once.
    """

    def __init__(
        self,
        pool: Pool,
        schemas: Schemas = Schemas(),  # noqa: B008 - frozen
        *,
        gaps: Mapping[str, Millis] = GAPS,
        now: Callable[[], Instant] = wall_now,
        days_at_once: int = DAYS_AT_ONCE,
    ) -> None:
        self._pool = pool
        self._schemas = schemas
        self._sql = queries("rollups", schemas)
        self._gaps = gaps
        self._now = now
        self._days_at_once = days_at_once
        self._zones = ""

    async def run(self, seconds: float = TURN_SECONDS) -> int:
        """Make the rollups that are due; return the number of days, months and years. Raises `ReadsUnavailableError`."""
        until, rolled = time.monotonic() + seconds, 0
        async with convert_read_errors():
            self._zones = self._zones or await self._pool.fetchval(self._sql["zones"])
        for some in (self._days, self._months, self._years):
            while time.monotonic() < until and (count := await some()):
                rolled += count
        return rolled

    async def _days(self) -> int:
        async with convert_read_errors(), self._pool.acquire() as connection, connection.transaction():
            if not await self._take_lock(connection):
                return 0
            marks = await connection.fetch(self._sql["take_marks"], self._days_at_once, self._before("day"))
            days = {(mark["source"], mark["company_id"], mark["day"]) for mark in marks}
            for source in SOURCES:
                found = sorted((one[1], one[2]) for one in days if one[0] == source)
                if found:
                    await self._roll_up_days(connection, source, [one[0] for one in found], [one[1] for one in found])
            return len(days)

    async def _roll_up_days(
        self, connection: Connection, source: str, companies: Sequence[int], days: Sequence[datetime]
    ) -> None:
        # Calls of a day are stored near those of adjacent days: read pages, not single rows by an index.
        await connection.execute("SET LOCAL enable_indexscan = off")
        for name in _OF_DAYS:
            await connection.execute(self._filled(name, source), companies, days)
        await connection.execute(self._sql["remember_days"], companies, days, source, to_datetime(self._now()))
        for tier in ("month", "year"):
            await connection.execute(self._filled("outdate", source, tier), companies, days, source)

    async def _months(self) -> int:
        return await self._spans("month")

    async def _years(self) -> int:
        return await self._spans("year")

    async def _spans(self, tier: str) -> int:
        async with convert_read_errors():
            due = await self._pool.fetch(self._filled("due", "", tier), self._before(tier), SPANS_AT_ONCE)
            done = [await self._span(tier, RollupSpan(*(row[name] for name in RollupSpan.__struct_fields__))) for row in due]
        return sum(done)

    async def _span(self, tier: str, span: RollupSpan) -> bool:
        """Roll up a month or year. A mark made meanwhile stays, so that the span is not used."""
        async with self._pool.acquire() as connection, connection.transaction():
            if not await self._take_lock(connection):
                return False
            source, company, start = span.source, span.company_id, span.start
            await connection.execute(self._filled("forget_span", source, tier), company, start)
            await connection.execute(self._filled("roll_up_parts", source, tier), company, start, span.until)
            if tier == "month":
                for pieces in wide_pieces(source):
                    statement = self._filled("roll_up_rows", source, tier, pieces)
                    await connection.execute(statement, company, start, span.until)
                await self._roll_up_pairs(connection, span)
            await connection.execute(self._filled("remember_span", source, tier), company, start, source, self._moment())
            return True

    async def _roll_up_pairs(self, connection: Connection, month: RollupSpan) -> None:
        """Roll up the pairs of a month, in parts if it has many rows: a pair of values may have several sums."""
        source, company = month.source, month.company_id
        statement = self._filled("roll_up_pairs", source, "month", pair_pieces(source))
        rows = await connection.fetchval(self._filled("rows_of_days", source), company, month.start, month.until)
        parts = ceil(rows / PAIRED_AT_ONCE)
        edges = [month.start + (month.until - month.start) * part / parts for part in range(parts + 1)] if parts else []
        for since, until in pairwise(edges):
            await connection.execute(statement, company, month.start, since, until)

    async def _take_lock(self, connection: Connection) -> bool:
        """Take the lock if no other process has it, and set the memory for sums; both until the transaction ends."""
        if not await connection.fetchval(self._sql["alone"], LOCK_KEY):
            return False
        await connection.execute(f"SET LOCAL work_mem = '{WORK_MEM}'")
        return True

    def _filled(self, name: str, source: str, tier: str = "", more: Mapping[str, str] | None = None) -> str:
        pieces = {"each_day": self._sql["each_day"], "source": source, "tier": tier, "part": _PARTS.get(tier, "")}
        pieces |= more or {}
        if source:
            sums = sums_of(source)
            pieces |= {"names": ", ".join(sums), "sums": ", ".join(sums.values()), "sums_again": sums_again(source)}
            pieces["named_sums"] = ", ".join(f"{expression} AS {name}" for name, expression in sums.items())
            pieces |= {"daily": daily_categories(source), "hourly": hourly_categories(source), "zones": self._zones}
        text = self._sql[name]
        for piece, value in pieces.items():
            text = text.replace(f"{{{piece}}}", value)
        return self._schemas.fill(text)

    def _moment(self) -> datetime:
        return to_datetime(self._now())

    def _before(self, tier: str) -> datetime:
        return self._moment() - timedelta(milliseconds=self._gaps[tier])
