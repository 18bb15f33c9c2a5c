"""How does a host drive a runner? Cycle by cycle, with a snapshot now and then, telling metrics what each cycle did."""

import asyncio
from contextlib import suppress
from typing import Protocol

from engine.partition.ports import FencedError, Snapshots
from engine.partition.runner import Report, Runner

SNAPSHOT_SECONDS = 300.0
"""A restart then reads at most about five minutes of changelog."""

CLOSE_SECONDS = 1.0


class Observer(Protocol):
    """Is told what happens to a partition, for logs and metrics."""

    def restored(self, runner: Runner, seconds: float) -> None:
        """Learn that a partition was taken, and how long it took to know its state."""
        ...

    def cycled(self, runner: Runner, report: Report) -> None:
        """Learn what one cycle did."""
        ...

    def fenced(self, runner: Runner) -> None:
        """Learn that a newer owner has the partition."""
        ...


class RunnerWorker:
    """A runner as a `Worker` of a host."""

    def __init__(
        self,
        runner: Runner,
        *,
        observer: Observer,
        snapshots: Snapshots | None = None,
        snapshot_seconds: float = SNAPSHOT_SECONDS,
    ) -> None:
        self.runner = runner
        self._observer = observer
        self._snapshots = snapshots
        self._snapshot_seconds = snapshot_seconds
        self._snapshot_at = 0.0
        self._writing: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Own and restore the partition."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        await self.runner.open()
        self._observer.restored(self.runner, loop.time() - began)
        self._snapshot_at = loop.time() + self._snapshot_seconds

    async def cycle(self) -> int:
        """Run one cycle."""
        try:
            report = await self.runner.cycle()
        except FencedError:
            self._observer.fenced(self.runner)
            raise
        self._observer.cycled(self.runner, report)
        await self._snapshot_in_time()
        return report.input_offset

    async def close(self) -> None:
        """Finish a snapshot that is nearly written, and let the partition go."""
        if self._writing is not None:
            with suppress(Exception):
                await asyncio.wait_for(self._writing, CLOSE_SECONDS)
        await self.runner.close()

    @property
    def trouble(self) -> str | None:
        """What keeps the partition from doing what depends on time."""
        return self.runner.trouble

    async def _snapshot_in_time(self) -> None:
        loop = asyncio.get_running_loop()
        if self._snapshots is None or loop.time() < self._snapshot_at:
            return
        self._snapshot_at = loop.time() + self._snapshot_seconds
        if self._writing is None or self._writing.done():
            slices = await self.runner.begin_snapshot()
            save = self._snapshots.save(self.runner.partition, self.runner.topic_id, slices)
            self._writing = asyncio.create_task(save)
