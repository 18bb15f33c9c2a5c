"""Which partitions run in this process, and what happens when one fails? The assigned ones; each is retried with backoff.

Assignment is only liveness: the epoch of its producer owns a partition. A fenced partition is taken again only where a
commit with the group's current generation still succeeds; otherwise it waits to be assigned.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Protocol

import structlog

from adapters import retry
from engine.partition.ports import FencedError, LogError

REVOKE_SECONDS = 2.0
"""A revoked partition finishes its cycle within this, or is cancelled: its successor is waiting."""

BACKOFF_FIRST_SECONDS = 0.2
BACKOFF_MAX_SECONDS = 1.0
"""Between attempts on a log that will answer again: a failed attempt costs little, and people wait."""

BACKOFF_FAULT_MAX_SECONDS = 10.0
"""Between attempts where an operator must correct something first."""
FENCED_PAUSE_SECONDS = 1.0
"""A fenced owner waits a random time up to this before it takes a partition again: two must not fence each other."""

UNASSIGNED = "waits for the consumer group to assign partitions"
LEAVING = "finishes its work and leaves the group"
RESTORING = "its state is being restored"
FENCED = "a newer owner took it; waits for the consumer group"

logger = structlog.get_logger(__name__)


class Assignment(Protocol):
    """Which partitions this process is assigned. Contract: tests/adapters/assignment_contract.py."""

    def changes(self) -> AsyncIterator[frozenset[int]]:
        """Yield the whole set each time it changes."""
        ...

    async def confirm(self, partition: int) -> bool:
        """Return whether the partition is still ours."""
        ...

    def report(self, partition: int, offset: int) -> None:
        """Note the input offset for lag dashboards."""
        ...


class Worker(Protocol):
    """The work on one partition: `open` before `cycle`; after any error of `cycle`, `open` again or `close`.

    No contract suite: its two adapters (`adapters.partitions.worker.RunnerWorker`, `adapters.intake.intake.IntakePartition`)
    need different logs and inputs; the tests of each open, cycle and close it.
    """

    async def open(self) -> None:
        """Take the partition and go to where it was left. Raises `LogError`."""
        ...

    async def cycle(self) -> int:
        """Do a bounded piece of work and return the next input offset. Raises `LogError`, `FencedError`."""
        ...

    async def close(self) -> None:
        """Let the partition go. Never raises."""
        ...

    @property
    def problem(self) -> str | None:
        """What keeps an open partition from doing all of its work, in one sentence; None where nothing does."""
        ...


class PartitionHost:
    """Runs every assigned partition in a task of its own until `stop` is set.

    `name` is for logs; `describe` turns a failure of the log into a sentence that says what to do.
    """

    def __init__(
        self,
        name: str,
        make_worker: Callable[[int], Worker],
        assignment: Assignment,
        describe: Callable[[LogError], str] = str,
    ) -> None:
        self._name = name
        self._describe_log = describe
        self._make_worker = make_worker
        self._assignment = assignment
        self.workers: dict[int, Worker] = {}
        self.ready: set[int] = set()
        self._unassigned: str | None = UNASSIGNED
        self._waits: dict[int, str] = {}
        self._tasks: dict[int, tuple[asyncio.Task[None], asyncio.Event]] = {}

    @property
    def is_ready(self) -> bool:
        """Whether it is known which partitions are assigned, and every one of them is restored and running."""
        return self._unassigned is None and set(self._tasks) <= self.ready

    def problems(self) -> dict[str, str]:
        """Return what keeps which assigned partition from doing all of its work, or from being opened."""
        if self._unassigned is not None:
            return {"partitions": self._unassigned}
        found = {partition: self._problem(partition) for partition in sorted(self._tasks)}
        return {f"partition {partition}": problem for partition, problem in found.items() if problem is not None}

    def _problem(self, partition: int) -> str | None:
        if partition in self.ready:
            return self.workers[partition].problem
        return self._waits.get(partition, RESTORING)

    async def run(self, stop: asyncio.Event) -> None:
        """Follow the assignment until `stop` is set; then finish every cycle and close."""
        follower = asyncio.create_task(self._follow())
        stopper = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({follower, stopper}, return_when=asyncio.FIRST_COMPLETED)
            if follower.done():
                follower.result()
        finally:
            self._unassigned = LEAVING
            for task in (follower, stopper):
                task.cancel()
            await asyncio.gather(follower, stopper, return_exceptions=True)
            await self._change(frozenset())
            await asyncio.gather(*(worker.close() for worker in self.workers.values()))

    async def _follow(self) -> None:
        async for partitions in self._assignment.changes():
            await self._change(partitions)
            self._unassigned = None

    async def _change(self, partitions: frozenset[int]) -> None:
        """Stop what is no longer ours and start what is new; the rest runs on."""
        leaving = [partition for partition in self._tasks if partition not in partitions]
        await asyncio.gather(*(self._stop(partition) for partition in leaving))
        for partition in sorted(partitions - set(self._tasks)):
            stop = asyncio.Event()
            task = asyncio.create_task(self._run_partition(partition, stop), name=f"partition {partition}")
            self._tasks[partition] = (task, stop)

    async def _stop(self, partition: int) -> None:
        task, stop = self._tasks.pop(partition)
        stop.set()
        _, pending = await asyncio.wait({task}, timeout=REVOKE_SECONDS)
        for late in pending:
            late.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def _run_partition(self, partition: int, stop: asyncio.Event) -> None:
        """Own, cycle, and retry after errors, until `stop` is set. Its state stays in memory in between."""
        if partition not in self.workers:
            self.workers[partition] = self._make_worker(partition)
        worker = self.workers[partition]
        try:
            await self._work(worker, partition, stop)
        finally:  # also where it was cancelled: its successor must not wait for what it owns
            self.ready.discard(partition)
            self._waits.pop(partition, None)
            await asyncio.shield(worker.close())

    async def _work(self, worker: Worker, partition: int, stop: asyncio.Event) -> None:
        pause = BACKOFF_FIRST_SECONDS
        while not stop.is_set():
            try:
                await worker.open()
                if pause == BACKOFF_FIRST_SECONDS:  # one that has failed is ready when a cycle has ended
                    self._make_ready(partition)
                while not stop.is_set():
                    self._assignment.report(partition, await worker.cycle())
                    self._make_ready(partition)
                    pause = BACKOFF_FIRST_SECONDS
            except FencedError:
                await logger.awarning("partition.fenced", role=self._name, partition=partition)
                self.ready.discard(partition)
                self._waits[partition] = FENCED
                await self._until_ours(partition, stop)
            except Exception as error:  # noqa: BLE001 - a fault of ours must not leave the partition without an owner
                self.ready.discard(partition)
                self._waits[partition] = self._describe(error)
                await self._log_failure(partition, error, pause)
                await retry.pause(stop, pause)
                is_away = isinstance(error, LogError) and error.retryable
                pause = min(2 * pause, BACKOFF_MAX_SECONDS if is_away else BACKOFF_FAULT_MAX_SECONDS)

    def _make_ready(self, partition: int) -> None:
        self.ready.add(partition)
        self._waits.pop(partition, None)

    def _describe(self, error: Exception) -> str:
        """Return why a partition stopped, and whether it needs more than time."""
        if isinstance(error, LogError):
            why = self._describe_log(error)
            return why if error.retryable else f"stopped: {why}"
        return f"stopped by a fault of leadclock ({type(error).__name__}: {error}); the log of this process has the details"

    async def _log_failure(self, partition: int, error: Exception, pause: float) -> None:
        """Log why a partition waits: the log is away, or our code failed. Its state is that of the last commit."""
        about = {"role": self._name, "partition": partition, "error": str(error), "pause_seconds": pause}
        if isinstance(error, LogError):
            await logger.awarning("partition.paused", **about)
        else:
            await logger.aerror("partition.failed", exc_info=error, **about)

    async def _until_ours(self, partition: int, stop: asyncio.Event) -> None:
        """Wait a random time, then until the group confirms that the partition is ours (or it is revoked)."""
        while not stop.is_set():
            await retry.pause(stop, random.uniform(0.1, FENCED_PAUSE_SECONDS))  # noqa: S311 - spreads owners, hides nothing
            with suppress(LogError):  # a group that does not answer confirms nothing
                if await self._assignment.confirm(partition):
                    return
