"""Which recordings are transcribed, and what was said? One row each in `work.transcriptions`; see its port."""

from collections.abc import Collection, Mapping
from typing import Any

from adapters.postgres.database_errors import run_statement
from adapters.postgres.pool import Pool
from adapters.postgres.recordings import REASON_LENGTH_MAX, recording_of
from adapters.postgres.sql import Schemas, queries
from adapters.recordings.ports import Transcription
from schemas.instant import from_datetime


class PostgresTranscriptions:
    """Keeps the promises of `adapters.recordings.ports.Transcriptions`."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("transcriptions", schemas)

    async def ask(self, recording_id: str) -> None:
        """Store that a recording is to be transcribed."""
        await run_statement(self._pool.execute(self._sql["ask"], recording_id))

    async def find(self, recording_id: str) -> Transcription | None:
        """Return the transcription of a recording."""
        return _transcription(await run_statement(self._pool.fetchrow(self._sql["find"], recording_id)))

    async def take(self, lease_seconds: float, *, without: Collection[int] = ()) -> Transcription | None:
        """Take one that is due."""
        return _transcription(await run_statement(self._pool.fetchrow(self._sql["take"], lease_seconds, list(without))))

    async def retry(self, recording_id: str, reason: str, after_seconds: float) -> None:
        """Store when to try again, and why."""
        values = recording_id, reason[:REASON_LENGTH_MAX], after_seconds
        await run_statement(self._pool.execute(self._sql["retry"], *values))

    async def add_text(self, recording_id: str, text: str) -> bool:
        """Store the text; False where the recording is deleted."""
        return await run_statement(self._pool.fetchrow(self._sql["add_text"], recording_id, text)) is not None

    async def complete(self, recording_id: str) -> None:
        """Store that the call says that the text is there."""
        await run_statement(self._pool.execute(self._sql["complete"], recording_id))

    async def fail(self, recording_id: str, reason: str) -> None:
        """Store that a recording is not transcribed, and why."""
        await run_statement(self._pool.execute(self._sql["fail"], recording_id, reason[:REASON_LENGTH_MAX]))


def _transcription(row: Mapping[str, Any] | None) -> Transcription | None:
    if row is None:
        return None
    return Transcription(
        recording=recording_of(row),
        state=row["transcription_state"],
        attempts=row["transcription_attempts"],
        asked_at=from_datetime(row["asked_at"]),
        text=row["text"],
        reason=row["transcription_reason"],
    )
