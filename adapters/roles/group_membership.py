"""How do the projector and the gateways get their partitions? A consumer group assigns them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial

import structlog

from adapters.partitions.host import UNASSIGNED
from adapters.retry import Backoff, retry_until_stopped
from adapters.roles.broker import describe
from adapters.roles.context import Context, RoleAssignment
from engine.partition.ports import LogError
from schemas.topics import Topic

logger = structlog.get_logger(__name__)


class GroupMembership:
    """Membership of a role's group over a topic; passes the partitions to `assign` each time they change."""

    def __init__(self, context: Context, role: str, topic: Topic, assign: Callable[[frozenset[int]], None]) -> None:
        self._context = context
        self._role = role
        self._topic = topic
        self._assign = assign
        self.problem: str | None = UNASSIGNED
        self._assignment: RoleAssignment | None = None
        self._backoff = Backoff()

    async def run(self, stop: asyncio.Event) -> None:
        """Follow the group until `stop` is set; join again whenever it is lost."""
        while not stop.is_set():
            follow = partial(self._follow, stop)
            await retry_until_stopped(follow, stop, on=(LogError,), backoff=self._backoff, failed=self._report)

    async def _report(self, error: LogError, seconds: float) -> None:
        self.problem = describe(self._context.settings, error)
        await logger.awarning("log.disconnected", role=self._role, error=self.problem, retry_in_seconds=seconds)

    async def _follow(self, stop: asyncio.Event) -> None:
        assignment = await self._context.assignment(self._role, self._topic)
        try:
            await assignment.start()
            self._assignment = assignment
            self.problem = UNASSIGNED
            self._backoff.reset()
            changes = asyncio.create_task(self._pass_on(assignment.changes()))
            stopping = asyncio.create_task(stop.wait())
            await asyncio.wait({changes, stopping}, return_when=asyncio.FIRST_COMPLETED)
            for task in (changes, stopping):
                task.cancel()
            for answer in await asyncio.gather(changes, stopping, return_exceptions=True):
                if isinstance(answer, LogError):
                    raise answer
        finally:
            await assignment.close()

    async def reached(self, partition: int) -> int | None:
        """Return how far the group has come in a partition, None where it has committed nothing. Raises `LogError`."""
        if self._assignment is None:
            raise LogError(f"{self._role} has not joined its group")
        checkpoint = await self._assignment.load_checkpoint(partition)
        return None if checkpoint is None else checkpoint.offset

    def report(self, partition: int, offset: int) -> None:
        """Note how far a partition is done; it is committed soon."""
        if self._assignment is not None:
            self._assignment.report(partition, offset)

    async def _pass_on(self, changes: AsyncIterator[frozenset[int]]) -> None:
        async for partitions in changes:
            self._assign(partitions)
            self.problem = None
