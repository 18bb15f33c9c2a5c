"""Which hours are added up beforehand? Those that were marked since: their sums are made anew, some at a time."""

from collections.abc import Sequence
from datetime import datetime

import asyncpg

from adapters.postgres.pool import Pool
from adapters.postgres.reads import reading
from adapters.postgres.reports import WORK_MEM, rolled_categories, sums_of
from adapters.postgres.sql import Schemas, queries

HOURS_AT_ONCE = 200
"""Marked hours of one transaction: some 100,000 calls of a large company, two or three seconds."""

TRANSACTIONS_MAX = 100
"""Of one turn; what is left is rolled up in the next one."""

LOCK_KEY = 7_108_301
"""Of the advisory lock: one process rolls up at a time, the others leave it to that one."""

Hour = tuple[int, datetime]


class Rollups:
    """Keeps the sums of hours; run it every minute."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("rollups", schemas)

    async def run(self) -> int:
        """Roll up what is marked and return the number of hours. Raises `ReadsUnavailableError`."""
        rolled = 0
        for _ in range(TRANSACTIONS_MAX):
            count = await self._some()
            rolled += count
            if count == 0:
                break
        return rolled

    async def _some(self) -> int:
        async with reading(), self._pool.acquire() as connection, connection.transaction():
            if not await connection.fetchval(self._sql["alone"], LOCK_KEY):
                return 0
            await connection.execute(f"SET LOCAL work_mem = '{WORK_MEM}'")
            marks = await connection.fetch(self._sql["take_marks"], HOURS_AT_ONCE)
            hours = {(mark["source"], mark["company_id"], mark["hour"]) for mark in marks}
            for source in ("leads", "calls"):
                await self._roll_up(connection, source, sorted((one[1], one[2]) for one in hours if one[0] == source))
            return len(hours)

    async def _roll_up(self, connection: "asyncpg.Connection[asyncpg.Record]", source: str, hours: Sequence[Hour]) -> None:
        companies, moments = [company for company, _ in hours], [moment for _, moment in hours]
        if not companies:
            return
        sums = sums_of(source)
        for name in ("forget", "roll_up"):
            text = self._sql[name].replace("{source}", source).replace("{names}", ", ".join(sums))
            text = text.replace("{sums}", ", ".join(sums.values())).replace("{categories}", rolled_categories(source))
            await connection.execute(text, companies, moments)
        await connection.execute(self._sql["remember"], companies, moments, source)
