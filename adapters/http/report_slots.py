"""How many reports, forecasts and previews are made at once? A few, shared by companies; who waits too long is refused.

The database and the thread that computes are everybody's: without a bound one company's reports would keep the reads and
submissions of all others waiting.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

from adapters.fair_slots import FairSlots, TooManyWaitingError
from adapters.http.problems import ProblemError

WAITING_MAX = 40
"""Requests that wait for a slot, of all companies together; one company alone has half of these places."""

WAIT_SECONDS = 5.0
"""For a slot: a report takes tenths of a second, a long forecast some seconds."""

RETRY_AFTER_SECONDS = 5


class ReportSlots:
    """The slots of one process; one company alone holds half of them (`engine.fair_share.Shares`)."""

    def __init__(self, slots_max: int) -> None:
        self._slots = FairSlots(slots_max, waiting_max=WAITING_MAX)

    @asynccontextmanager
    async def taken_for(self, company_id: int) -> AsyncIterator[None]:
        """Wait for a slot and hold it for the block. Raises `ProblemError` rate_limited or reports_busy."""
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    await held.enter_async_context(self._slots.taken_for(company_id))
            except (TimeoutError, TooManyWaitingError):
                raise self._refusal(company_id) from None
            yield

    def _refusal(self, company_id: int) -> ProblemError:
        headers = {"Retry-After": str(RETRY_AFTER_SECONDS)}
        own = self._slots.held(company_id)
        if own:
            detail = f"{own} reports or forecasts of this company are being made; ask again when one is done."
            return ProblemError("rate_limited", detail, headers=headers)
        return ProblemError("reports_busy", "Reports of other companies are being made; ask again soon.", headers=headers)


class EngineThread:
    """One thread for what the engine computes for long; companies take turns for it, call by call.

    One, because threads that compute share the interpreter: whenever the loop has something to do, it waits for one of them
    at most as long as the switch interval (5 ms), and for several so many times longer. What takes long comes in slices.
    """

    def __init__(self) -> None:
        self._turns = FairSlots(1)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="engine")

    async def run(self, company_id: int, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function returns."""
        async with self._turns.taken_for(company_id):
            return await asyncio.get_running_loop().run_in_executor(self._thread, partial(function, *arguments))
