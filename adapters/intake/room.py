"""When must intake slow down? When the scheduler has so much to read that an opt-out would wait behind it.

design.md section 1: no contact command is emitted while requests older than 2 s are unread. A bulk import must therefore not
fill `contacts.requests` faster than it is decided; it waits in `leads.inbox`, which is there for that.
"""

from collections.abc import Awaitable, Callable

from engine.partition.ports import Clock, LogError

UNREAD_MAX = 5_000
"""Requests of one partition appended here and not decided: about a second of work of one scheduler."""

LOOK_SECONDS = 0.5
WAIT_SECONDS = 0.1


class Room:
    """Compares what was appended with what the scheduler's group says it has decided."""

    def __init__(self, decided: Callable[[], Awaitable[dict[int, int]]] | None, clock: Clock) -> None:
        self._decided = decided
        self._clock = clock
        self._appended: dict[int, int] = {}
        self._offsets: dict[int, int] = {}
        self._looked_at = float("-inf")

    def appended(self, partition: int, offset: int) -> None:
        """Note the offset of the last request appended to a partition."""
        self._appended[partition] = max(offset, self._appended.get(partition, 0))

    async def is_there(self) -> bool:
        """Tell whether more may be appended now; where not, it has waited a little before it said so."""
        if self._decided is None or not self._is_full():
            return True
        if self._clock.monotonic() - self._looked_at >= LOOK_SECONDS:
            self._looked_at = self._clock.monotonic()
            try:
                self._offsets = await self._decided()
            except LogError:
                return False
            if not self._is_full():
                return True
        await self._clock.sleep(WAIT_SECONDS)
        return False

    def _is_full(self) -> bool:
        return any(offset - self._offsets.get(partition, 0) > UNREAD_MAX for partition, offset in self._appended.items())
