"""How does something wait that may be told to stop at any moment?"""

import asyncio
from contextlib import suppress


async def pause(stop: asyncio.Event, seconds: float) -> None:
    """Wait some seconds, or less when told to stop."""
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)
