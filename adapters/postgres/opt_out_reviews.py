"""How many opt-outs wait for somebody who says what was meant? Of all companies together, by reason, for the metrics."""

from collections.abc import Callable
from typing import Any

from adapters.postgres.database_errors import convert_read_errors
from adapters.postgres.pool import Pool
from adapters.postgres.sql import Schemas, queries

REASONS = ("unread_number", "unclear_text")
"""Why an opt-out waits: its number could not be read, or its words were unclear."""


class OptOutReviews:
    """Counts the reviews that wait, and hands each count to `report`."""

    def __init__(self, pool: Pool, report: Callable[[str, int], Any], schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._report = report
        self._sql = queries("reads", schemas)["reviews_by_reason"]

    async def run(self) -> None:
        """Count once. Raises `ReadsUnavailableError`."""
        async with convert_read_errors():
            rows = await self._pool.fetch(self._sql)
        waiting = {row["reason"]: row["waiting"] for row in rows}
        for reason in REASONS:
            self._report(reason, waiting.get(reason, 0))
