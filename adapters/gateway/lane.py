"""Where does a gateway stand in one commands partition? What it took in, what is done, and how far it has looked ahead."""

import asyncio

from adapters.gateway.fences import Fences

FENCES_SWEPT_EVERY = 10_000
"""Fences are swept when this many more have come: a sweep looks at all of them."""


class LaneLostError(Exception):
    """The partition was taken away: what has not reached its provider is left to the next owner."""


class Lane:
    """One partition. Orders are taken in at `next`; `seen` is as far as fences are known; `floor` is all done below.

    Where there was no room for an order the lane is `cut`: nothing more is taken in (order per contact!) until the
    reader has gone back to `next`, while fences are still looked for ahead.
    """

    def __init__(self, partition: int, start: int) -> None:
        self.partition = partition
        self.next = start
        self.seen = start
        self.cut = False
        self.revoked = False
        self.fences = Fences()
        self._open: dict[int, None] = {}
        self._askers: list[asyncio.Future[None]] = []
        self._ends: list[tuple[int, list[asyncio.Future[None]]]] = []
        self._sweep_at = FENCES_SWEPT_EVERY

    @property
    def floor(self) -> int:
        """Return the offset before which every order is done."""
        return next(iter(self._open), self.next)

    @property
    def is_waited_for(self) -> bool:
        """Tell whether a delivery waits for this lane to be read."""
        return bool(self._askers or self._ends)

    def take_in(self, offset: int) -> None:
        """Take in the order at an offset, which is `next` or later."""
        self._open[offset] = None
        self.next = offset + 1

    def done(self, offset: int) -> None:
        """The order at an offset needs nothing more."""
        self._open.pop(offset, None)
        if len(self.fences) >= self._sweep_at:
            self.fences.forget_before(self.floor)
            self._sweep_at = len(self.fences) + FENCES_SWEPT_EVERY

    def reached(self, position: int) -> None:
        """The reader stands at a position: every fence before it is known, and every order taken in or cut off."""
        self.seen = max(self.seen, position)
        if not self.cut:
            self.next = max(self.next, position)
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
        """Let askers wait until the lane is read to an end."""
        self._ends.append((end, askers))
        self._let_pass()

    def ask_again(self, askers: list[asyncio.Future[None]]) -> None:
        """The end could not be sampled: keep the question."""
        self._askers = askers + self._askers

    def _let_pass(self) -> None:
        passed = [futures for end, futures in self._ends if end <= self.seen]
        self._ends = [waiting for waiting in self._ends if waiting[0] > self.seen]
        for futures in passed:
            _resolve(futures)


def _resolve(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
