"""How do many small writes share one commit? They wait for the statement in progress, then go together in the next one."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")

GROUP_MAX = 200
"""Requests in one statement: a few milliseconds of work for the server."""


class GroupCommit(Generic[Q, A]):
    """Executes requests in groups, one group at a time. No group holds two requests with the same `key`.

    `answer` gets up to `GROUP_MAX` requests and returns as many answers; if it raises, every caller of the group gets the
    error.
    """

    def __init__(self, answer: Callable[[Sequence[Q]], Awaitable[Sequence[A]]], key: Callable[[Q], str]) -> None:
        self._answer = answer
        self._key = key
        self._waiting: list[tuple[Q, asyncio.Future[A]]] = []
        self._working: asyncio.Task[None] | None = None

    async def submit(self, question: Q) -> A:
        """Submit a request and return its answer. A request may be executed although its caller was cancelled."""
        future: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, future))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        return await future

    async def _work(self) -> None:
        while self._waiting:
            group = self._next_group()
            try:
                answers = await self._answer([question for question, _ in group])
            except Exception as error:  # noqa: BLE001 - the callers handle it
                for _, future in group:
                    if not future.done():
                        future.set_exception(error)
                continue
            for (_, future), answer in zip(group, answers, strict=True):
                if not future.done():
                    future.set_result(answer)

    def _next_group(self) -> list[tuple[Q, asyncio.Future[A]]]:
        group: dict[str, tuple[Q, asyncio.Future[A]]] = {}
        later: list[tuple[Q, asyncio.Future[A]]] = []
        for asked in self._waiting:
            key = self._key(asked[0])
            if key in group or len(group) >= GROUP_MAX:
                later.append(asked)
            else:
                group[key] = asked
        self._waiting = later
        return list(group.values())
