"""How many reports, forecasts and previews run at once? A few, shared by companies; one that waits too long is refused.

All companies share the database and the thread that computes. Without a limit, one company's reports would delay the reads
and submissions of all others.
"""

import asyncio
import sys
import threading
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
"""Requests that wait for a slot, of all companies together. One company alone may have half of them."""

WAIT_SECONDS = 5.0
"""Longest wait for a slot: a report takes tenths of a second, a long forecast a few seconds."""

RETRY_AFTER_SECONDS = 5


COOLDOWN_SHARE = 1.0
"""Time for which a slot stays taken after a report, as a share of the report's time, while other companies use this process.
The reports of one company then use half of a database core."""

SLICE_SECONDS = 0.001
"""Time that a computing thread works before it lets the event loop run."""

SWITCH_SECONDS = 0.001
"""Interval after which a computing thread hands the interpreter to the event loop. A request waits for it several times:
Python's default of 5 ms would be more than the whole answer takes."""

PAUSE_SECONDS = 0.001
"""Pause between two slices while short requests come. It must be a real sleep: a thread that only yields the interpreter
gets it back at once."""

SMALL_ITEMS = 64
"""Groups of a report between two looks at the clock, which takes as long as adding up a group: 64 take some 50 us."""

T = TypeVar("T")

_THREAD = threading.local()
"""`must_pause` of an engine thread: whether short requests come. Other threads always pause."""


class RefusalTexts(Struct, frozen=True):
    """What a request is answered that got no slot in time: because of its own company (`{held}` slots), or of others."""

    own: str
    others: str


REFUSAL_TEXTS = RefusalTexts(
    own="This company has {held} reports or forecasts running. Try again when one is done.",
    others="Reports of other companies are running. Try again soon.",
)


class ReportSlots:
    """The slots of one process; one company alone may hold half of them (`engine.fair_share.Shares`)."""

    def __init__(self, slots_max: int) -> None:
        self._slots = FairSemaphore(slots_max, waiting_max=WAITING_MAX)

    def acquire(self, company_id: int) -> AbstractAsyncContextManager[None]:
        """Wait for a slot and hold it for the block. Raises `ProblemError` rate_limited or reports_busy."""
        return acquire_in_time(self._slots, company_id, REFUSAL_TEXTS)


@asynccontextmanager
async def acquire_in_time(slots: FairSemaphore, company_id: int, texts: RefusalTexts) -> AsyncIterator[None]:
    """Wait at most `WAIT_SECONDS` for a slot and hold it for the block.

    Raises `ProblemError`: rate_limited if the company itself holds slots, else reports_busy.
    """
    async with AsyncExitStack() as held:
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await held.enter_async_context(slots.acquire(company_id))
        except (TimeoutError, TooManyWaitingError):
            raise _refusal(slots.held(company_id), texts) from None
        yield


def _refusal(held: int, texts: RefusalTexts) -> ProblemError:
    headers = {"Retry-After": str(RETRY_AFTER_SECONDS)}
    if held:
        return ProblemError("rate_limited", texts.own.format(held=held), headers=headers)
    return ProblemError("reports_busy", texts.others, headers=headers)


@asynccontextmanager
async def hold_with_cooldown(
    block: AbstractAsyncContextManager[None], share: float, is_shared: Callable[[], bool]
) -> AsyncIterator[None]:
    """Hold a block, and hold it longer by a share of its time if others use the process; the caller does not wait."""
    async with AsyncExitStack() as held:
        await held.enter_async_context(block)
        started = time.monotonic()
        try:
            yield
        finally:
            if is_shared():
                cooldown = asyncio.create_task(_close_after(held.pop_all(), share * (time.monotonic() - started)))
                _COOLDOWNS.add(cooldown)
                cooldown.add_done_callback(_COOLDOWNS.discard)


async def _close_after(held: AsyncExitStack, seconds: float) -> None:
    async with held:
        await asyncio.sleep(seconds)


_COOLDOWNS: set[asyncio.Task[None]] = set()
"""References to running tasks: the event loop itself keeps only weak ones."""


def in_slices(items: Iterable[T]) -> Iterator[T]:
    """Yield items, and pause after each slice of time so that the event loop can run. For use in another thread."""
    until = time.monotonic() + SLICE_SECONDS
    for item in items:
        yield item
        if time.monotonic() > until:
            until = _end_slice()


def _end_slice() -> float:
    """Sleep if short requests come; return when the next slice ends."""
    must_pause: Callable[[], bool] | None = getattr(_THREAD, "must_pause", None)
    if must_pause is None or must_pause():
        time.sleep(PAUSE_SECONDS)
    return time.monotonic() + SLICE_SECONDS


def _small_in_slices(items: Sequence[T]) -> Iterator[T]:
    """Yield items that take little each as `in_slices` does, with a look at the clock after `SMALL_ITEMS` of them."""
    until = time.monotonic() + SLICE_SECONDS
    for start in range(0, len(items), SMALL_ITEMS):
        yield from items[start : start + SMALL_ITEMS]
        if time.monotonic() > until:
            until = _end_slice()


def empty_in_slices(items: list[Any]) -> None:
    """Remove items one by one. For use in another thread: to free 40,000 at once holds up the event loop for 40 ms."""
    for _ in in_slices(range(len(items))):
        items.pop()


class SlicedSequence(Sequence[T]):
    """A sequence of small items, such as groups of a report, that is iterated in slices (see `in_slices`)."""

    def __init__(self, items: Sequence[T]) -> None:
        self._items = items

    def __iter__(self) -> Iterator[T]:
        """Yield the items in slices."""
        return _small_in_slices(self._items)

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self._items)

    def __getitem__(self, index: Any) -> Any:
        """Return an item or a slice."""
        return self._items[index]


class EngineThread:
    """One thread for long computations of the engine; companies take turns, call by call.

    It is one thread because threads that compute share the interpreter. The event loop waits at most one switch interval for
    one of them, and several intervals for several. Long computations run in slices, with a pause after each if `must_pause`.
    """

    def __init__(self, must_pause: Callable[[], bool]) -> None:
        sys.setswitchinterval(SWITCH_SECONDS)
        self._turns = FairSemaphore(1)
        self._thread = ThreadPoolExecutor(1, "engine", partial(setattr, _THREAD, "must_pause", must_pause))

    async def run(self, company_id: int, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function in the thread, when it is the company's turn, and return its result."""
        async with self._turns.acquire(company_id):
            return await asyncio.get_running_loop().run_in_executor(self._thread, partial(function, *arguments))
