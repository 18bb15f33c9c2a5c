"""For how long has the oldest submission waited? Watched all the time, so that a fault shows as a wait and its end."""

import asyncio
import time
from typing import Any

from adapters.http.exchange.settings import WAIT_SECONDS

LATE_SECONDS = 2.0
"""Undisturbed, a submission is decided in less than half a second, also on two cores that run everything."""

ANSWER_LATE_SECONDS = WAIT_SECONDS + LATE_SECONDS
"""The API waits for a decision before it answers 202 without one: that answer is in time."""

SETTLED_SECONDS = 5.0
"""With nothing late for so long a fault is over; what it does to a role shows within its first two seconds."""

GIVE_UP_SECONDS = 180.0
LOOK_SECONDS = 0.1


class OpenWaits:
    """Submissions under way, by id, the oldest first; late after `late_seconds`."""

    def __init__(self, late_seconds: float) -> None:
        self.late_seconds = late_seconds
        self.longest_seconds = 0.0
        """The longest that one of those which have ended waited, since this was set to 0."""
        self._since: dict[str, float] = {}

    def begin(self, id_: str) -> None:
        """Note that a submission is sent."""
        self._since[id_] = time.monotonic()

    def end(self, id_: str) -> None:
        """Note that it is decided, or answered."""
        begun_at = self._since.pop(id_, None)
        if begun_at is not None:
            self.longest_seconds = max(self.longest_seconds, time.monotonic() - begun_at)

    def oldest_seconds(self) -> float:
        """Return how long the oldest has waited; 0 if none waits."""
        return time.monotonic() - next(iter(self._since.values())) if self._since else 0.0

    def __len__(self) -> int:
        return len(self._since)


class Delays:
    """How busy is the machine itself? The longest that this process was held up: no fault of what is measured."""

    def __init__(self) -> None:
        self.longest_seconds = 0.0

    async def watch(self) -> None:
        """Note delays until cancelled."""
        while True:
            asleep_at = time.monotonic()
            await asyncio.sleep(LOOK_SECONDS)
            self.longest_seconds = max(self.longest_seconds, time.monotonic() - asleep_at - LOOK_SECONDS)


async def until_settled(waits: OpenWaits, struck_at: float, healing: asyncio.Future[Any] | None = None) -> float | None:
    """Return how many seconds after a fault nothing was late any more, 0.0 where nothing was; None: it never ended.

    With `healing`, nothing counts as the end before that is done.
    """
    late_at: float | None = None
    quiet_since = begun_at = time.monotonic()
    while True:
        now = time.monotonic()
        if healing is not None and not healing.done():
            quiet_since = begun_at = now
        if waits.oldest_seconds() > waits.late_seconds:
            late_at = quiet_since = now
        if now - quiet_since >= SETTLED_SECONDS:
            return 0.0 if late_at is None else late_at - struck_at
        if now - begun_at > GIVE_UP_SECONDS:
            return None
        await asyncio.sleep(LOOK_SECONDS)
