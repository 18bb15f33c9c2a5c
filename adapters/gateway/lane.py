"""Where does a gateway stand in one commands partition? What it took in, what is done, and whom it passed over."""

import asyncio
from collections.abc import Sequence

from adapters.gateway.fences import Fences
from schemas.errors import DependencyError

FENCES_SWEPT_EVERY = 10_000
"""Fences are swept when this many more have come: a sweep looks at all of them."""


class LaneLostError(DependencyError):
    """The partition was taken away: what has not reached its provider is left to the next owner."""


class Lane:
    """One partition. Every record before `next` was looked at; `floor` is all done below.

    Where there is no room for an order of a company, the company is passed over: none of its orders behind that one is
    taken in (order per contact!) until the reader has gone back to it, while those of other companies, and fences, are.
    """

    def __init__(self, partition: int, start: int) -> None:
        self.partition = partition
        self.next = start
        self.end = start
        """Where the partition ended when that was last asked."""
        self.revoked = False
        self.fences = Fences()
        self._open: dict[int, None] = {}
        self._passed_over: dict[int, int] = {}
        """By company: its first order that may not have been taken in, or an offset before it."""
        self._returning: set[int] = set()
        """Those of them whose orders are taken in again; the reader has gone back."""
        self._askers: list[asyncio.Future[None]] = []
        self._ends: list[tuple[int, list[asyncio.Future[None]]]] = []
        self._sweep_at = FENCES_SWEPT_EVERY

    @property
    def floor(self) -> int:
        """Return the offset before which every order is done."""
        return min(min(self._open, default=self.next), min(self._passed_over.values(), default=self.next))

    @property
    def lag(self) -> int:
        """Return how many records wait to be handled, also those that were not fetched yet."""
        return max(self.end, self.next) - self.floor

    @property
    def passed_over(self) -> set[int]:
        """Return the companies that wait for room, with orders that the reader has to go back to."""
        return set(self._passed_over) - self._returning

    @property
    def reads_at(self) -> int:
        """Return where a new reader has to begin: behind what was looked at, or further back for who returns."""
        return min((self._passed_over[company_id] for company_id in self._returning), default=self.next)

    @property
    def is_waited_for(self) -> bool:
        """Tell whether a delivery waits for this lane to be read."""
        return bool(self._askers or self._ends)

    def is_new(self, offset: int) -> bool:
        """Tell whether the record at an offset is looked at for the first time."""
        return offset >= self.next

    def looked_at(self, offset: int) -> None:
        """The record at an offset was taken in, passed over, or needs nothing."""
        self.next = max(self.next, offset + 1)

    def is_wanted(self, company_id: int, offset: int) -> bool:
        """Tell whether the order of a company at an offset is to be taken in, if there is room."""
        if company_id not in self._passed_over:
            return self.is_new(offset)
        return company_id in self._returning and offset >= self._passed_over[company_id]

    def take_in(self, company_id: int, offset: int) -> None:
        """Take in an order that is wanted."""
        self._open[offset] = None
        if company_id in self._passed_over:
            self._passed_over[company_id] = offset + 1

    def pass_over(self, company_id: int, offset: int) -> None:
        """Leave an order that is wanted, and what comes behind it of its company, for later."""
        self._passed_over.setdefault(company_id, offset)
        self._returning.discard(company_id)

    def go_back(self, company_ids: Sequence[int], position: int) -> int:
        """There is room again for these companies, which were passed over; return where the reader goes on."""
        self._returning.update(company_ids)
        if company_ids:
            return min(position, *(self._passed_over[company_id] for company_id in company_ids))
        return position if self._returning else max(position, self.next)

    def done(self, offset: int) -> None:
        """The order at an offset needs nothing more."""
        self._open.pop(offset, None)
        if len(self.fences) >= self._sweep_at:
            self.fences.forget_before(self.floor)
            self._sweep_at = len(self.fences) + FENCES_SWEPT_EVERY

    def reached(self, position: int) -> None:
        """The reader stands at a position, and every record before it was looked at."""
        if position >= self.next:
            self.next = position
            for company_id in self._returning:
                del self._passed_over[company_id]
            self._returning.clear()
        self._let_pass()

    def revoke(self) -> None:
        """Nothing more is begun here, and nobody reads on for those who wait."""
        self.revoked = True
        for futures in (self._askers, *(futures for _, futures in self._ends)):
            for future in futures:
                if not future.done():
                    future.set_exception(LaneLostError)

    async def read_to_the_end(self) -> None:
        """Return once everything was seen that stood in the partition when this was called.

        Raises `LaneLostError` where the partition is taken away before.
        """
        if self.revoked:
            raise LaneLostError
        asked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._askers.append(asked)
        await asked

    def askers(self) -> list[asyncio.Future[None]]:
        """Return who asked for the end since the last call; the end has to be sampled after it, and given to `wait`."""
        asked, self._askers = self._askers, []
        return asked

    def wait(self, end: int, askers: list[asyncio.Future[None]]) -> None:
        """Note an end, and let askers wait until the lane is read to it."""
        self.end = max(self.end, end)
        if askers:
            self._ends.append((end, askers))
            self._let_pass()

    def ask_again(self, askers: list[asyncio.Future[None]]) -> None:
        """The end could not be sampled: keep the question."""
        self._askers = askers + self._askers

    def _let_pass(self) -> None:
        passed = [futures for end, futures in self._ends if end <= self.next]
        self._ends = [waiting for waiting in self._ends if waiting[0] > self.next]
        for futures in passed:
            _resolve(futures)


def _resolve(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
