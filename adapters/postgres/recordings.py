"""Which recordings are there, owed, stored or to be deleted? One row each in `work.recordings`; see its port."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from adapters.postgres.database_errors import run_statement
from adapters.postgres.old_rows import delete_in_steps
from adapters.postgres.pool import Pool
from adapters.postgres.sql import Schemas, queries
from adapters.recordings.ports import Recording
from schemas.instant import from_datetime

REASON_LENGTH_MAX = 500
"""In characters: a sentence or two, for people to read."""

FORGET_ROWS = 2_000


class PostgresRecordings:
    """Keeps the promises of `adapters.recordings.ports.Recordings`."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("recordings", schemas)

    async def owe(
        self, *, company_id: int, configuration_id: int, contact_key: str, call_id: int | None, recording_url: str
    ) -> None:
        """Store that a recording is to be fetched, unless it is known."""
        values = company_id, configuration_id, contact_key, call_id, recording_url
        await run_statement(self._pool.execute(self._sql["owe"], *values))

    async def find(self, company_id: int, recording_url: str) -> Recording | None:
        """Return a recording of a company."""
        row = await run_statement(self._pool.fetchrow(self._sql["find"], company_id, recording_url))
        return None if row is None else recording_of(row)

    async def take_owed(self, limit: int, lease_seconds: float, *, without: Collection[int] = ()) -> Sequence[Recording]:
        """Take recordings that are due to be fetched."""
        return await self._take("owed", limit, lease_seconds, without)

    async def retry(self, recording_id: str, reason: str, after_seconds: float) -> None:
        """Store when to try again, and why."""
        values = recording_id, reason[:REASON_LENGTH_MAX], after_seconds
        await run_statement(self._pool.execute(self._sql["retry"], *values))

    async def give_up(self, recording_id: str, reason: str) -> None:
        """Store that a recording is not fetched any more, and why."""
        await run_statement(self._pool.execute(self._sql["give_up"], recording_id, reason[:REASON_LENGTH_MAX]))

    async def stored(self, recording_id: str, size: int, media_type: str) -> bool:
        """Store that the file is complete; False where it is to be deleted instead."""
        row = await run_statement(self._pool.fetchrow(self._sql["stored"], recording_id, size, media_type))
        return row is not None

    async def begin_delete(self, company_id: int, recording_url: str) -> None:
        """Store that a recording is to be deleted."""
        await run_statement(self._pool.execute(self._sql["begin_delete"], company_id, recording_url))

    async def expire(self, days: Mapping[int, int], default_days: int, limit: int) -> int:
        """Store which recordings have been kept for as long as their company says; return how many."""
        least = min((default_days, *days.values()))
        values = list(days), list(days.values()), default_days, least, limit
        status = await run_statement(self._pool.execute(self._sql["expire"], *values))
        return int(str(status).rpartition(" ")[2])

    async def take_deletions(self, limit: int, lease_seconds: float) -> Sequence[Recording]:
        """Take recordings that are to be deleted."""
        return await self._take("deleting", limit, lease_seconds, ())

    async def deleted(self, recording_id: str) -> None:
        """Store that the file of a recording is deleted."""
        await run_statement(self._pool.execute(self._sql["deleted"], recording_id))

    async def forget(self, after_seconds: float) -> int:
        """Forget recordings that were deleted so long ago."""
        return await delete_in_steps(
            lambda: run_statement(self._pool.execute(self._sql["forget"], after_seconds, FORGET_ROWS)), FORGET_ROWS
        )

    async def _take(self, state: str, limit: int, lease_seconds: float, without: Collection[int]) -> Sequence[Recording]:
        values = state, limit, lease_seconds, list(without)
        rows = await run_statement(self._pool.fetch(self._sql["take"], *values))
        return [recording_of(row) for row in rows]


def recording_of(row: Mapping[str, Any]) -> Recording:
    """Return the recording of a row."""
    return Recording(
        id=str(row["id"]),
        company_id=row["company_id"],
        configuration_id=row["provider_configuration_id"],
        contact_key=row["contact_key"],
        call_id=row["call_id"],
        recording_url=row["recording_url"],
        state=row["state"],
        attempts=row["attempts"],
        owed_at=from_datetime(row["owed_at"]),
        reason=row["reason"],
        size=row["size"],
        media_type=row["media_type"],
    )
