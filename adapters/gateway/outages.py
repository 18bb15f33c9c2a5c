"""What stands in the way at present? Every call to the log or the database goes through here, again until it succeeds."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import stamina

from adapters.errors import StoreError
from engine.partition.ports import LogError

T = TypeVar("T")

WAIT_SECONDS_MIN = 0.1
WAIT_SECONDS_MAX = 5.0
"""A broker or database that is back is noticed within this."""


def is_transient(error: Exception) -> bool:
    """Tell whether trying again can help: nobody's fault but the world's."""
    return isinstance(error, StoreError) or (isinstance(error, LogError) and error.retryable)


class Outages:
    """The last error of each source that has not succeeded since; empty means ready."""

    def __init__(self) -> None:
        self._by_source: dict[str, str] = {}

    def current(self) -> dict[str, str]:
        """Return source -> what it said."""
        return dict(self._by_source)

    async def retry(self, source: str, act: Callable[[], Awaitable[T]], *, attempts: int | None = None) -> T:
        """Do something, again while the world is in the way: until it succeeds, or `attempts` times, then raise."""
        try:
            return await self._tried(source, act)  # nearly always: without what it takes to try again
        except Exception as error:
            if attempts == 1 or not is_transient(error):
                raise
        await asyncio.sleep(WAIT_SECONDS_MIN)
        retrying = stamina.retry_context(
            is_transient,
            attempts=None if attempts is None else attempts - 1,
            timeout=None,
            wait_initial=WAIT_SECONDS_MIN,
            wait_max=WAIT_SECONDS_MAX,
        )
        async for attempt in retrying:
            with attempt:
                return await self._tried(source, act)
        raise AssertionError("stamina ends with a result or an error")

    async def _tried(self, source: str, act: Callable[[], Awaitable[T]]) -> T:
        try:
            result = await act()
        except Exception as error:
            if is_transient(error):
                self._by_source[source] = str(error) or type(error).__name__
            raise
        self._by_source.pop(source, None)
        return result
