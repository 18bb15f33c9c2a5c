"""What must be tidied now and then? Chores of a process, by APScheduler: a late one runs once, never two at a time.

No lead's timer is ever kept here: those are derived from state by the partition that owns them.
"""

from collections.abc import Awaitable, Callable

import structlog
from apscheduler.schedulers.asyncio import AsyncIOScheduler

logger = structlog.get_logger(__name__)


class PeriodicJobs:
    """The chores of one process; `add` them, then `start`."""

    def __init__(self) -> None:
        self._scheduler = AsyncIOScheduler(
            timezone="UTC", job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1}
        )

        self._turns: dict[str, Callable[[], Awaitable[None]]] = {}

    def add(self, name: str, work: Callable[[], Awaitable[object]], *, minutes: int) -> None:
        """Do some work every so many minutes; a failure is logged and the next turn comes in time."""

        async def turn() -> None:
            try:
                await work()
            except Exception as error:  # noqa: BLE001 - whatever it is, the role's own work goes on
                await logger.awarning("job.failed", job=name, error=str(error))

        self._turns[name] = turn
        self._scheduler.add_job(turn, "interval", minutes=minutes, id=name)

    async def run_now(self, name: str) -> None:
        """Do a chore now, before the first turn of its own."""
        await self._turns[name]()

    def start(self) -> None:
        """Begin; inside the running loop."""
        self._scheduler.start()

    def stop(self) -> None:
        """End without waiting."""
        self._scheduler.shutdown(wait=False)
