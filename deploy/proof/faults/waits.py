"""For how long has the oldest submission waited? Watched all the time, so that a fault shows as a wait and its end."""

import asyncio
import time

LATE_SECONDS = 2.0
"""Undisturbed, a submission is decided in less than half a second, also on two cores that run everything."""

SETTLED_SECONDS = 5.0
"""With nothing late for so long a fault is over; what it does to a role shows within its first two seconds."""

GIVE_UP_SECONDS = 180.0
LOOK_SECONDS = 0.1


class Waits:
    """Submissions under way, by id, the oldest first."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def begin(self, id_: str) -> None:
        """Note that a submission is sent."""
        self._since[id_] = time.monotonic()

    def end(self, id_: str) -> None:
        """Note that it is decided, or answered."""
        self._since.pop(id_, None)

    def oldest_seconds(self) -> float:
        """Return for how long the oldest has waited; 0 where none waits."""
        return time.monotonic() - next(iter(self._since.values())) if self._since else 0.0

    def __len__(self) -> int:
        return len(self._since)


async def until_settled(waits: Waits, struck_at: float) -> float | None:
    """Return how many seconds after a fault nothing was late any more, 0.0 where nothing was; None: it never ended."""
    late_at: float | None = None
    quiet_since = time.monotonic()
    while True:
        now = time.monotonic()
        if waits.oldest_seconds() > LATE_SECONDS:
            late_at = quiet_since = now
        if now - quiet_since >= SETTLED_SECONDS:
            return 0.0 if late_at is None else late_at - struck_at
        if now - struck_at > GIVE_UP_SECONDS:
            return None
        await asyncio.sleep(LOOK_SECONDS)
