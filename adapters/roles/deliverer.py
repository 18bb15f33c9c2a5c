"""The `deliverer` role: post the events that subscriptions ask for. It reads decisions by itself, beside the projector."""

import asyncio
from functools import partial

from adapters.gateway.addresses import networks
from adapters.gateway.guarded_client import GuardedClient
from adapters.observability.metrics import Metrics
from adapters.postgres.pool import open_pool
from adapters.postgres.subscriptions import PostgresSubscriptionStore
from adapters.roles.context import Context, describe_failure
from adapters.roles.group_membership import GroupMembership
from adapters.roles.periodic_jobs import PeriodicJobs
from adapters.subscriptions.follower import Follower
from adapters.subscriptions.sender import ANSWER_SECONDS, IN_FLIGHT_MAX, Sender
from schemas.topics import CONTACTS_DECISIONS

METRICS_SECONDS = 1.0
PURGE_MINUTES = 60
"""Events are kept for 30 days; an hour more does no harm."""


class DelivererRole:
    """Stores the events of the partitions that are assigned to this process, and sends what is due, of any partition."""

    name = "deliverer"

    def __init__(self, context: Context, metrics: Metrics) -> None:
        self._context = context
        self._metrics = metrics
        self._follower: Follower | None = None
        self._sender: Sender | None = None
        self._membership: GroupMembership | None = None

    async def run(self, stop: asyncio.Event) -> None:
        """Deliver until `stop` is set, then finish the posts under way."""
        context, settings = self._context, self._context.settings
        pool = await open_pool(
            settings.postgres_dsn, size=settings.postgres_pool, name="leadclock deliverer", plans="force_custom_plan"
        )
        store = PostgresSubscriptionStore(pool)
        client = GuardedClient(
            allowed=networks(settings.webhook_private_networks),
            own_ports=context.own_ports,
            answer_seconds=ANSWER_SECONDS,
            connections_max=IN_FLIGHT_MAX,
        )
        follower = self._follower = Follower(
            context.log,
            store,
            context.rules,
            names=context.names,
            skip=context.skipped.skip,
            describe=partial(describe_failure, settings),
        )
        sender = self._sender = Sender(
            store,
            lambda: context.rules.rules,
            client,
            deployment_secret=settings.secret_key,
            domain_now=context.clock.now,
            count=lambda result: self._metrics.events_sent.labels(result).inc(),
            traces=context.traces,
        )
        jobs = PeriodicJobs()
        jobs.add("purge events", store.purge, minutes=PURGE_MINUTES)
        jobs.start()
        self._membership = GroupMembership(context, self.name, CONTACTS_DECISIONS, follower.assign)
        reporting = asyncio.create_task(self._report_metrics(follower), name="report the deliverer's lag")
        try:
            await asyncio.gather(self._membership.run(stop), follower.run(stop), sender.run(stop, follower.stored))
        finally:
            reporting.cancel()
            jobs.stop()
            await client.close()
            await pool.close()

    def problems(self) -> dict[str, str]:
        """Return what keeps events from being delivered."""
        if self._follower is None or self._sender is None or self._membership is None:
            return {"deliverer": "starting"}
        if self._membership.problem is not None:
            return {"log": self._membership.problem}
        sending = {} if self._sender.problem is None else {"database": self._sender.problem}
        return self._follower.problems() | sending

    async def _report_metrics(self, follower: Follower) -> None:
        while True:
            for (topic, partition), lag in follower.lag.items():
                self._metrics.deliverer_lag.labels(topic, str(partition)).set(lag)
            await asyncio.sleep(METRICS_SECONDS)
