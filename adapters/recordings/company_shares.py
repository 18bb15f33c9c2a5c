"""How much of the work on recordings may one company have under way? Its share: a slow vendor holds up no other company."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from adapters.recordings.ports import Recording, Transcription
from engine.fair_share import may_take

T = TypeVar("T", Recording, Transcription)


class CompanyShares:
    """Places for work in this process, shared by companies; see `engine.fair_share`."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._held: Counter[int] = Counter()
        """Work under way, by company."""
        self._taking = asyncio.Lock()

    @asynccontextmanager
    async def taken(self, take: Callable[[Collection[int]], Awaitable[Sequence[T]]]) -> AsyncGenerator[Sequence[T]]:
        """Give what `take` takes, and hold its places meanwhile; `take` gets the companies that have their share already."""
        async with self._taking:
            free = self._places - self._held.total()
            due = await take([company_id for company_id, held in self._held.items() if not may_take(held, free)])
            self._held.update(one.company_id for one in due)
        try:
            yield due
        finally:
            self._held.subtract(one.company_id for one in due)
            self._held = +self._held  # without companies that hold none
