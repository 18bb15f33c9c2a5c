"""How are frequent events logged? One line for many of one kind.

A line for each would be 100 GB a year at a million leads a day. Single events are logged at level `debug`.
"""

import asyncio
from collections import Counter

import structlog

FLUSH_SECONDS = 10.0
"""From the first event to its line: soon enough for a person who watches the log."""

KINDS_MAX = 200
"""Kinds in one line; with more the line is written at once."""

logger = structlog.get_logger(__name__)


class EventCounter:
    """Counts events by kind and logs the counts together, at most `FLUSH_SECONDS` after the first one.

    For one event loop. Call `flush` before the end, or the last counts are lost.
    """

    def __init__(self, event: str, **about: str) -> None:
        """Take the name of the log event, and its other values."""
        self._event = event
        self._about = about
        self._counts: Counter[str] = Counter()
        self._timer: asyncio.TimerHandle | None = None

    def note(self, kind: str) -> None:
        """Count one event."""
        self._counts[kind] += 1
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self.flush)
        if len(self._counts) > KINDS_MAX:
            self.flush()

    def flush(self) -> None:
        """Log the counts since the last line, if there are any."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._counts:
            counts = dict(sorted(self._counts.items()))
            logger.info(self._event, **self._about, in_all=sum(counts.values()), counts=counts)
            self._counts.clear()
