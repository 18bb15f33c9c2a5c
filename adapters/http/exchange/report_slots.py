"""How many reports, forecasts and previews are made at once? A few, shared by companies; who waits too long is refused.

The database and the thread that computes are everybody's: without a bound one company's reports would keep the reads and
submissions of all others waiting.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct

from adapters.fair_semaphore import FairSemaphore, TooManyWaitingError
from adapters.http.exchange.problems import ProblemError

WAITING_MAX = 40
"""Requests that wait for a slot, of all companies together; one company alone has half of these places."""

WAIT_SECONDS = 5.0
"""For a slot: a report takes tenths of a second, a long forecast some seconds."""

RETRY_AFTER_SECONDS = 5


REST_SHARE = 1.0
"""Of the time that a report took, how long its slot stays taken while other companies use this process: those of one company
use half of a core of the database then."""

SLICE_SECONDS = 0.001
"""Of work beside the loop at a stretch, after which the loop may go on."""

SWITCH_SECONDS = 0.001
"""After which a thread that computes gives the interpreter to the loop. A request waits for it several times: Python's own
5 ms would be more than the whole answer takes."""

PAUSE_SECONDS = 0.001
"""Between two slices: a real pause, because a thread that only offers the interpreter gets it back at once."""

T = TypeVar("T")


class Waits(Struct, frozen=True):
    """What is told to those who waited in vain: because of their own (`{held}` of them), or because of others."""

    own: str
    others: str


WAITS = Waits(
    own="{held} reports or forecasts of this company are being made; ask again when one is done.",
    others="Reports of other companies are being made; ask again soon.",
)


class ReportSlots:
    """The slots of one process; one company alone holds half of them (`engine.fair_share.Shares`)."""

    def __init__(self, slots_max: int) -> None:
        self._slots = FairSemaphore(slots_max, waiting_max=WAITING_MAX)

    def acquire(self, company_id: int) -> AbstractAsyncContextManager[None]:
        """Wait for a slot and hold it for the block. Raises `ProblemError` rate_limited or reports_busy."""
        return taken_in_time(self._slots, company_id, WAITS)


@asynccontextmanager
async def taken_in_time(slots: FairSemaphore, company_id: int, waits: Waits) -> AsyncIterator[None]:
    """Wait some seconds for a slot and hold it for the block. Raises `ProblemError` rate_limited or reports_busy."""
    async with AsyncExitStack() as held:
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await held.enter_async_context(slots.acquire(company_id))
        except (TimeoutError, TooManyWaitingError):
            raise _refusal(slots.held(company_id), waits) from None
        yield


def _refusal(held: int, waits: Waits) -> ProblemError:
    headers = {"Retry-After": str(RETRY_AFTER_SECONDS)}
    if held:
        return ProblemError("rate_limited", waits.own.format(held=held), headers=headers)
    return ProblemError("reports_busy", waits.others, headers=headers)


@asynccontextmanager
async def rested(
    block: AbstractAsyncContextManager[None], share: float, is_shared: Callable[[], bool]
) -> AsyncIterator[None]:
    """Hold a block, and for a share of its time longer where others use the process; its caller does not wait for that."""
    async with AsyncExitStack() as held:
        await held.enter_async_context(block)
        started = time.monotonic()
        try:
            yield
        finally:
            if is_shared():
                rest = asyncio.create_task(_close_after(held.pop_all(), share * (time.monotonic() - started)))
                _RESTS.add(rest)
                rest.add_done_callback(_RESTS.discard)


async def _close_after(held: AsyncExitStack, seconds: float) -> None:
    async with held:
        await asyncio.sleep(seconds)


_RESTS: set[asyncio.Task[None]] = set()
"""The loop itself keeps no task alive."""


def in_slices(items: Iterable[T]) -> Iterator[T]:
    """Give items on, and let the loop go on whenever a slice of time is over. For a thread beside the loop."""
    until = time.monotonic() + SLICE_SECONDS
    for item in items:
        yield item
        if time.monotonic() > until:
            time.sleep(PAUSE_SECONDS)
            until = time.monotonic() + SLICE_SECONDS


class Unhurried(Sequence[T]):
    """Items that are given on in slices whenever they are gone through."""

    def __init__(self, items: Sequence[T]) -> None:
        self._items = items

    def __iter__(self) -> Iterator[T]:
        """Give the items on."""
        return in_slices(self._items)

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self._items)

    def __getitem__(self, place: Any) -> Any:
        """Return an item, or some."""
        return self._items[place]


class EngineThread:
    """One thread for what the engine computes for long; companies take turns for it, call by call.

    One, because threads that compute share the interpreter: whenever the loop has something to do, it waits for one of them
    at most as long as the switch interval, and for several so many times longer. What takes long comes in slices.
    """

    def __init__(self) -> None:
        sys.setswitchinterval(SWITCH_SECONDS)
        self._turns = FairSemaphore(1)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="engine")

    async def run(self, company_id: int, function: Callable[..., T], *arguments: Any) -> T:
        """Return what a function returns."""
        async with self._turns.acquire(company_id):
            return await asyncio.get_running_loop().run_in_executor(self._thread, partial(function, *arguments))
