"""What does an API process do beside answering? Purges, bulk jobs, imports, silent agents, and a look at the database.

All of it uses database connections of its own: no job holds one that a request waits for, and the statements of requests
stay prepared on the few connections that they use.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

from adapters.http.agents.silence import SilenceReports
from adapters.http.exchange.access import Authenticator
from adapters.http.exchange.makers import MakerAccess
from adapters.http.exchange.requests import LogRequests
from adapters.http.leads.bulk_runner import LeadBulkRunner
from adapters.http.leads.import_runner import LeadImportRunner
from adapters.postgres.database_errors import describe_database_error as describe_database
from adapters.postgres.gateways import PostgresServing
from adapters.postgres.heartbeats import PostgresHeartbeats
from adapters.postgres.lead_bulk_jobs import PostgresLeadBulkJobs
from adapters.postgres.lead_imports import PostgresLeadImports
from adapters.postgres.pool import Pool
from adapters.postgres.reads import PostgresReads
from adapters.postgres.retention import Purge
from adapters.postgres.sign_ins import PostgresSignIns
from adapters.reads.ports import ReadsUnavailableError
from adapters.roles.context import Context
from adapters.roles.periodic_jobs import PeriodicJobs
from schemas.instant import Instant

JOB_CONNECTIONS = 4
"""Connections of the jobs at most: one each for a bulk job, an import, a purge, and all short looks together."""

SERVING_REFRESH_SECONDS = 2.0
"""How old the header may be that names the channels of the sandbox; the table has a row per gateway and channel."""

PURGE_MINUTES = 10
"""Results and Idempotency-Keys are stored for 24 h, impressions for 30 days; ten minutes more do no harm."""

DATABASE_CHECK_SECONDS = 2.0
"""How late the health port may report that the database is away, or back."""

RELEASE_SECONDS = 2.0
"""How long a stopping process waits for its bulk job and import to be given back."""


class ApiJobs:
    """The jobs of one API process: `start`, then `stop`. `database_problem` says whether the database answers.

    `pool` is closed by the caller, after `stop`.
    """

    def __init__(self, context: Context, pool: Pool, requests: LogRequests) -> None:
        self.served = PostgresServing(pool)
        self.database_problem: str | None = "not asked yet"
        self._context = context
        self._reads = PostgresReads(pool)
        self._silence = SilenceReports(PostgresHeartbeats(pool), self._reads, requests)
        bulk_jobs, imports = PostgresLeadBulkJobs(pool), PostgresLeadImports(pool)
        makers = MakerAccess(context.rules, Authenticator(context.rules))
        self._bulk_jobs = LeadBulkRunner(bulk_jobs, self._reads, requests, makers, context.clock.now)
        self._imports = LeadImportRunner(imports, context, makers, requests.wait)
        self._purges = PeriodicJobs()
        expired = (("results", Purge(pool).run), ("bulk jobs", bulk_jobs.purge), ("imports", imports.purge))
        for name, purging in expired:
            self._purges.add(f"purge {name}", partial(_purge, purging, context), minutes=PURGE_MINUTES)
        self._purges.add("purge sessions", PostgresSignIns(pool).purge, minutes=PURGE_MINUTES)
        self._looking: list[asyncio.Task[None]] = []
        self._advancing: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin all jobs."""
        self._purges.start()
        self._looking = [
            asyncio.create_task(self._watch_database(), name="watch the database"),
            asyncio.create_task(self._refresh_serving(), name="refresh serving"),
            asyncio.create_task(self._silence.run(), name="report silent agents"),
        ]
        self._advancing = [
            asyncio.create_task(self._bulk_jobs.run(), name="advance bulk jobs"),
            asyncio.create_task(self._imports.run(), name="advance imports"),
        ]

    async def stop(self) -> None:
        """End all jobs; a bulk job and an import give their leases back, so that another process need not wait for these."""
        self._purges.stop()
        for task in (*self._looking, *self._advancing):
            task.cancel()
        await asyncio.wait(self._advancing, timeout=RELEASE_SECONDS)

    async def _watch_database(self) -> None:
        """Check every few seconds whether the database answers: the health port answers without waiting for it."""
        while True:
            try:
                await self._reads.ping()
            except ReadsUnavailableError as error:
                self.database_problem = describe_database(self._context.settings.postgres_dsn, error)
            else:
                self.database_problem = None
            await asyncio.sleep(DATABASE_CHECK_SECONDS)

    async def _refresh_serving(self) -> None:
        """Read which gateway serves which channel: answers name the channels of the sandbox."""
        while True:
            with suppress(ReadsUnavailableError):
                await self.served.read()
            await asyncio.sleep(SERVING_REFRESH_SECONDS)


async def _purge(purging: Callable[[Instant], Awaitable[int]], context: Context) -> int:
    """Delete what is expired by now, in domain time."""
    return await purging(context.clock.now())
