"""Which periodic jobs does a process run? Purges and rollups, by APScheduler: a late one runs once, never two at a time.

The first run comes soon after the start: a process that is restarted more often than its jobs are due still does them. No
lead's timer is here: the partition that owns a lead derives its timers from state.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import structlog
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from adapters.clock import wall_now
from schemas.instant import to_datetime

FIRST_RUN_SECONDS = 60.0
"""After the start: what a starting process must do at once is done by then. Jobs that are due more often come before."""

logger = structlog.get_logger(__name__)


class PeriodicJobs:
    """The jobs of one process; `add` them, then `start`."""

    def __init__(self) -> None:
        self._scheduler = AsyncIOScheduler(
            timezone="UTC", job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1}
        )

        self._runs: dict[str, Callable[[], Awaitable[None]]] = {}

    def add(self, name: str, work: Callable[[], Awaitable[object]], *, minutes: int) -> None:
        """Run `work` soon, and every `minutes` after that; a failure is logged, and the next run comes as planned."""

        async def run() -> None:
            try:
                await work()
            except Exception as error:  # noqa: BLE001 - whatever it is, the role's own work goes on
                await logger.awarning("job.failed", job=name, error=str(error))

        self._runs[name] = run
        first_at = to_datetime(wall_now()) + timedelta(seconds=min(FIRST_RUN_SECONDS, 60 * minutes))
        self._scheduler.add_job(run, "interval", minutes=minutes, start_date=first_at, id=name)

    async def run_now(self, name: str) -> None:
        """Run a job now, before its first interval has passed."""
        await self._runs[name]()

    def start(self) -> None:
        """Start the jobs. Call it inside the running event loop."""
        self._scheduler.start()

    def stop(self) -> None:
        """Stop without waiting for a job that runs."""
        self._scheduler.shutdown(wait=False)
