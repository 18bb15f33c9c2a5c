"""Who goes next where more orders wait than are carried out at once? The most urgent: class, priority, due, arrival."""

import asyncio
import heapq
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

from schemas.commands import Command
from schemas.instant import Instant

Rank = tuple[int, float, Instant, int]


class Slots:
    """So many orders at once. One that waits does so in a heap: a callback is not made to stand behind a campaign."""

    def __init__(self, slots_max: int) -> None:
        self._free = slots_max
        self._waiting: list[tuple[Rank, asyncio.Future[None]]] = []
        self._arrivals = count()

    @asynccontextmanager
    async def taken_for(self, order: Command) -> AsyncIterator[None]:
        """Wait for a slot and hold it for the block."""
        await self._take(order)
        try:
            yield
        finally:
            self._pass_on()

    async def _take(self, order: Command) -> None:
        if self._free > 0:  # then nobody waits
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        rank = (order.urgency_class, order.priority, order.not_before, next(self._arrivals))
        heapq.heappush(self._waiting, (rank, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # the slot was given in the same moment
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        while self._waiting:
            _, turn = heapq.heappop(self._waiting)
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
