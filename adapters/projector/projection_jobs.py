"""Who verifies and rebuilds the projection where an operator asks for it? One projector, beside its work, under a lease.

A row of `work.projection_jobs` is the request. A projector has all that the work needs: it reads the topics and writes the
schema. It renews its lease while it works; where it is killed or stands still, another one takes over and resumes. The swap
and its note in that row are one transaction, so a process that lost its lease, or a job that was canceled, swaps nothing.
"""

import asyncio
import os
import socket
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Literal

import msgspec
import structlog
from msgspec import Struct, structs

from adapters.errors import StoreError
from adapters.postgres.pool import FAILURES, open_pool
from adapters.postgres.projection_jobs import ClaimedProjectionJob, PostgresProjectionJobs
from adapters.projector.catch_up import RebuildLimits
from adapters.projector.rebuild import Rebuild, RebuildResult, rebuild, verify
from adapters.projector.rebuild_schema import RebuildError, RebuildRightsError, RebuildSchema
from adapters.reads.ports import ReadsUnavailableError
from engine.identity import ContactIds
from engine.partition.ports import Clock, Log, LogError
from engine.partition.runner import TopicNames
from schemas.errors import DependencyError

POOL_SIZE = 6
"""As many batches as are written at once while the projectors wait, and one each for rollups and positions."""

WRITE_SECONDS = 120.0
"""Limit for one batch, as of the command: the database also serves other work."""

PACED = RebuildLimits(records_max=500, rest_share=1.0)
"""One batch at a time, and as long a rest after each: the projector's own work comes between. With small decisions on two
cores 6,000 of them a second, where the command reads 28,000."""

CLEAR_ATTEMPTS = 5
CLEAR_PAUSE_SECONDS = 1.0
"""The database may still be ending the connection that built the schema; a command that works by now is left alone."""

DIFFERENCES_STORED = 100
"""Tables and partitions that differ, of one result; the command shows all."""

AWAY = (RebuildError, LogError, StoreError, ReadsUnavailableError, *FAILURES)
"""Errors after which another attempt may succeed."""

Ending = Literal["worked", "canceled", "lost", "stopped", "too late"]

logger = structlog.get_logger(__name__)


class JobLimits(Struct, frozen=True, kw_only=True):
    """The bounds of jobs."""

    look_seconds: float = 2.0
    """Between two looks for a job, and between two renewals: how old the progress is that operators see."""
    lease_seconds: float = 30.0
    """After this, another projector takes over: many renewals, so that a slow database costs nobody a job."""
    attempts_max: int = 10
    """Attempts that failed or were killed. One that a stopping process gave back does not count."""
    retry_seconds: float = 15.0
    """Before the second attempt; before the n-th, n - 1 times as long: ten attempts take eleven minutes of waiting."""
    seconds_max: float = 24 * 3_600.0
    """From the first attempt: a projection that takes longer is rebuilt by the command, at its whole speed."""
    stop_seconds: float = 5.0
    """For giving a job back: a process that is stopped is killed soon. Then the lease ends by itself."""


class JobNotOursError(DependencyError):
    """The job was canceled or another process has it: this one must end."""


class ProjectionJobRunner:
    """Carries out jobs, one at a time, from any number of processes. `run` until it is stopped."""

    def __init__(
        self,
        log: Log,
        clock: Clock,
        dsn: str,
        jobs: PostgresProjectionJobs,
        *,
        contact_ids: ContactIds,
        names: TopicNames = TopicNames(),  # noqa: B008 - frozen
        limits: JobLimits = JobLimits(),  # noqa: B008 - frozen
        paced: RebuildLimits = PACED,
        describe: Callable[[Exception], str] = str,
    ) -> None:
        """`describe` turns an error of the log or the database into a sentence that says what to do."""
        self._log = log
        self._clock = clock
        self._dsn = dsn
        self._jobs = jobs
        self._contact_ids = contact_ids
        self._names = names
        self._limits = limits
        self._paced = paced
        self._describe = describe
        self._holder = f"{socket.gethostname()}:{os.getpid()}/{uuid.uuid4().hex}"
        self._progress: tuple[str | None, int, int] = None, 0, 0

    async def run(self, stop: asyncio.Event) -> None:
        """Carry out jobs until `stop` is set, then give back the one that is under way."""
        while not stop.is_set():
            try:
                has_worked = await self.advance_once(stop)
            except AWAY as error:
                await logger.adebug("job.delayed", job="projection jobs", error=str(error))
                has_worked = False
            except Exception as error:  # noqa: BLE001 - whatever it is, the projector's own work goes on
                await logger.awarning("job.failed", job="projection jobs", error=str(error), exc_info=error)
                has_worked = False
            if not has_worked:
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), self._limits.look_seconds)

    async def advance_once(self, stop: asyncio.Event) -> bool:
        """Take the open job and work on it until it ends or `stop` is set; return False where there is none."""
        job = await self._claim(stop)
        if job is None:
            return False
        self._progress = None, 0, 0
        if job.has_swapped or job.is_canceled:  # the process that swapped ended before it could say so
            await self._clear_away(job)
        elif job.attempts > self._limits.attempts_max:
            await self._fail(job, f"It was begun {self._limits.attempts_max} times, and its projector ended each time.")
        elif job.seconds > self._limits.seconds_max:
            await self._fail(job, self._too_late)
        else:
            await logger.ainfo("projection_job.started", id=job.id, kind=job.kind, attempt=job.attempts)
            await self._attempt(job, stop)
        return True

    async def _claim(self, stop: asyncio.Event) -> ClaimedProjectionJob | None:
        """Take the open job; return None at once where the process is stopped while the database is away."""
        claim = asyncio.create_task(self._jobs.claim(self._holder, self._limits.lease_seconds), name="take a projection job")
        stopped = asyncio.create_task(stop.wait(), name="wait for the stop")
        try:
            await asyncio.wait({claim, stopped}, return_when=asyncio.FIRST_COMPLETED)
            return await claim if claim.done() else None
        finally:
            for task in (claim, stopped):
                task.cancel()
            await asyncio.gather(claim, stopped, return_exceptions=True)

    # -- one attempt ---------------------------------------------------------------------------------------------------

    async def _attempt(self, job: ClaimedProjectionJob, stop: asyncio.Event) -> None:
        work = asyncio.create_task(self._work(job), name=f"projection job {job.id}")
        keep = asyncio.create_task(self._keep(job), name="renew the lease of a projection job")
        stopped = asyncio.create_task(stop.wait(), name="wait for the stop")
        tasks: set[asyncio.Task[Any]] = {work, keep, stopped}
        try:
            left = self._limits.seconds_max - job.seconds
            await asyncio.wait(tasks, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            ending: Ending = "too late"
            if work.done():
                ending = "worked"
            elif keep.done():
                ending = keep.result()
            elif stopped.done():
                ending = "stopped"
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await self._end(job, ending, work)

    async def _end(self, job: ClaimedProjectionJob, ending: Ending, work: "asyncio.Task[RebuildResult]") -> None:
        """Store what came of an attempt. Where the database is away, the lease ends by itself."""
        if ending == "worked":
            await self._store(job, work)
        elif ending == "canceled":
            await self._clear_away(job)
        elif ending == "stopped":
            async with asyncio.timeout(self._limits.stop_seconds):
                await self._jobs.release(job.id, self._holder, counts=False)
        elif ending == "too late":
            await self._fail(job, self._too_late)
        else:
            await logger.awarning("projection_job.lost", id=job.id)

    async def _store(self, job: ClaimedProjectionJob, work: "asyncio.Task[RebuildResult]") -> None:
        error = asyncio.CancelledError() if work.cancelled() else work.exception()
        if error is None:
            await logger.ainfo("projection_job.ended", id=job.id, kind=job.kind)
            await self._jobs.finish(job.id, self._holder, result=_stored(work.result()))
        elif isinstance(error, JobNotOursError):
            await self._jobs.release(job.id, self._holder, counts=False)  # and the next look clears it away
        elif isinstance(error, RebuildRightsError) or job.attempts >= self._limits.attempts_max:
            await self._fail(job, self._sentence(error))
        else:
            if not isinstance(error, AWAY):
                await logger.awarning("job.failed", job="projection job", error=str(error), exc_info=error)
            after = self._limits.retry_seconds * job.attempts
            await self._jobs.release(job.id, self._holder, problem=self._sentence(error), after_seconds=after)

    async def _keep(self, job: ClaimedProjectionJob) -> Ending:
        """Renew the lease and store the progress until the job is canceled or lost."""
        renewed = time.monotonic()
        while True:
            await asyncio.sleep(self._limits.look_seconds)
            asked = time.monotonic()
            with suppress(ReadsUnavailableError):
                is_canceled = await self._jobs.renew(job.id, self._holder, self._limits.lease_seconds, self._progress)
                if is_canceled is None:
                    return "lost"
                if is_canceled:
                    return "canceled"
                renewed = asked
            if time.monotonic() - renewed > self._limits.lease_seconds:
                return "lost"

    # -- the work ------------------------------------------------------------------------------------------------------

    async def _work(self, job: ClaimedProjectionJob) -> RebuildResult:
        async def begun() -> None:
            if not await self._jobs.begin(job.id, self._holder):
                raise JobNotOursError

        async def note_swap(connection: Any, result: RebuildResult) -> None:
            if not await self._jobs.note_swap(connection, job.id, self._holder, _stored(result)):
                raise JobNotOursError

        pool = await open_pool(self._dsn, size=POOL_SIZE, command_seconds=WRITE_SECONDS, name="leadclock rebuild")
        try:
            work = Rebuild(
                self._log,
                pool,
                self._clock,
                self._dsn,
                contact_ids=self._contact_ids,
                names=self._names,
                limits=self._paced,
                progress=self._note_progress,
                afresh=job.kind == "verify" and not job.has_begun,
                begun=begun,
            )
            return await (verify(work) if job.kind == "verify" else rebuild(work, accept=job.accept, note_swap=note_swap))
        finally:
            await pool.close()

    def _note_progress(self, stage: str, done: int, total: int) -> None:
        self._progress = stage, done, total

    async def _clear_away(self, job: ClaimedProjectionJob) -> None:
        """Drop what a canceled job has built, or what was read before a swap, unless a command works by now; end the job."""
        for _ in range(CLEAR_ATTEMPTS):
            schema = RebuildSchema(self._dsn)
            try:
                await schema.open()
                await schema.drop()
                break
            except (RebuildError, *FAILURES):  # what stays is dropped by the next job
                await asyncio.sleep(CLEAR_PAUSE_SECONDS)
            finally:
                await schema.close()
        await self._jobs.finish(job.id, self._holder)
        await logger.ainfo("projection_job.ended", id=job.id, kind=job.kind, canceled=job.is_canceled)

    async def _fail(self, job: ClaimedProjectionJob, sentence: str) -> None:
        await self._jobs.finish(job.id, self._holder, failure=sentence)
        await logger.awarning("projection_job.failed", id=job.id, error=sentence)

    def _sentence(self, error: BaseException) -> str:
        if isinstance(error, RebuildError):
            return str(error)
        if isinstance(error, LogError | StoreError | ReadsUnavailableError):
            return self._describe(error)
        return f"{type(error).__name__}: {error}"

    @property
    def _too_late(self) -> str:
        hours = self._limits.seconds_max / 3_600
        return f"It took longer than {hours:g} hours: type `leadclock projection rebuild`, which has the whole speed."


def _stored(result: RebuildResult) -> Mapping[str, Any]:
    """Return a result as it is stored and shown, with as many differences as are stored."""
    found = result.differences
    shown = result if found is None else structs.replace(result, differences=found[:DIFFERENCES_STORED])
    return {**msgspec.to_builtins(shown), "differences_count": None if found is None else len(found)}
