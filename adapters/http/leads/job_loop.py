"""How does a process advance the jobs of all companies? One after the other, whatever one of them meets."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from adapters.http.exchange.ports import EventsUnavailableError
from adapters.reads.ports import ReadsUnavailableError
from engine.partition.ports import LogError

LOOK_SECONDS = 1.0
"""Between two looks for jobs where there are none, or where a server is away."""

logger = structlog.get_logger(__name__)


async def advance_jobs(advance_once: Callable[[], Awaitable[bool]], jobs: str) -> None:
    """Advance until cancelled. `advance_once` returns False where there is nothing to do; `jobs` names them in the log."""
    while True:
        try:
            advanced = await advance_once()
        except (ReadsUnavailableError, EventsUnavailableError, LogError) as error:
            await logger.adebug("job.delayed", job=jobs, error=str(error))
            advanced = False
        except Exception as error:  # noqa: BLE001 - a fault of ours must not end the jobs of all other companies
            await logger.awarning("job.failed", job=jobs, error=str(error), exc_info=error)
            advanced = False
        if not advanced:
            await asyncio.sleep(LOOK_SECONDS)
