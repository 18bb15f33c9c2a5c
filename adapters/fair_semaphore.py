"""How do many tasks share a few slots (priority semaphore)? Companies share fairly; tasks of one company go by rank."""

import asyncio
import heapq
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, Protocol

from engine.fair_share import Shares
from schemas.errors import DependencyError

Rank = tuple[Any, ...]
Entry = tuple[Rank, int, asyncio.Future[None]]


class Bulkhead(Protocol):
    """A further bound that some tasks of one company share: those that use the same endpoint.

    No contract suite: one adapter (`adapters.gateway.circuit.Endpoint`), whose tests run it under the semaphore.
    """

    @property
    def has_capacity(self) -> bool:
        """Return whether one more may enter."""
        ...

    def enter(self) -> None:
        """Count one in."""
        ...

    def leave(self) -> None:
        """Count one out."""
        ...


class TooManyWaitingError(DependencyError):
    """No further task of this company may wait for a slot now."""


class FairSemaphore:
    """`slots_max` slots; `engine.fair_share.Shares` says how many of them one company may hold.

    A free slot goes to the company that holds the fewest; of equal ones to the one whose last slot is longest ago.
    `waiting_max` bounds the waiting tasks and is shared in the same way. Not for several event loops.
    """

    def __init__(self, slots_max: int, *, waiting_max: int | None = None) -> None:
        self._held = Shares(slots_max)
        self._queued = None if waiting_max is None else Shares(waiting_max)
        self._waiting: OrderedDict[int, dict[Bulkhead | None, list[Entry]]] = OrderedDict()
        """By company, the one with the oldest grant first; empty queues are removed."""
        self._arrivals = count()

    def held(self, company_id: int) -> int:
        """Return how many slots a company holds."""
        return self._held.held(company_id)

    @asynccontextmanager
    async def acquire(self, company_id: int, rank: Rank = (), bulkhead: Bulkhead | None = None) -> AsyncIterator[None]:
        """Wait for a slot and hold it for the block. Raises `TooManyWaitingError` at once."""
        await self._take(company_id, rank, bulkhead)
        try:
            yield
        finally:
            self._give_back(company_id, bulkhead)

    async def _take(self, company_id: int, rank: Rank, bulkhead: Bulkhead | None) -> None:
        has_queue = company_id in self._waiting and bulkhead in self._waiting[company_id]
        if not has_queue and self._held.may_take(company_id) and (bulkhead is None or bulkhead.has_capacity):
            self._grant(company_id, bulkhead)
            return
        if self._queued is not None:
            if not self._queued.may_take(company_id):
                raise TooManyWaitingError
            self._queued.take(company_id)
        try:
            await self._wait(company_id, rank, bulkhead)
        finally:
            if self._queued is not None:
                self._queued.give_back(company_id)

    async def _wait(self, company_id: int, rank: Rank, bulkhead: Bulkhead | None) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue = self._waiting.setdefault(company_id, {}).setdefault(bulkhead, [])
        heapq.heappush(queue, (rank, next(self._arrivals), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # the slot was granted in the same moment
                self._give_back(company_id, bulkhead)
            raise

    def _grant(self, company_id: int, bulkhead: Bulkhead | None) -> None:
        self._held.take(company_id)
        if bulkhead is not None:
            bulkhead.enter()

    def _give_back(self, company_id: int, bulkhead: Bulkhead | None) -> None:
        self._held.give_back(company_id)
        if bulkhead is not None:
            bulkhead.leave()
        while (entry := self._next()) is not None:
            (_, _, turn), company_id, bulkhead = entry
            self._grant(company_id, bulkhead)
            turn.set_result(None)

    def _next(self) -> tuple[Entry, int, Bulkhead | None] | None:
        """Pop the task that gets a slot now, or return None."""
        chosen: tuple[int, list[Bulkhead | None]] | None = None
        for company_id in list(self._waiting):
            ready = self._ready(company_id)
            if not ready or not self._held.may_take(company_id):
                continue
            if chosen is None or self._held.held(company_id) < self._held.held(chosen[0]):
                chosen = company_id, ready
            if self._held.held(company_id) == 0:
                break  # none holds fewer
        if chosen is None:
            return None
        company_id, ready = chosen
        queues = self._waiting[company_id]
        bulkhead = min(ready, key=lambda one: queues[one][0][:2])
        entry = heapq.heappop(queues[bulkhead])
        self._waiting.move_to_end(company_id)
        self._ready(company_id)
        return entry, company_id, bulkhead

    def _ready(self, company_id: int) -> list[Bulkhead | None]:
        """Return the queues of a company whose first task its bulkhead lets through; drop cancelled tasks."""
        queues = self._waiting[company_id]
        for bulkhead, queue in list(queues.items()):
            while queue and queue[0][2].done():
                heapq.heappop(queue)
            if not queue:
                del queues[bulkhead]
        if not queues:
            del self._waiting[company_id]
        return [bulkhead for bulkhead in queues if bulkhead is None or bulkhead.has_capacity]
