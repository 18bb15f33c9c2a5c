"""The `projector` role: keep the read schema in step with the decisions, and with the impressions beside them.

It also verifies and rebuilds the projection where an operator asks for that over HTTP.
"""

import asyncio
from collections.abc import Sequence
from functools import partial

from adapters.observability.metrics import Metrics
from adapters.postgres.opt_out_reviews import OptOutReviews
from adapters.postgres.pool import open_pool
from adapters.postgres.projection_jobs import PostgresProjectionJobs
from adapters.postgres.rollups import Rollups
from adapters.projector.postgres import PostgresStore
from adapters.projector.projection_jobs import ProjectionJobRunner
from adapters.projector.projector import DECISION_TOPICS, IMPRESSION_LIMITS, Projector, ProjectorLimits
from adapters.projector.traced import TracedStore
from adapters.roles.context import Context, describe_failure
from adapters.roles.group_membership import GroupMembership
from adapters.roles.periodic_jobs import PeriodicJobs
from schemas.topics import CONTACTS_DECISIONS, IMPRESSIONS

METRICS_SECONDS = 1.0


class ProjectorRole:
    """Projects the partitions that the group assigns to this process."""

    name = "projector"

    def __init__(self, context: Context, metrics: Metrics) -> None:
        self._context = context
        self._metrics = metrics
        self._projectors: tuple[Projector, ...] = ()
        self._membership: GroupMembership | None = None

    async def run(self, stop: asyncio.Event) -> None:
        """Project until `stop` is set."""
        context = self._context
        pool = await open_pool(
            context.settings.postgres_dsn, size=context.settings.postgres_pool, name="leadclock projector"
        )
        store = PostgresStore(pool) if context.traces is None else TracedStore(pool, context.traces)
        decisions = self._projector(store, DECISION_TOPICS, ProjectorLimits())
        impressions = self._projector(store, (IMPRESSIONS.name,), IMPRESSION_LIMITS)
        projectors = self._projectors = (decisions, impressions)
        jobs = PeriodicJobs()
        jobs.add("roll up", Rollups(pool).run, minutes=1)
        jobs.add("count reviews", OptOutReviews(pool, self._report_reviews).run, minutes=1)
        jobs.start()
        runner = ProjectionJobRunner(
            context.log,
            context.clock,
            context.settings.postgres_dsn,
            PostgresProjectionJobs(pool),
            contact_ids=context.contact_ids(),
            names=context.names,
            describe=partial(describe_failure, context.settings),
        )
        self._membership = GroupMembership(context, self.name, CONTACTS_DECISIONS, self._assign)
        try:
            await asyncio.gather(
                self._membership.run(stop),
                runner.run(stop),
                *(projector.run(stop) for projector in projectors),
                *(self._report_metrics(projector, stop) for projector in projectors),
            )
        finally:
            jobs.stop()
            for projector in projectors:
                await projector.close()
            await pool.close()

    def _assign(self, partitions: frozenset[int]) -> None:
        """Take partitions of every topic: all have as many."""
        for projector in self._projectors:
            projector.assign(sorted(partitions))

    def _projector(self, store: PostgresStore, topics: Sequence[str], limits: ProjectorLimits) -> Projector:
        context = self._context
        return Projector(
            context.log,
            store,
            context.clock,
            contact_ids=context.contact_ids(),
            topics=topics,
            names=context.names,
            limits=limits,
            skip=context.skipped.skip,
            describe=partial(describe_failure, context.settings),
        )

    def problems(self) -> dict[str, str]:
        """Return what keeps rows from being written."""
        if not self._projectors or self._membership is None:
            return {"projector": "starting"}
        if self._membership.problem is not None:
            return {"log": self._membership.problem}
        return {source: problem for projector in self._projectors for source, problem in projector.problems().items()}

    def _report_reviews(self, reason: str, waiting: int) -> None:
        self._metrics.opt_out_reviews.labels(reason).set(waiting)

    async def _report_metrics(self, projector: Projector, stop: asyncio.Event) -> None:
        counted = 0
        while not stop.is_set():
            for (topic, partition), lag in projector.lag.items():
                self._metrics.projector_lag.labels(topic, str(partition)).set(lag)
            self._metrics.projected.inc(projector.rows_written - counted)
            counted = projector.rows_written
            await asyncio.sleep(METRICS_SECONDS)
