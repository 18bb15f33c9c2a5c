"""How do processes of a role share its partitions? Each joins a consumer group and runs what it is assigned."""

import asyncio
from collections.abc import Callable
from functools import partial

import structlog

from adapters.partitions.host import UNASSIGNED, PartitionHost, Worker
from adapters.retry import Backoff, retry_until_stopped
from adapters.roles.broker import describe
from adapters.roles.context import Context, RoleAssignment
from engine.partition.ports import Appender, LogError
from schemas.topics import Topic

CLOCK_SET = (
    "the wall clock was set by more than 30 s; nothing that depends on time is done until it is put right, or we restart"
)

MakeWorker = Callable[[int, Appender, RoleAssignment], Worker]

logger = structlog.get_logger(__name__)


class GroupRole:
    """One kind of work on the partitions of one topic. Any number of processes may run it side by side.

    `compares_clocks`: its partitions compare the clock with the brokers' themselves, which shows more than the seconds
    since this process started.
    """

    def __init__(
        self, name: str, topic: Topic, context: Context, make_worker: MakeWorker, *, compares_clocks: bool = False
    ) -> None:
        self.name = name
        self._topic = topic
        self._context = context
        self._make_worker = make_worker
        self._compares_clocks = compares_clocks
        self._host: PartitionHost | None = None
        self._problem: str | None = "starting"
        self._backoff = Backoff()

    async def run(self, stop: asyncio.Event) -> None:
        """Join the group and work; rejoin whenever the log or the group is lost."""
        while not stop.is_set():
            join = partial(self._join, stop)
            await retry_until_stopped(join, stop, on=(LogError,), backoff=self._backoff, failed=self._report)

    async def _report(self, error: LogError, seconds: float) -> None:
        self._problem = describe(self._context.settings, error)
        await logger.awarning("log.disconnected", role=self.name, error=self._problem, retry_in_seconds=seconds)

    def problems(self) -> dict[str, str]:
        """Return what keeps partitions from running."""
        if self._problem is not None:
            return {"log": self._problem}
        if not self._compares_clocks and self._context.clock.was_set():
            return {"clock": CLOCK_SET}
        return {"partitions": UNASSIGNED} if self._host is None else self._host.problems()

    async def _join(self, stop: asyncio.Event) -> None:
        await self._context.rules.refresh()
        # A member that subscribes to a missing topic gets no partition, and no error.
        await self._context.log.partition_count(self._context.names.of(self._topic.name))
        appender = await self._context.appender()
        assignment = await self._context.assignment(self.name, self._topic)
        try:
            await assignment.start()
            make = lambda partition: self._make_worker(partition, appender, assignment)  # noqa: E731 - binds both
            describe_log = partial(describe, self._context.settings)
            self._host = PartitionHost(self.name, make, assignment, describe_log)
            self._problem = None
            self._backoff.reset()
            await self._host.run(stop)
        finally:
            await assignment.close()
            await appender.close()
