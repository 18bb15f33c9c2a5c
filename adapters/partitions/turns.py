"""Which partitions of a process decide next where several have much to decide? Two at a time, in the order of asking.

All side by side they delay each other: a commit takes twice as long, and a request that comes meanwhile waits for it.
In turns, what comes before the turn of its partition is decided with the rest.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

TURNS = 2
"""At a time: one partition decides while the other one waits for its broker."""

WAIT_SECONDS_MAX = 0.2
"""A partition whose broker does not answer holds its turn until its commit times out: the others do not wait for that."""


class Turns:
    """The turns of one process."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(TURNS)

    @asynccontextmanager
    async def take(self) -> AsyncIterator[bool]:
        """Hold a turn for the block, which learns whether it waited; begin it without one after `WAIT_SECONDS_MAX`."""
        has_turn = False
        has_waited = self._free.locked()
        with suppress(TimeoutError):
            async with asyncio.timeout(WAIT_SECONDS_MAX):
                has_turn = await self._free.acquire()
        try:
            yield has_waited
        finally:
            if has_turn:
                self._free.release()
