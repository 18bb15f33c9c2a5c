"""How does a request wait for its result? One connection per process listens for all; polls make up for lost NOTIFYs.

Each poll queries all awaited requests at once, so a thousand waiting requests cost one query per poll.
"""

import asyncio
from contextlib import suppress
from typing import Any

from adapters.postgres.pool import FAILURES, RESULTS_CHANNEL, Pool
from adapters.postgres.reads import PostgresReads
from adapters.reads.ports import ReadsUnavailableError, Result

POLL_SECONDS = 0.1
"""Between two polls while listening; a lost notification costs this much."""

UNNOTIFIED_POLL_SECONDS = 0.025
"""Between two polls while no connection listens."""

RELISTEN_SECONDS = 1.0
ALIVE_SECONDS = 10.0
"""How often the listening connection is checked: a dead one is as silent as an idle one."""

WAITING_MAX = 10_000
"""Requests that wait at once in one process; a further one does not wait."""


class ResultWaiter:
    """Waits for results. Call `start` inside the running loop, `close` at the end."""

    def __init__(self, pool: Pool, reads: PostgresReads) -> None:
        self._pool = pool
        self._reads = reads
        self._waiting: dict[str, set[asyncio.Future[Result]]] = {}
        self._poll_now = asyncio.Event()
        self._is_listening = False
        self._error: ReadsUnavailableError | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._announced = 0
        self._announcement = asyncio.Event()

    def start(self) -> None:
        """Start to listen and poll."""
        self._tasks = [
            asyncio.create_task(self._listen(), name="listen for results"),
            asyncio.create_task(self._poll(), name="look for results"),
        ]

    async def close(self) -> None:
        """Stop; callers that still wait run into their timeout. Never raises."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    async def wait(self, request_id: str, timeout_seconds: float) -> Result | None:
        """Return the result of a request as soon as the projection has it, or None after the timeout.

        With `timeout_seconds` 0 it queries once. Raises `ReadsUnavailableError` if the last poll failed.
        """
        if timeout_seconds <= 0 or len(self._waiting) >= WAITING_MAX:
            return await self._reads.result(request_id)
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(request_id, set()).add(future)
        self._poll_now.set()
        try:
            async with asyncio.timeout(timeout_seconds):
                return await future
        except TimeoutError:
            if self._error is not None:
                raise self._error from None
            return None
        finally:
            self._forget(request_id, future)

    async def next_announcement(self, seen: int, timeout_seconds: float) -> int:
        """Return how many announcements of the projector were heard, once more than `seen` or after the timeout."""
        if self._announced <= seen:
            announcement = self._announcement
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_seconds):
                    await announcement.wait()
        return self._announced

    def _forget(self, request_id: str, future: asyncio.Future[Result]) -> None:
        waiting = self._waiting.get(request_id)
        if waiting is not None:
            waiting.discard(future)
            if not waiting:
                del self._waiting[request_id]

    async def _poll(self) -> None:
        while True:
            while not self._waiting:
                self._poll_now.clear()
                await self._poll_now.wait()
            self._poll_now.clear()
            await self._poll_once()
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS if self._is_listening else UNNOTIFIED_POLL_SECONDS):
                    await self._poll_now.wait()

    async def _poll_once(self) -> None:
        try:
            found = await self._reads.results(list(self._waiting))
            self._error = None
        except ReadsUnavailableError as error:
            self._error = error
            return
        for request_id, result in found.items():
            for future in self._waiting.pop(request_id, ()):
                if not future.done():
                    future.set_result(result)

    async def _listen(self) -> None:
        while True:
            with suppress(*FAILURES):
                async with self._pool.acquire() as connection:
                    await self._hold_listener(connection)
            await asyncio.sleep(RELISTEN_SECONDS)

    async def _hold_listener(self, connection: Any) -> None:
        def heard(*_: object) -> None:
            self._poll_now.set()
            self._announced += 1
            self._announcement.set()
            self._announcement = asyncio.Event()

        await connection.add_listener(RESULTS_CHANNEL, heard)
        try:
            self._is_listening = True
            while True:
                await asyncio.sleep(ALIVE_SECONDS)
                await connection.execute("SELECT 1")
        finally:
            self._is_listening = False
            with suppress(*FAILURES):
                await connection.remove_listener(RESULTS_CHANNEL, heard)
            with suppress(*FAILURES):
                if connection.is_closed():
                    # asyncpg may not have cleaned up yet and would warn about a leaked listener. Where warnings are errors,
                    # the connection would never return to the pool.
                    connection.terminate()
