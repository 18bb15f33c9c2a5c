"""Where are the verifications and rebuilds that operators ask for? In a table of the `work` schema, one open at a time."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from adapters.postgres.database_errors import convert_read_errors
from adapters.postgres.pool import Pool
from adapters.postgres.sql import Schemas, queries
from adapters.reads.ports import NewProjectionJob, ProjectionJobOpenError, Row

JOBS_STORED = 100
"""Jobs that have ended: who asked for one looks at its result within days, and operators ask for a few a month."""

CREATE_ATTEMPTS = 3
"""The job that was in the way may end before it is read."""

SENTENCE_LENGTH_MAX = 1_000


class ClaimedProjectionJob(Struct, frozen=True, kw_only=True):
    """A job that a process has taken. `seconds` is its age since the first process took it, `attempts` includes this one."""

    id: int
    kind: str
    accept: bool
    attempts: int
    seconds: float
    has_begun: bool
    has_swapped: bool
    is_canceled: bool


class PostgresProjectionJobs:
    """Keeps the promises of `adapters.reads.ports.ProjectionJobs`; also gives projectors their work.

    Methods raise `ReadsUnavailableError`.
    """

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("projection_jobs", schemas)

    async def create(self, job: NewProjectionJob) -> Row:
        """Store a job. Raises `ProjectionJobOpenError` with the one that is open."""
        for _ in range(CREATE_ATTEMPTS):
            given = job.kind, job.accept, job.key_id, job.asked_by
            made = next(iter(await self._rows("create", *given)), None)
            if made is not None:
                await self._execute("forget", made["id"], JOBS_STORED)
                return made
            newest = await self.newest(1)
            if newest and newest[0]["ended_at"] is None:
                raise ProjectionJobOpenError(newest[0])
        raise ProjectionJobOpenError(newest[0])

    async def newest(self, limit: int) -> Sequence[Row]:
        """Return the newest jobs, newest first."""
        return await self._rows("newest", limit)

    async def cancel(self, job_id: int) -> Row | None:
        """Cancel a job that is open and has not swapped; return it as it is then, or None where there is none."""
        await self._execute("cancel", job_id)
        return next(iter(await self._rows("find", job_id)), None)

    async def claim(self, holder: str, lease_seconds: float) -> ClaimedProjectionJob | None:
        """Take the open job for a while, or return None where there is none to take."""
        row = next(iter(await self._rows("claim", holder, lease_seconds)), None)
        if row is None:
            return None
        return ClaimedProjectionJob(
            id=row["id"],
            kind=row["kind"],
            accept=row["accept"],
            attempts=row["attempts"],
            seconds=row["seconds"],
            has_begun=row["begun_at"] is not None,
            has_swapped=row["swapped_at"] is not None,
            is_canceled=row["canceled_at"] is not None,
        )

    async def renew(
        self, job_id: int, holder: str, lease_seconds: float, progress: tuple[str | None, int, int]
    ) -> bool | None:
        """Extend a lease and store the progress; return whether the job is canceled, None where the lease is lost."""
        row = next(iter(await self._rows("renew", job_id, holder, lease_seconds, *progress)), None)
        return None if row is None else bool(row["is_canceled"])

    async def begin(self, job_id: int, holder: str) -> bool:
        """Note that the second schema is this job's; return False where the lease is lost."""
        return bool(await self._rows("begin", job_id, holder))

    async def note_swap(self, connection: Any, job_id: int, holder: str, result: Mapping[str, Any]) -> bool:
        """Note a swap in its own transaction; return False where it may not be: canceled, or the lease is lost."""
        return await connection.fetchval(self._sql["swap"], job_id, holder, result) is not None

    async def release(
        self, job_id: int, holder: str, *, problem: str | None = None, after_seconds: float = 0.0, counts: bool = True
    ) -> None:
        """Give a job back, to be taken again after a while; `counts` says whether this was an attempt."""
        sentence = None if problem is None else problem[:SENTENCE_LENGTH_MAX]
        await self._execute("release", job_id, holder, sentence, after_seconds, int(not counts))

    async def finish(
        self, job_id: int, holder: str, *, result: Mapping[str, Any] | None = None, failure: str | None = None
    ) -> None:
        """End a job that this process has."""
        sentence = None if failure is None else failure[:SENTENCE_LENGTH_MAX]
        await self._execute("finish", job_id, holder, result, sentence)

    async def _rows(self, name: str, *values: Any) -> Sequence[Row]:
        async with convert_read_errors():
            rows: Sequence[Row] = await self._pool.fetch(self._sql[name], *values)
        return rows

    async def _execute(self, name: str, *values: Any) -> None:
        async with convert_read_errors():
            await self._pool.execute(self._sql[name], *values)
