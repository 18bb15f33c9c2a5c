"""What has a gateway read and finished in one commands partition? Its watermark, open commands and deferred companies."""

import asyncio
from collections.abc import Sequence

from adapters.gateway.decision_order import DecisionOrder
from adapters.gateway.fences import Fences
from adapters.gateway.ports import SavedProgress
from schemas.errors import DependencyError

FENCES_BETWEEN_SWEEPS = 10_000
"""New fences between two sweeps of old ones: each sweep examines all."""


class PartitionLostError(DependencyError):
    """The partition was revoked: what has not reached its provider is left to the next owner."""


class PartitionProgress:
    """One partition. Every record before `next_offset` was seen; every command before `watermark` is done.

    Without capacity for a command its company is deferred: until the reader was sought back, no later command of the company
    is admitted, which keeps the order per contact. Commands of other companies are admitted, and fences added, meanwhile.
    """

    def __init__(self, partition: int, saved: SavedProgress) -> None:
        self.partition = partition
        self.next_offset = saved.offset
        self.end = saved.offset
        """Where the partition ended when that was last sampled."""
        self.revoked = False
        self.fences = Fences()
        self.order = DecisionOrder(saved)
        self._open: dict[int, None] = {}
        self._deferred: dict[int, int] = {}
        """By company: its first command that may not have been admitted, or an offset before it."""
        self._returning: set[int] = set()
        """Deferred companies whose commands are admitted again: the reader was sought back to them."""
        self._waiters: list[asyncio.Future[None]] = []
        self._ends: list[tuple[int, list[asyncio.Future[None]]]] = []
        self._sweep_at = FENCES_BETWEEN_SWEEPS

    @property
    def watermark(self) -> int:
        """Return the offset before which every command is done."""
        return min(min(self._open, default=self.next_offset), min(self._deferred.values(), default=self.next_offset))

    def to_save(self) -> SavedProgress:
        """Return what the next owner of the partition has to know."""
        return self.order.saved_at(self.watermark)

    @property
    def lag(self) -> int:
        """Return how many records wait to be handled, also those that were not fetched yet."""
        return max(self.end, self.next_offset) - self.watermark

    @property
    def deferred(self) -> set[int]:
        """Return the companies that wait for capacity, whose commands the reader must seek back to."""
        return set(self._deferred) - self._returning

    @property
    def resume_offset(self) -> int:
        """Return where a new reader starts: behind what was seen, or further back for companies that resume."""
        return min((self._deferred[company_id] for company_id in self._returning), default=self.next_offset)

    @property
    def has_waiters(self) -> bool:
        """Return whether a delivery waits for this partition to be read."""
        return bool(self._waiters or self._ends)

    def is_new(self, offset: int) -> bool:
        """Return whether the record at an offset is seen for the first time."""
        return offset >= self.next_offset

    def mark_seen(self, offset: int) -> None:
        """Note that the record at an offset was admitted, deferred, or needs nothing."""
        self.next_offset = max(self.next_offset, offset + 1)

    def needs_delivery(self, company_id: int, offset: int) -> bool:
        """Return whether to admit the command of a company at an offset, if there is capacity."""
        if company_id not in self._deferred:
            return self.is_new(offset)
        return company_id in self._returning and offset >= self._deferred[company_id]

    def admit(self, company_id: int, offset: int) -> None:
        """Admit a command that needs delivery."""
        self._open[offset] = None
        if company_id in self._deferred:
            self._deferred[company_id] = offset + 1

    def defer(self, company_id: int, offset: int) -> None:
        """Defer a command that needs delivery, and what follows it of its company."""
        self._deferred.setdefault(company_id, offset)
        self._returning.discard(company_id)

    def resume(self, company_ids: Sequence[int], position: int) -> int:
        """Resume these deferred companies, which have capacity again; return where the reader goes on."""
        self._returning.update(company_ids)
        if company_ids:
            return min(position, *(self._deferred[company_id] for company_id in company_ids))
        return position if self._returning else max(position, self.next_offset)

    def mark_done(self, offset: int) -> None:
        """Note that the command at an offset is done."""
        self._open.pop(offset, None)
        if len(self.fences) >= self._sweep_at:
            self.fences.forget_before(self.watermark)
            self._sweep_at = len(self.fences) + FENCES_BETWEEN_SWEEPS

    def advance_to(self, position: int) -> None:
        """Note the reader's position; every record before it was seen."""
        if position >= self.next_offset:
            self.next_offset = position
            for company_id in self._returning:
                del self._deferred[company_id]
            self._returning.clear()
        self._release_waiters()

    def revoke(self) -> None:
        """Start nothing more here, and fail those that wait for the end."""
        self.revoked = True
        for futures in (self._waiters, *(futures for _, futures in self._ends)):
            for future in futures:
                if not future.done():
                    future.set_exception(PartitionLostError)

    async def wait_for_end(self) -> None:
        """Return once everything was seen that the partition held when this was called.

        Raises `PartitionLostError` where the partition is revoked before.
        """
        if self.revoked:
            raise PartitionLostError
        asked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(asked)
        await asked

    def take_waiters(self) -> list[asyncio.Future[None]]:
        """Take the waiters since the last call; sample the end after it, and pass both to `add_waiters`."""
        asked, self._waiters = self._waiters, []
        return asked

    def add_waiters(self, end: int, waiters: list[asyncio.Future[None]]) -> None:
        """Note an end, and let waiters wait until the partition is read to it."""
        self.end = max(self.end, end)
        if waiters:
            self._ends.append((end, waiters))
            self._release_waiters()

    def requeue(self, waiters: list[asyncio.Future[None]]) -> None:
        """Keep waiters whose end could not be sampled."""
        self._waiters = waiters + self._waiters

    def _release_waiters(self) -> None:
        passed = [futures for end, futures in self._ends if end <= self.next_offset]
        self._ends = [waiting for waiting in self._ends if waiting[0] > self.next_offset]
        for futures in passed:
            _resolve(futures)


def _resolve(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
