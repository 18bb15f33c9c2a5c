"""How is work on a file of a stranger bounded? One file a company at a time, few at once, in threads apart, for a time.

Python's default threads do other work, such as looking up host names, which must not wait behind files. Work on a file ends
when the client hangs up, so that a company has no more of it under way than connections.
"""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from litestar.types import Receive

from adapters.fair_semaphore import FairSemaphore
from adapters.http.exchange.problems import ProblemError
from adapters.http.exchange.report_slots import RefusalTexts, acquire_in_time

FILES_AT_ONCE = 2
"""One company has one of them, and the other is free for the next."""

FILES_WAITING_MAX = 8
"""Files that wait in memory, of 16 MiB at most; of one company four."""

SECONDS_MAX = 30.0
"""A file with 200,000 lines is read in some seconds."""

TEXTS = RefusalTexts(
    own="This company has a file that is being read. Try again when that is done.",
    others="Files of other companies are being read. Try again soon.",
)

T = TypeVar("T")


class FileWork:
    """The work on files of one process."""

    def __init__(self) -> None:
        self._turns = FairSemaphore(FILES_AT_ONCE, waiting_max=FILES_WAITING_MAX)
        self._threads = ThreadPoolExecutor(FILES_AT_ONCE, thread_name_prefix="files")

    async def run(self, company_id: int, receive: Receive, work: Coroutine[Any, Any, T]) -> T:
        """Return what the work gives. Raises `ProblemError`: rate_limited, reports_busy, too_large if it takes too long."""
        try:
            async with acquire_in_time(self._turns, company_id, TEXTS):
                return await _while_connected(receive, work)
        finally:
            work.close()

    async def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function in a thread; for a part of the work."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)


async def _while_connected(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    done = asyncio.ensure_future(work)
    gone = asyncio.create_task(_hang_up(receive), name="wait for the client to hang up")
    try:
        await asyncio.wait({done, gone}, timeout=SECONDS_MAX, return_when=asyncio.FIRST_COMPLETED)
        if done.done():
            return done.result()
        if gone.done():
            raise ProblemError("malformed_body", "The client has hung up.")
        raise ProblemError("too_large", f"Reading the file takes more than {SECONDS_MAX:g} s: split it.")
    finally:
        for task in (done, gone):
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(done, gone, return_exceptions=True)


async def _hang_up(receive: Receive) -> None:
    """Return once the client has hung up."""
    message = await receive()
    while message["type"] != "http.disconnect":
        message = await receive()
