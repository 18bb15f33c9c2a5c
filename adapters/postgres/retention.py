"""How long do tables keep rows that expire? Results and keys for a day, impressions for 30 days, the send log for 90."""

from adapters.postgres.database_errors import convert_read_errors
from adapters.postgres.idempotency import KEY_RETENTION
from adapters.postgres.old_rows import delete_in_steps
from adapters.postgres.pool import Pool
from adapters.postgres.sql import Schemas, queries
from adapters.reads.ports import RESULT_RETENTION
from schemas.instant import DAY, Instant, to_datetime
from schemas.topics import IMPRESSION_RETENTION_MS

SEND_LOG_RETENTION = 90 * DAY
"""As long as dead letters: what a complaint about a delivery needs."""

PURGE_ROWS = 5_000
"""Rows deleted in one statement, so that it holds its locks for milliseconds."""


class Purge:
    """Deletes expired rows; run it every few minutes."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("retention", schemas)

    async def run(self, now: Instant) -> int:
        """Delete expired rows and return their number. Raises `ReadsUnavailableError`."""
        deleted = await self._purge("purge_results", now - RESULT_RETENTION)
        deleted += await self._purge("purge_keys", now - KEY_RETENTION)
        deleted += await self._purge("purge_impressions", now - IMPRESSION_RETENTION_MS)
        return deleted + await self._purge("purge_send_log", now - SEND_LOG_RETENTION)

    async def _purge(self, name: str, before: Instant) -> int:
        async with convert_read_errors():
            return await delete_in_steps(
                lambda: self._pool.execute(self._sql[name], to_datetime(before), PURGE_ROWS), PURGE_ROWS
            )
