"""Was a command decided after those before it in its partition? One that was not comes of a state that was lost, or is old.

All commands of a partition are emitted by the decisions of one partition, whose numbers only rise. So a lower number than
one before it, by offset, shows that something was decided again. A record that is read a second time is judged as the first
time: deferred companies, a restart and a take-over do not make it late.
"""

from bisect import bisect_left

from adapters.gateway.ports import SavedProgress
from schemas.envelope import DecisionNumber

STEPS_MAX = 100_000
"""Steps that are kept until every command before them is done: some 10 MB. Beyond it every second one is dropped: records
that are read again are then compared with a number that is a little lower."""


class DecisionOrder:
    """The highest decision number in one partition, at each offset since the watermark; `refused` counts what was lower."""

    def __init__(self, saved: SavedProgress) -> None:
        self._next_offset = saved.offset
        self._offsets: list[int] = [saved.offset - 1]
        self._numbers: list[DecisionNumber] = [saved.newest]
        self._refused: list[int] = []
        self._refused_before = saved.refused

    @property
    def newest(self) -> DecisionNumber:
        """Return the highest number of all records that were seen."""
        return self._numbers[-1]

    def admit(self, offset: int, number: DecisionNumber) -> bool:
        """Note the number of the record at an offset; return whether no record before it has a higher one."""
        if offset < self._next_offset:
            return number >= self._numbers[max(0, bisect_left(self._offsets, offset) - 1)]
        self._next_offset = offset + 1
        newest = self._numbers[-1]
        if number < newest:
            self._refused.append(offset)
            return False
        if number.epoch > newest.epoch:  # an operator has settled what was refused before
            self._refused.clear()
            self._refused_before = 0
        if number > newest:
            self._offsets.append(offset)
            self._numbers.append(number)
            if len(self._offsets) > STEPS_MAX:
                del self._offsets[1:-1:2], self._numbers[1:-1:2]
        return True

    def saved_at(self, watermark: int) -> SavedProgress:
        """Return what holds before a watermark, and forget what is only needed to read again before it."""
        done = bisect_left(self._offsets, watermark)
        if done > 1:
            del self._offsets[: done - 1], self._numbers[: done - 1]
        passed = bisect_left(self._refused, watermark)
        self._refused_before += passed
        del self._refused[:passed]
        newest = self._numbers[0] if done else DecisionNumber()
        return SavedProgress(watermark, newest, self._refused_before)
