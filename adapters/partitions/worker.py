"""How does a host drive a runner? Cycle by cycle, with a periodic snapshot and metrics of each cycle."""

import asyncio
from contextlib import suppress
from typing import Protocol

from engine.partition.ports import FencedError, Snapshots
from engine.partition.runner import CycleReport, Runner

SNAPSHOT_SECONDS = 300.0
"""A restart then reads at most about five minutes of changelog."""

CLOSE_SECONDS = 1.0
"""To begin the last snapshot: a successor waits."""

WRITE_SECONDS = 10.0
"""To write it, where the process stops: a million values take about three."""


class RunnerObserver(Protocol):
    """Receives what happens to a partition, for logs and metrics.

    No contract suite: it promises nothing but to return; one adapter (`adapters.roles.deciders.Observer`).
    """

    def restored(self, runner: Runner, seconds: float) -> None:
        """Note that a partition was taken, and how long its restore took."""
        ...

    def cycled(self, runner: Runner, report: CycleReport) -> None:
        """Note what one cycle did."""
        ...

    def fenced(self, runner: Runner) -> None:
        """Note that a newer owner has the partition."""
        ...


class RunnerWorker:
    """A runner as a `Worker` of a host."""

    def __init__(
        self,
        runner: Runner,
        *,
        observer: RunnerObserver,
        snapshots: Snapshots | None = None,
        snapshot_seconds: float = SNAPSHOT_SECONDS,
    ) -> None:
        self.runner = runner
        self._observer = observer
        self._snapshots = snapshots
        self._snapshot_seconds = snapshot_seconds
        self._snapshot_at: float | None = None
        self._snapshot_sequence = 0
        self._is_open = False
        self._writing: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Own and restore the partition."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._is_open = False
        await self.runner.open()
        self._is_open = True
        self._observer.restored(self.runner, loop.time() - began)
        if self._snapshot_at is None:  # one that is opened again and again gets its snapshots all the same
            self._snapshot_at = loop.time() + self._snapshot_seconds

    async def cycle(self) -> int:
        """Run one cycle."""
        try:
            report = await self.runner.cycle()
        except FencedError:
            self._is_open = False
            self._observer.fenced(self.runner)
            raise
        except BaseException:
            self._is_open = False
            raise
        self._observer.cycled(self.runner, report)
        await self._snapshot_in_time()
        return report.input_offset

    async def close(self) -> None:
        """Begin a snapshot of what was decided since the last one, and release the partition.

        A successor need not wait for the file: closing again waits until it is written.
        """
        was_open, self._is_open = self._is_open, False
        if was_open and self.runner.position.sequence > self._snapshot_sequence:
            with suppress(Exception):  # the changelog has everything
                await asyncio.wait_for(self._snapshot(), CLOSE_SECONDS)
        await self.runner.close()
        if not was_open and self._writing is not None:
            with suppress(Exception):
                await asyncio.wait_for(self._writing, WRITE_SECONDS)

    @property
    def problem(self) -> str | None:
        """What keeps the partition from doing what depends on time."""
        return self.runner.problem

    async def _snapshot_in_time(self) -> None:
        loop = asyncio.get_running_loop()
        if self._snapshot_at is None or loop.time() < self._snapshot_at:
            return
        self._snapshot_at = loop.time() + self._snapshot_seconds
        await self._snapshot()

    async def _snapshot(self) -> None:
        if self._snapshots is None or (self._writing is not None and not self._writing.done()):
            return
        slices = await self.runner.begin_snapshot()
        self._snapshot_sequence = self.runner.position.sequence
        save = self._snapshots.save(self.runner.partition, self.runner.topic_id, slices)
        self._writing = asyncio.create_task(save)
