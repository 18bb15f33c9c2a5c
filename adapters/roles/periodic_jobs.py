"""Which periodic jobs does a process run? Purges and rollups, by APScheduler: a late one runs once, never two at a time.

No lead's timer is here: the partition that owns a lead derives its timers from state.
"""

from collections.abc import Awaitable, Callable

import structlog
from apscheduler.schedulers.asyncio import AsyncIOScheduler

logger = structlog.get_logger(__name__)


class PeriodicJobs:
    """The jobs of one process; `add` them, then `start`."""

    def __init__(self) -> None:
        self._scheduler = AsyncIOScheduler(
            timezone="UTC", job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1}
        )

        self._runs: dict[str, Callable[[], Awaitable[None]]] = {}

    def add(self, name: str, work: Callable[[], Awaitable[object]], *, minutes: int) -> None:
        """Run `work` every `minutes`; a failure is logged, and the next run comes as planned."""

        async def run() -> None:
            try:
                await work()
            except Exception as error:  # noqa: BLE001 - whatever it is, the role's own work goes on
                await logger.awarning("job.failed", job=name, error=str(error))

        self._runs[name] = run
        self._scheduler.add_job(run, "interval", minutes=minutes, id=name)

    async def run_now(self, name: str) -> None:
        """Run a job now, before its first interval has passed."""
        await self._runs[name]()

    def start(self) -> None:
        """Start the jobs. Call it inside the running event loop."""
        self._scheduler.start()

    def stop(self) -> None:
        """Stop without waiting for a job that runs."""
        self._scheduler.shutdown(wait=False)
