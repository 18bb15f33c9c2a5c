"""Which timers are due? Companies take turns (round robin); within a company the most urgent comes first. Never stored.

The queue is rebuilt from the entities. To cancel or move a timer, change the entity: stale entries are skipped when they
come up (lazy deletion), so setting a timer costs one append. A timer that is due in a later minute is only a key in the
bucket of that minute: eight bytes for a lead that waits for days.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from engine.fair_share import FairQueue
from engine.partition.aggregate import Timer
from engine.partition.places import SharedGate
from schemas.instant import EPOCH, HOUR, MINUTE, Instant

STALE_ENTRIES_MAX = 10_000
"""Below this many stale entries a rebuild costs more than it frees."""

AGED_EVERY = MINUTE
"""How often due timers with aging are sorted again: a priority that grows by the hour is precise enough by the minute."""

PROMOTE_BATCH = 1_000
"""Keys promoted before the event loop may run others: about 5 ms where a whole campaign is due at one instant."""

TimerOf = Callable[[str], Timer | None]

Ready = tuple[int, float, Instant, int, Timer]


class GateHolder(Protocol):
    """What holds a place of a gate: it can be compared with a timer.

    No contract suite: one pure adapter (`schemas.contact.OpenSlotRequest`).
    """

    def rank(self, now: Instant) -> tuple[int, float, Instant, int]:
        """Return its urgency now, in the sort order of due timers."""
        ...


class TimerGate(Protocol):
    """Admits timers while it has room; beyond that, only those that are more urgent than one of its holders.

    No contract suite: its adapters are pure (`engine.partition.places.SharedGate`, two in `schemas.contact`);
    tests/engine/contact/test_slot_turns.py and test_places.py run the queue behind them.
    """

    @property
    def room(self) -> int:
        """How many timers it admits whatever their urgency."""
        ...

    def least_urgent(self, now: Instant) -> Sequence[GateHolder]:
        """Return its holders, the least urgent first."""
        ...


GateOf = Callable[[str], TimerGate | None]
"""By the key of a gate; None where it admits everything."""


class TimerQueue:
    """Timers in three stages: far ones by minute, near ones in a heap by time, due ones by company and urgency."""

    def __init__(self, timer_of: TimerOf, gate_of: GateOf = lambda _: None) -> None:
        self._timer_of = timer_of
        self._gate_of = gate_of
        self._gated: dict[str, list[Ready]] = {}
        self._opening: dict[str, Instant] = {}
        self._far: dict[int, list[str]] = {}
        self._minutes: list[int] = []
        self._far_count = 0
        self._near: list[Timer] = []
        self._near_until: Instant = EPOCH
        self._ready: FairQueue[Ready] = FairQueue()
        self._parked: list[tuple[Instant, Timer]] = []
        self._aged_at: Instant | None = None

    def rebuild(self, timers: Iterable[Timer]) -> None:
        """Replace the content by these timers."""
        self._far.clear()
        self._minutes.clear()
        self._far_count = 0
        self._near.clear()
        self._near_until = EPOCH
        self._ready.clear()
        self._parked.clear()
        self._gated.clear()
        self._opening.clear()
        self._aged_at = None
        for timer in timers:
            self.push(timer)

    def push(self, timer: Timer) -> None:
        """Add the timer that an entity has now."""
        if timer.due_at < self._near_until:
            heapq.heappush(self._near, timer)
            return
        minute = timer.due_at // MINUTE
        keys = self._far.get(minute)
        if keys is None:
            keys = self._far[minute] = []
            heapq.heappush(self._minutes, minute)
        keys.append(timer.key)
        self._far_count += 1

    def park(self, timer: Timer, until: Instant) -> None:
        """Hold back a timer until an instant."""
        heapq.heappush(self._parked, (until, timer))

    def promote_due(self, now: Instant, limit: int | None = None) -> bool:
        """Promote the timers that are due by `now` to the due queue, at most `limit`; return whether some are left."""
        left = 2 * len(self) + 1 if limit is None else limit
        while self._minutes and EPOCH + self._minutes[0] * MINUTE <= now and left > 0:
            left -= self._load_minute(left)
        while self._near and self._near[0].due_at <= now and left > 0:
            self._push_ready(heapq.heappop(self._near))
            left -= 1
        while self._parked and self._parked[0][0] <= now:
            timer = heapq.heappop(self._parked)[1]
            self._opening.pop(timer.key, None)
            self._push_ready(timer)
        for gate in [gate for gate in self._gated if left > 0 and self._gate_of(gate) is None]:
            left -= self._release_gate(gate, left)
        return left <= 0

    def _release_gate(self, gate: str, limit: int) -> int:
        """Promote the timers behind a gate that is gone, at most `limit`; return how many."""
        waiting = self._gated[gate]
        taken = waiting[-limit:]
        del waiting[-limit:]
        for entry in taken:
            self._ready.push(entry[-1].company_id, entry)
        if not waiting:
            del self._gated[gate]
        return len(taken)

    def count_due(self, now: Instant, most: int) -> int:
        """Return roughly how many timers are due, beyond `most` even more roughly: stale ones count, far ones do not."""
        found, places = len(self._ready), [0]
        while places and found < most:
            place = places.pop()
            if place < len(self._near) and self._near[place].due_at <= now:  # what is below a place in a heap is due later
                found += 1
                places += 2 * place + 1, 2 * place + 2
        return found

    def pop_due(self, now: Instant, limit: int) -> list[Timer]:
        """Take up to `limit` due timers that are not stale: one of each company in turn, its most urgent first."""
        self.promote_due(now)
        self._age(now)
        turns = _GateRound(self._gate_of, now)
        self._open_gates(turns)
        due: list[Timer] = []
        taken: set[str] = set()

        def admit_entry(entry: Ready) -> bool:
            timer = entry[-1]
            if timer.key in taken or self._timer_of(timer.key) != timer:
                return False
            if timer.gate and not turns.admit(timer):
                self._gate_timer(entry)
                return False
            return True

        while len(due) < limit and (entry := self._ready.take(admit_entry)) is not None:
            taken.add(entry[-1].key)
            due.append(entry[-1])
        return due

    def _open_gates(self, turns: "_GateRound") -> None:
        """Promote the gated timers that their gate would admit now, most urgent first."""
        for gate in list(self._gated):
            waiting = self._gated[gate]
            ahead = turns.ahead(gate)
            while waiting:
                timer = waiting[0][-1]
                if self._timer_of(timer.key) != timer:
                    heapq.heappop(waiting)
                elif ahead.admit(timer):
                    self._ready.push(timer.company_id, heapq.heappop(waiting))
                else:
                    break
            if not waiting:
                del self._gated[gate]

    def _gate_timer(self, entry: Ready) -> None:
        """Put a timer behind its gate, until `opens_at` at the latest."""
        timer = entry[-1]
        heapq.heappush(self._gated.setdefault(timer.gate, []), entry)
        if timer.opens_at and self._opening.get(timer.key) != timer.opens_at:
            self._opening[timer.key] = timer.opens_at
            self.park(timer, timer.opens_at)

    def give_back(self, timers: Iterable[Timer]) -> None:
        """Put back timers that were taken and not decided."""
        for timer in timers:
            self._push_ready(timer)

    def next_due_at(self) -> Instant | None:
        """Return when the next timer may be due, or None where none is set; 0 where some are due already.

        Never too late. Too early where the next entry is stale, or is only known by its minute.
        """
        if self._ready or any(self._has_room(gate) for gate in self._gated):
            return EPOCH
        if self._near:
            soonest = self._near[0].due_at
        elif self._minutes:
            soonest = EPOCH + self._minutes[0] * MINUTE
        else:
            return self._parked[0][0] if self._parked else None
        return min(soonest, self._parked[0][0]) if self._parked else soonest

    def __len__(self) -> int:
        """Return the number of entries, stale ones included."""
        gated = sum(map(len, self._gated.values()))
        return self._far_count + len(self._near) + len(self._ready) + len(self._parked) + gated - len(self._opening)

    def is_bloated(self, live: int) -> bool:
        """Return whether so many entries are stale that a rebuild pays."""
        return self._far_count + len(self._near) > 2 * live + STALE_ENTRIES_MAX

    def _load_minute(self, limit: int) -> int:
        """Move the timers of the first minute to the heap, at most `limit`; return how many entries that took."""
        minute = self._minutes[0]
        keys = self._far[minute]
        taken = keys[-limit:]
        del keys[-limit:]
        self._far_count -= len(taken)
        if not keys:
            del self._far[minute]
            heapq.heappop(self._minutes)
            self._near_until = EPOCH + (minute + 1) * MINUTE
        for key in dict.fromkeys(taken):
            timer = self._timer_of(key)
            if timer is not None and timer.due_at // MINUTE == minute:
                heapq.heappush(self._near, timer)
        return len(taken)

    def _push_ready(self, timer: Timer) -> None:
        if timer.aging and self._aged_at is None:
            self._aged_at = EPOCH
        entry = timer.urgency_class, timer.priority, timer.due_at, timer.id, timer
        self._ready.push(timer.company_id, entry)

    def _has_room(self, key: str) -> bool:
        gate = self._gate_of(key)
        return gate is None or gate.room > 0

    def _age(self, now: Instant) -> None:
        """Sort due timers with aging by their present priority, at most once a minute."""
        if self._aged_at is None or now - self._aged_at < AGED_EVERY:
            return
        self._aged_at = now
        self._ready.reorder(lambda entry: _aged(entry[-1], now))
        for gate, waiting in self._gated.items():
            self._gated[gate] = again = [_aged(timer, now) for *_, timer in waiting]
            heapq.heapify(again)


class _GateRound:
    """What gates admit in one round: as many as they have room for, then timers more urgent than a holder."""

    def __init__(self, gate_of: GateOf, now: Instant) -> None:
        self._gate_of = gate_of
        self._now = now
        self._passages: dict[str, _GatePassage] = {}
        self._taken: Counter[str] = Counter()

    def admit(self, timer: Timer) -> bool:
        passage = self._passages.get(timer.gate)
        if passage is None:
            passage = self._passages[timer.gate] = _GatePassage(self._gate_of(timer.gate), self._now, self._taken)
        return passage.admit(timer)

    def ahead(self, key: str) -> "_GatePassage":
        """Return the state of a gate at the start of the round, as if no other company took a place."""
        return _GatePassage(self._gate_of(key), self._now, Counter())


class _GatePassage:
    """One gate in one round."""

    def __init__(self, gate: TimerGate | None, now: Instant, taken: Counter[str]) -> None:
        """`taken` counts, by channel, the timers that passed the gates of all companies."""
        self._taken = taken
        self._now = now
        self._gate = gate
        self._room = 0 if gate is None else gate.room
        self._held: Sequence[GateHolder] = () if gate is None else gate.least_urgent(now)
        self._through = 0

    def admit(self, timer: Timer) -> bool:
        """Admit a timer, or return False."""
        if self._gate is None or EPOCH < timer.opens_at <= self._now:
            return True
        if isinstance(self._gate, SharedGate):
            return self._admit_shared(self._gate)
        place = self._through - self._room
        if place >= len(self._held):
            return False
        if place >= 0 and _aged(timer, self._now)[:4] >= self._held[place].rank(self._now):
            return False
        self._through += 1
        return True

    def _admit_shared(self, gate: SharedGate) -> bool:
        if not gate.lets_through(self._through, self._taken[gate.channel]):
            return False
        self._through += 1
        self._taken[gate.channel] += 1
        return True


def _aged(timer: Timer, now: Instant) -> tuple[int, float, Instant, int, Timer]:
    priority = timer.priority
    if timer.aging:
        priority -= timer.aging * max(0, now - timer.due_at) / HOUR
    return timer.urgency_class, priority, timer.due_at, timer.id, timer
