"""Which entities are due, most urgent first? A derived structure: rebuilt from state, never stored.

Cancelling and moving a timer are changes of the entity. Entries that no longer say what the entity says are passed over
when they come up (lazy deletion), so that setting a timer costs one push.
"""

import heapq
from collections.abc import Callable, Iterable

from engine.partition.aggregate import Timer
from schemas.instant import Instant

STALE_ENTRIES_MAX = 10_000
"""Rebuilding below this many passed-over entries costs more than it frees."""

TimerOf = Callable[[str], Timer | None]


class TimerQueue:
    """Two heaps: what is not due yet by time, what is due by urgency (class, priority, due, id)."""

    def __init__(self, timer_of: TimerOf) -> None:
        self._timer_of = timer_of
        self._later: list[Timer] = []
        self._ready: list[tuple[int, float, Instant, int, Timer]] = []
        self._parked: list[tuple[Instant, Timer]] = []

    def rebuild(self, timers: Iterable[Timer]) -> None:
        """Start from these timers alone."""
        self._later = list(timers)
        heapq.heapify(self._later)
        self._ready.clear()
        self._parked.clear()

    def push(self, timer: Timer) -> None:
        """Add the timer that an entity has now."""
        heapq.heappush(self._later, timer)

    def park(self, timer: Timer, until: Instant) -> None:
        """Let a timer that could not be decided rest until an instant."""
        heapq.heappush(self._parked, (until, timer))

    def pop_due(self, now: Instant, limit: int) -> list[Timer]:
        """Take up to `limit` timers that are due and still meant, most urgent first."""
        self._ripen(now)
        due: list[Timer] = []
        taken: set[str] = set()
        while self._ready and len(due) < limit:
            timer = heapq.heappop(self._ready)[-1]
            if timer.key not in taken and self._timer_of(timer.key) == timer:
                taken.add(timer.key)
                due.append(timer)
        return due

    def give_back(self, timers: Iterable[Timer]) -> None:
        """Return timers that were taken and not decided."""
        for timer in timers:
            self.push(timer)

    def next_due_at(self) -> Instant | None:
        """Return when the next entry comes up (it may turn out to be stale), or None; 0 where some are due already."""
        if self._ready:
            return 0
        later = self._later[0].due_at if self._later else None
        parked = self._parked[0][0] if self._parked else None
        if later is None or parked is None:
            return parked if later is None else later
        return min(later, parked)

    def is_bloated(self, live: int) -> bool:
        """Tell whether stale entries outnumber the live ones so far that rebuilding pays."""
        return len(self._later) > 2 * live + STALE_ENTRIES_MAX

    def _ripen(self, now: Instant) -> None:
        while self._later and self._later[0].due_at <= now:
            self._get_ready(heapq.heappop(self._later))
        while self._parked and self._parked[0][0] <= now:
            self._get_ready(heapq.heappop(self._parked)[1])

    def _get_ready(self, timer: Timer) -> None:
        heapq.heappush(self._ready, (timer.urgency_class, timer.priority, timer.due_at, timer.id, timer))
