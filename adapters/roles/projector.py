"""The `projector` role: keep the read schema in step with the decisions."""

import asyncio
from functools import partial

from adapters.observability.metrics import Metrics
from adapters.postgres.pool import open_pool
from adapters.postgres.rollups import Rollups
from adapters.projector.postgres import PostgresStore
from adapters.projector.projector import Projector
from adapters.roles.context import Context, describe_failure
from adapters.roles.group_membership import GroupMembership
from adapters.roles.periodic_jobs import PeriodicJobs
from schemas.topics import CONTACTS_DECISIONS

METRICS_SECONDS = 1.0


class ProjectorRole:
    """Projects the partitions that the group assigns to this process."""

    name = "projector"

    def __init__(self, context: Context, metrics: Metrics) -> None:
        self._context = context
        self._metrics = metrics
        self._projector: Projector | None = None
        self._membership: GroupMembership | None = None

    async def run(self, stop: asyncio.Event) -> None:
        """Project until `stop` is set."""
        context = self._context
        pool = await open_pool(
            context.settings.postgres_dsn, size=context.settings.postgres_pool, name="leadclock projector"
        )
        projector = Projector(
            context.log,
            PostgresStore(pool),
            context.clock,
            names=context.names,
            skip=context.skipped.skip,
            describe=partial(describe_failure, context.settings),
        )
        self._projector = projector
        jobs = PeriodicJobs()
        jobs.add("roll up", Rollups(pool).run, minutes=1)
        jobs.start()
        self._membership = GroupMembership(
            context, self.name, CONTACTS_DECISIONS, lambda found: projector.assign(sorted(found))
        )
        try:
            await asyncio.gather(self._membership.run(stop), projector.run(stop), self._report_metrics(projector, stop))
        finally:
            jobs.stop()
            await projector.close()
            await pool.close()

    def problems(self) -> dict[str, str]:
        """Return what keeps rows from being written."""
        if self._projector is None or self._membership is None:
            return {"projector": "starting"}
        if self._membership.problem is not None:
            return {"log": self._membership.problem}
        return self._projector.problems()

    async def _report_metrics(self, projector: Projector, stop: asyncio.Event) -> None:
        counted = 0
        while not stop.is_set():
            for (topic, partition), lag in projector.lag.items():
                self._metrics.projector_lag.labels(topic, str(partition)).set(lag)
            self._metrics.projected.inc(projector.rows_written - counted)
            counted = projector.rows_written
            await asyncio.sleep(METRICS_SECONDS)
