"""Where does a gateway stand in one commands partition? What it took in, what is done, and whom it passed over."""

import asyncio
from collections.abc import Sequence

from adapters.gateway.fences import Fences
from schemas.errors import DependencyError

FENCES_BETWEEN_SWEEPS = 10_000
"""Fences are swept when this many more have come: a sweep looks at all of them."""


class PartitionLostError(DependencyError):
    """The partition was taken away: what has not reached its provider is left to the next owner."""


class PartitionProgress:
    """One partition. Every record before `next` was looked at; `watermark` is all done below.

    Where there is no room for an order of a company, the company is passed over: none of its orders behind that one is
    taken in (order per contact!) until the reader has gone back to it, while those of other companies, and fences, are.
    """

    def __init__(self, partition: int, start: int) -> None:
        self.partition = partition
        self.next_offset = start
        self.end = start
        """Where the partition ended when that was last asked."""
        self.revoked = False
        self.fences = Fences()
        self._open: dict[int, None] = {}
        self._deferred: dict[int, int] = {}
        """By company: its first order that may not have been taken in, or an offset before it."""
        self._returning: set[int] = set()
        """Those of them whose orders are taken in again; the reader has gone back."""
        self._waiters: list[asyncio.Future[None]] = []
        self._ends: list[tuple[int, list[asyncio.Future[None]]]] = []
        self._sweep_at = FENCES_BETWEEN_SWEEPS

    @property
    def watermark(self) -> int:
        """Return the offset before which every command is done."""
        return min(min(self._open, default=self.next_offset), min(self._deferred.values(), default=self.next_offset))

    @property
    def lag(self) -> int:
        """Return how many records wait to be handled, also those that were not fetched yet."""
        return max(self.end, self.next_offset) - self.watermark

    @property
    def deferred(self) -> set[int]:
        """Return the companies that wait for room, with orders that the reader has to go back to."""
        return set(self._deferred) - self._returning

    @property
    def resume_offset(self) -> int:
        """Return where a new reader has to begin: behind what was looked at, or further back for who returns."""
        return min((self._deferred[company_id] for company_id in self._returning), default=self.next_offset)

    @property
    def has_waiters(self) -> bool:
        """Tell whether a delivery waits for this lane to be read."""
        return bool(self._waiters or self._ends)

    def is_new(self, offset: int) -> bool:
        """Tell whether the record at an offset is looked at for the first time."""
        return offset >= self.next_offset

    def mark_seen(self, offset: int) -> None:
        """The record at an offset was taken in, passed over, or needs nothing."""
        self.next_offset = max(self.next_offset, offset + 1)

    def needs_delivery(self, company_id: int, offset: int) -> bool:
        """Tell whether the order of a company at an offset is to be taken in, if there is room."""
        if company_id not in self._deferred:
            return self.is_new(offset)
        return company_id in self._returning and offset >= self._deferred[company_id]

    def admit(self, company_id: int, offset: int) -> None:
        """Take in an order that is wanted."""
        self._open[offset] = None
        if company_id in self._deferred:
            self._deferred[company_id] = offset + 1

    def defer(self, company_id: int, offset: int) -> None:
        """Leave an order that is wanted, and what comes behind it of its company, for later."""
        self._deferred.setdefault(company_id, offset)
        self._returning.discard(company_id)

    def resume(self, company_ids: Sequence[int], position: int) -> int:
        """There is room again for these companies, which were passed over; return where the reader goes on."""
        self._returning.update(company_ids)
        if company_ids:
            return min(position, *(self._deferred[company_id] for company_id in company_ids))
        return position if self._returning else max(position, self.next_offset)

    def mark_done(self, offset: int) -> None:
        """The order at an offset needs nothing more."""
        self._open.pop(offset, None)
        if len(self.fences) >= self._sweep_at:
            self.fences.forget_before(self.watermark)
            self._sweep_at = len(self.fences) + FENCES_BETWEEN_SWEEPS

    def advance_to(self, position: int) -> None:
        """The reader stands at a position, and every record before it was looked at."""
        if position >= self.next_offset:
            self.next_offset = position
            for company_id in self._returning:
                del self._deferred[company_id]
            self._returning.clear()
        self._release_waiters()

    def revoke(self) -> None:
        """Nothing more is begun here, and nobody reads on for those who wait."""
        self.revoked = True
        for futures in (self._waiters, *(futures for _, futures in self._ends)):
            for future in futures:
                if not future.done():
                    future.set_exception(PartitionLostError)

    async def wait_for_end(self) -> None:
        """Return once everything was seen that stood in the partition when this was called.

        Raises `PartitionLostError` where the partition is taken away before.
        """
        if self.revoked:
            raise PartitionLostError
        asked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(asked)
        await asked

    def waiters(self) -> list[asyncio.Future[None]]:
        """Return who asked for the end since the last call; the end has to be sampled after it, and given to `wait`."""
        asked, self._waiters = self._waiters, []
        return asked

    def add_waiters(self, end: int, waiters: list[asyncio.Future[None]]) -> None:
        """Note an end, and let askers wait until the lane is read to it."""
        self.end = max(self.end, end)
        if waiters:
            self._ends.append((end, waiters))
            self._release_waiters()

    def requeue(self, waiters: list[asyncio.Future[None]]) -> None:
        """The end could not be sampled: keep the question."""
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
