"""How much may intake pass on now (backpressure)? What the schedulers decide within `TARGET_SECONDS`; then it rests as long.

Submissions over HTTP, caller actions, opt-outs and outcomes share `contacts.requests` with the inbox, and a partition is
read in its order. A bulk import must therefore wait in `leads.inbox`. Two rules keep the wait of the
others short:

- A window bounds what may be undecided: some requests for each partition. The speed of the schedulers is not known
  beforehand; so the window grows up to that while requests are decided in time and shrinks when they are late: congestion
  control by delay, as in TCP Vegas (Brakmo and Peterson, 1995).
- A full window is drained: nothing more is passed on until all of it is known to be decided, and then for as long
  again. So half of the time nothing waits behind an import at all, neither for the schedulers nor for what follows
  them; the import gets at most a quarter of what the schedulers can decide. A trickle never waits.

Partitions of the inbox share the window: one that is flooded leaves room for the next. Within one of them nothing
overtakes: its records are one numbered stream, of which a late one would be refused as a repeat.

Those of the bulk inbox come behind: for `leads.inbox` they do not count, and while they are drained and rest it goes on.
They take what it leaves of the window, at least a part of it, so that nothing waits forever.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence

from msgspec import Struct

from engine.partition.ports import Clock, LogError

TARGET_SECONDS = 0.12
"""From an append until its decision is known here. Some 0.06 s of it pass without any backlog: a cycle and its commit, the
report of the position (`SCHEDULER_REPORT_SECONDS`) and the look at it. A slow machine needs 0.1 s: with a window that
shrinks for that, it would import slower than leads come, and be busy all the time."""

WINDOW_MIN = 40
WINDOW_START = 60
"""Undecided requests of all partitions that this process appended. The start is decided in a twentieth of a second on a
slow machine."""

WINDOW_PER_PARTITION = 16
"""The window is at most so large for each partition that this process appended to. A request that comes behind a window
waits for the cycle that decides it: with 16 requests that takes hardly longer than with one, with 50 twice as long."""

INCREASE = 1.2
DECREASE = 0.7
"""Of the window, at most once in `TARGET_SECONDS`."""

APPENDS_PER_WINDOW = 16
"""An append of less than this part of the window costs more than it carries."""

BULK_PART = 4
"""One part in so many of the window may be undecided of the bulk inbox, however much is of the other one."""

FILL_SECONDS = 0.03
"""How long partitions of the inbox that have not asked yet find their share of a window; then it is drained."""

UNUSED_SECONDS = 0.03
"""What a partition of the inbox may pass on, and has not appended by then, is free for others: it has nothing to read."""

REST_SECONDS_MAX = 1.0
"""However long a window took: its schedulers may have been away, and need not be spared for that."""

STALLED_SECONDS = 2.0
STALLED_MAX = 4_000
"""A partition whose scheduler is away decides nothing: it no longer counts against the window, so that the others go on,
until this many requests (a second of work) wait in it. Then the whole inbox waits: its next record may be for that one."""

LOOK_SECONDS = 0.01
"""Between two questions for the schedulers' positions, while something is undecided."""


class InboxPartition(Struct, frozen=True):
    """One partition of an inbox: of the bulk inbox, or of the other one."""

    partition: int
    is_bulk: bool = False


class _Append(Struct):
    """Requests of one append that may be undecided."""

    source: InboxPartition
    last_offset: int
    count: int
    appended_at: float
    """Monotonic seconds."""


class _Allowance(Struct):
    """What a partition of an inbox may pass on and has not appended yet."""

    count: int
    allowed_at: float


class _Pause(Struct):
    """Whether intake of one inbox is paused."""

    draining_since: float | None = None
    """When the oldest request of a full window was appended; None where no window is drained."""
    rests_until: float = float("-inf")


class Backpressure:
    """Compares what was appended with what the schedulers' group says it has decided; one for a whole process."""

    def __init__(self, decided: Callable[[], Awaitable[dict[int, int]]] | None, clock: Clock) -> None:
        """`decided` returns the next offset to be decided by partition; None turns backpressure off (no group to ask)."""
        self._decided = decided
        self._clock = clock
        self._window = float(WINDOW_START)
        self._is_window_used = False
        self._adapted_at = float("-inf")
        self._undecided: dict[int, deque[_Append]] = {}
        """By partition of the requests, the oldest first."""
        self._progressed_at: dict[int, float] = {}
        self._looked_at = float("-inf")
        self._pauses = {is_bulk: _Pause() for is_bulk in (False, True)}
        self._allowances: dict[InboxPartition, _Allowance] = {}

    @property
    def window(self) -> int:
        """The number of requests that may be undecided now."""
        return int(self._window)

    def record_append(self, source: InboxPartition, partition: int, last_offset: int, count: int) -> None:
        """Note an append to a partition of the requests."""
        if self._decided is None:
            return
        if source in self._allowances:
            self._allowances[source].count -= count
        now = self._clock.monotonic()
        appends = self._undecided.setdefault(partition, deque())
        if not appends:
            self._progressed_at[partition] = now  # it had nothing to decide: its time starts now
        appends.append(_Append(source, last_offset, count, now))

    async def wait_for_capacity(self, source: InboxPartition, most: int) -> int:
        """Return how many records a partition of an inbox may pass on now, at most `most`.

        It sleeps for `LOOK_SECONDS` before it returns 0.
        """
        if self._decided is None:
            return most
        self._allowances.pop(source, None)
        await self._update_window()
        allowed = min(most, self._capacity(source))
        if allowed == 0:
            await self._clock.sleep(LOOK_SECONDS)
        else:
            self._allowances[source] = _Allowance(allowed, self._clock.monotonic())
        return allowed

    def _capacity(self, source: InboxPartition) -> int:
        now = self._clock.monotonic()
        if self._is_paused(source, now):
            return 0
        counted = {partition: self._counted(partition, source) for partition in self._undecided}
        stalled = {partition for partition in counted if self._is_stalled(partition)}
        if any(_count(counted[partition]) >= STALLED_MAX for partition in stalled):
            return 0
        active = [append for partition in counted.keys() - stalled for append in counted[partition]]
        held = _count(append for append in active if append.source == source)
        free = self._free(source, active)
        # One alone fills half of the window, two a third each (`engine.fair_share.may_take`, for many at a time).
        allowed = (free - held + 1) // 2
        if allowed * APPENDS_PER_WINDOW >= self.window:
            return allowed
        self._is_window_used = True
        own = [append.appended_at for append in active if append.source.is_bulk == source.is_bulk]
        if own and (now - min(own) >= FILL_SECONDS or free * APPENDS_PER_WINDOW < self.window):
            self._pauses[source.is_bulk].draining_since = min(own)
        return 0

    def _is_paused(self, source: InboxPartition, now: float) -> bool:
        """Return whether nothing may be passed on: a window is drained, or the inbox rests."""
        own = self._pauses[source.is_bulk]
        return own.draining_since is not None or any(
            now < pause.rests_until for pause in ([*self._pauses.values()] if source.is_bulk else [own])
        )

    def _counted(self, partition: int, source: InboxPartition) -> list[_Append]:
        """Return what is undecided in a partition of the requests and counts for a source."""
        return [append for append in self._undecided[partition] if source.is_bulk or not append.source.is_bulk]

    def _free(self, source: InboxPartition, active: Sequence[_Append]) -> int:
        """Return how many more requests may be undecided, of which a source may take its share."""
        bulk = _count(append for append in active if append.source.is_bulk) + self._under_way(is_bulk=True)
        others = _count(append for append in active if not append.source.is_bulk) + self._under_way(is_bulk=False)
        if not source.is_bulk:
            return self.window - others
        part = self.window // BULK_PART - bulk
        # What is of the other inbox counts twice: one partition of it that is flooded leaves bulk no more than its part.
        is_drained = self._pauses[False].draining_since is not None
        return part if is_drained else max(self.window - 2 * others - bulk, part)

    def _under_way(self, *, is_bulk: bool) -> int:
        """Return how many requests partitions of an inbox are about to append: what they may, as long as that is new."""
        since = self._clock.monotonic() - UNUSED_SECONDS
        return sum(
            max(0, one.count)
            for source, one in self._allowances.items()
            if source.is_bulk == is_bulk and one.allowed_at > since
        )

    def _is_stalled(self, partition: int) -> bool:
        appends = self._undecided[partition]
        return bool(appends) and self._clock.monotonic() - self._progressed_at[partition] >= STALLED_SECONDS

    async def _update_window(self) -> None:
        """Ask for the positions where that is due, and adapt the window to the longest wait that they show."""
        now = self._clock.monotonic()
        if self._decided is None or now - self._looked_at < LOOK_SECONDS or not any(self._undecided.values()):
            return
        undecided_at, self._looked_at = self._looked_at, now
        try:
            offsets = await self._decided()
        except LogError:
            return  # the broker is away: what was appended stays undecided
        now = self._clock.monotonic()
        # While a window is drained, a look that comes late means that this process waits for a processor; so do others then,
        # and the window shrinks. Else nobody was in a hurry to look: it may have been decided right after the last one.
        is_drained = any(pause.draining_since is not None for pause in self._pauses.values())
        decided_at = now if is_drained else undecided_at
        longest = 0.0
        for partition, appends in self._undecided.items():
            while appends and appends[0].last_offset < offsets.get(partition, 0):
                longest = max(longest, decided_at - appends.popleft().appended_at)
                self._progressed_at[partition] = now
            if appends and not self._is_stalled(partition):
                longest = max(longest, now - appends[0].appended_at)
        self._adapt(longest, now)
        for is_bulk, pause in self._pauses.items():
            if pause.draining_since is not None and not self._has_undecided(is_bulk=is_bulk):
                pause.rests_until = now + min(REST_SECONDS_MAX, now - pause.draining_since)
                pause.draining_since = None

    def _has_undecided(self, *, is_bulk: bool) -> bool:
        """Return whether something of an inbox is undecided in a partition that is not stalled."""
        return any(
            append.source.is_bulk == is_bulk
            for partition, appends in self._undecided.items()
            if not self._is_stalled(partition)
            for append in appends
        )

    def _adapt(self, longest_seconds: float, now: float) -> None:
        """Shrink the window where something waited too long; grow it where it alone held something back."""
        if now - self._adapted_at < TARGET_SECONDS:
            return  # the last change has not had its effect yet
        if longest_seconds > TARGET_SECONDS:
            self._window = max(float(WINDOW_MIN), self._window * DECREASE)
            self._adapted_at = now
        elif self._is_window_used:
            most = max(WINDOW_START, WINDOW_PER_PARTITION * len(self._undecided))
            self._window = min(float(most), self._window * INCREASE)
            self._adapted_at = now
        self._is_window_used = False


def _count(appends: Iterable[_Append]) -> int:
    return sum(append.count for append in appends)
