"""When must intake slow down? When the scheduler has so much to read that an opt-out would wait behind it.

No contact command is emitted while requests older than 2 s are unread (`engine.partition.runner`). A bulk import must
therefore not fill `contacts.requests` faster than it is decided; it waits in `leads.inbox`, which is there for that.
Partitions of the inbox share what may be unread: one that is flooded leaves room for the next. Within one of them nothing
overtakes: its records are one numbered stream, of which a late one would be refused as a repeat.
"""

from collections import deque
from collections.abc import Awaitable, Callable

from engine.fair_share import may_take
from engine.partition.ports import Clock, LogError

UNREAD_MAX = 8_000
"""Requests of one partition that are not decided: about two seconds of work of one scheduler, of which one partition of the
inbox alone fills half."""

LOOK_SECONDS = 0.5
WAIT_SECONDS = 0.1


class Room:
    """Compares what was appended with what the scheduler's group says it has decided; one for a whole process."""

    def __init__(self, decided: Callable[[], Awaitable[dict[int, int]]] | None, clock: Clock) -> None:
        self._decided = decided
        self._clock = clock
        self._ends: dict[int, int] = {}
        """By partition of the requests: behind the last request that was appended here."""
        self._own: dict[int, dict[int, deque[tuple[int, int]]]] = {}
        """By partition of the inbox and of the requests: offset of the last request, and number, of each append."""
        self._offsets: dict[int, int] = {}
        self._looked_at = float("-inf")

    def appended(self, inbox_partition: int, partition: int, offset: int, count: int) -> None:
        """Note an append to a partition: the offset of its last request, and how many they were."""
        self._ends[partition] = max(offset + 1, self._ends.get(partition, 0))
        self._own.setdefault(inbox_partition, {}).setdefault(partition, deque()).append((offset, count))

    async def is_there(self, inbox_partition: int) -> bool:
        """Tell whether a partition of the inbox may append more now; where not, it has waited a little before it said so."""
        if self._decided is None or self._has_room(inbox_partition):
            return True
        if self._clock.monotonic() - self._looked_at >= LOOK_SECONDS:
            self._looked_at = self._clock.monotonic()
            try:
                self._offsets = await self._decided()
            except LogError:
                return False
            if self._has_room(inbox_partition):
                return True
        await self._clock.sleep(WAIT_SECONDS)
        return False

    def _has_room(self, inbox_partition: int) -> bool:
        own = self._own.get(inbox_partition, {})
        return all(
            may_take(self._unread(own.get(partition), partition), UNREAD_MAX - (end - self._offsets.get(partition, 0)))
            for partition, end in self._ends.items()
        )

    def _unread(self, appends: deque[tuple[int, int]] | None, partition: int) -> int:
        """Return how many requests these appends hold that are not all decided, and forget those that are."""
        while appends and appends[0][0] < self._offsets.get(partition, 0):
            appends.popleft()
        return sum(count for _, count in appends or ())
