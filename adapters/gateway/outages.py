"""What keeps a gateway from working now? Every call to the log or the database goes through here, and is retried.

The last error of a source shows in `/readyz` until a call to that source succeeds.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

import structlog

from adapters.errors import StoreError
from adapters.retry import retry
from engine.partition.ports import LogError, RecordRefusedError

T = TypeVar("T")

logger = structlog.get_logger(__name__)

WAIT_SECONDS_MIN = 0.1
WAIT_SECONDS_MAX = 5.0
"""So late may the return of a broker or database be noticed."""


def is_transient(error: Exception) -> bool:
    """Return whether a retry can help: the log or the database is away."""
    return isinstance(error, StoreError) or (isinstance(error, LogError) and error.retryable)


class Outages:
    """The last error of each source that has not succeeded since, as `describe` words it; empty means ready."""

    def __init__(self, describe: Callable[[Exception], str] = str) -> None:
        self._describe = describe
        self._by_source: dict[str, str] = {}
        self.is_stopping = False
        """Whether what an operator must settle first is left to the next process."""

    def current(self) -> dict[str, str]:
        """Return source -> its last error."""
        return dict(self._by_source)

    async def retry(self, source: str, act: Callable[[], Awaitable[T]], *, attempts: int | None = None) -> T:
        """Retry on transient errors: until it succeeds, or `attempts` times; then raise."""
        return await retry(
            partial(self._try, source, act),
            on=self._waits_for,
            first_seconds=WAIT_SECONDS_MIN,
            max_seconds=WAIT_SECONDS_MAX,
            attempts=attempts,
        )

    def _waits_for(self, error: Exception) -> bool:
        """Return whether to wait: the log or the database is away, or an operator must first settle what a topic lost.

        A command must not be passed over meanwhile: nothing would carry it out afterwards. Only of a record that the log
        refuses it is certain that no wait helps.
        """
        is_lost = isinstance(error, LogError) and not isinstance(error, RecordRefusedError)
        return is_transient(error) or (is_lost and not self.is_stopping)

    async def _try(self, source: str, act: Callable[[], Awaitable[T]]) -> T:
        try:
            result = await act()
        except Exception as error:
            if self._waits_for(error):
                self._note(source, self._describe(error) or type(error).__name__)
            raise
        if self._by_source.pop(source, None) is not None:
            logger.info("outage.ended", source=source)
        return result

    def _note(self, source: str, reason: str) -> None:
        if source not in self._by_source:
            logger.warning("outage.started", source=source, error=reason)
        self._by_source[source] = reason
