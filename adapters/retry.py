"""How is a failed call retried? With backoff: after waits that grow up to a bound, until it succeeds or `stop` is set.

`retry` is for one call, by stamina. `retry_until_stopped` is for long work: its wait ends at the stop, and after a success
it begins with short waits again. stamina can do neither.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

import stamina
from stamina.instrumentation import set_on_retry_hooks

T = TypeVar("T")
E = TypeVar("E", bound=Exception)

BACKOFF_FIRST_SECONDS = 1.0
BACKOFF_MAX_SECONDS = 10.0
"""How late a role may notice that a server is back."""

JITTER = 0.2
"""Fraction of a wait, either way: processes that lost the same server do not all reconnect at once."""

WAIT_JITTER_SECONDS = 1.0
"""stamina's default: the most that is added to each wait after the first."""

set_on_retry_hooks(())  # callers log failures with their context; stamina would log them twice


async def retry(
    act: Callable[[], Awaitable[T]],
    *,
    on: Callable[[Exception], bool],
    first_seconds: float,
    max_seconds: float,
    jitter_seconds: float = WAIT_JITTER_SECONDS,
    attempts: int | None = None,
    timeout_seconds: float | None = None,
) -> T:
    """Call until it succeeds, at most `attempts` times or for `timeout_seconds`; then raise the last error.

    The first wait is `first_seconds`; each further one is twice as long, up to `max_seconds`. Errors that `on` does not
    accept are raised at once.
    """
    try:
        return await act()  # nearly always: without the cost of an iterator
    except Exception as error:
        if attempts == 1 or not on(error):
            raise
    await asyncio.sleep(first_seconds)
    retrying = stamina.retry_context(
        on,
        attempts=None if attempts is None else attempts - 1,
        timeout=timeout_seconds,
        wait_initial=min(2 * first_seconds, max_seconds),
        wait_max=max_seconds,
        wait_jitter=jitter_seconds,
    )
    async for attempt in retrying:
        with attempt:
            return await act()
    raise AssertionError("stamina ends with a result or an error")


async def pause(stop: asyncio.Event, seconds: float) -> None:
    """Wait some seconds, or less when `stop` is set."""
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)


class Backoff:
    """Waits between attempts, each twice as long as the one before, up to a bound."""

    def __init__(self) -> None:
        self._seconds = BACKOFF_FIRST_SECONDS

    def next_seconds(self) -> float:
        """Return how long to wait before the next attempt."""
        seconds = self._seconds
        self._seconds = min(2 * seconds, BACKOFF_MAX_SECONDS)
        return round(seconds * random.uniform(1 - JITTER, 1 + JITTER), 2)  # noqa: S311 - nothing secret rests on it

    def reset(self) -> None:
        """Start with short waits again: an attempt succeeded."""
        self._seconds = BACKOFF_FIRST_SECONDS


async def retry_until_stopped(
    work: Callable[[], Awaitable[None]],
    stop: asyncio.Event,
    *,
    on: tuple[type[E], ...],
    backoff: Backoff,
    failed: Callable[[E, float], Awaitable[None]],
) -> None:
    """Work until it succeeds or `stop` is set. `failed` gets each error, and how many seconds the wait after it lasts."""
    while not stop.is_set():
        try:
            await work()
        except on as error:
            seconds = backoff.next_seconds()
            await failed(error, seconds)
            await pause(stop, seconds)
        else:
            return
