"""How does something wait that may be told to stop at any moment?"""

import asyncio
import random
from contextlib import suppress


async def pause(stop: asyncio.Event, seconds: float) -> None:
    """Wait some seconds, or less when told to stop."""
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)


BACKOFF_FIRST_SECONDS = 1.0
BACKOFF_MAX_SECONDS = 10.0
"""As long as a role may take to notice that what it waits for is back."""

JITTER = 0.2
"""Of a pause, either way: processes that lost the same server do not all come back to it at the same moment."""


class Backoff:
    """Pauses between attempts, each twice as long as the one before, up to a bound."""

    def __init__(self) -> None:
        self._seconds = BACKOFF_FIRST_SECONDS

    def next_seconds(self) -> float:
        """Return how long to wait before the next attempt."""
        seconds = self._seconds
        self._seconds = min(2 * seconds, BACKOFF_MAX_SECONDS)
        return round(seconds * random.uniform(1 - JITTER, 1 + JITTER), 2)  # noqa: S311 - nothing secret rests on it

    def reset(self) -> None:
        """Begin with short pauses again: an attempt succeeded."""
        self._seconds = BACKOFF_FIRST_SECONDS
