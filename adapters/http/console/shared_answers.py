"""How much do fifty open pages cost? As much as one: visitors with the same rights share an answer for a few seconds.

A page that shows what is happening asks again once that has changed. The first to ask runs the operation; who asks
meanwhile waits for it, and who asks soon after gets the same answer, unless something has changed since.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from typing import Any

from msgspec import Struct

from adapters.http.console.api_calls import ApiAnswer
from adapters.http.exchange.access import Access
from adapters.http.exchange.exchange import JSON
from adapters.http.exchange.operator_access import OperatorAccess

SHARED_SECONDS = 4.0
"""How old a shared answer may be: less than the time between two questions of a page that follows no changes."""

ANSWERS_MAX = 2_000
"""Answers that are held; each has some KB, a lead's 1,000 events have some hundred. The oldest is dropped first."""


class _Shared(Struct):
    begun_at: float
    task: "asyncio.Task[ApiAnswer]"


class SharedAnswers:
    """Answers of operations that change nothing, by who may see them."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._held: OrderedDict[str, _Shared] = OrderedDict()

    async def get(self, key: str, ask: Callable[[], Awaitable[ApiAnswer]], *, since: float = float("-inf")) -> ApiAnswer:
        """Return the answer of a key, asking where there is none, it is too old, or it was asked for before `since`.

        Refusals are shared too.
        """
        held = self._held.get(key)
        if held is None or self._is_over(held) or held.begun_at < since:
            held = self._held[key] = _Shared(self._monotonic(), asyncio.ensure_future(_run(ask)))
            self._held.move_to_end(key)
            while len(self._held) > ANSWERS_MAX or self._is_over(next(iter(self._held.values()))):
                self._held.popitem(last=False)
        return await asyncio.shield(held.task)  # a visitor who leaves must not end it for the others

    def _is_over(self, held: _Shared) -> bool:
        return held.task.done() and self._monotonic() >= held.begun_at + SHARED_SECONDS

    def __len__(self) -> int:
        """Return how many answers are held."""
        return len(self._held)


async def _run(ask: Callable[[], Awaitable[ApiAnswer]]) -> ApiAnswer:
    return await ask()


def sharing_key(
    name: str, fields: Mapping[str, Any], sender: Access | OperatorAccess | None, *, host: str, zone: str
) -> str:
    """Return what two questions must have in common to get one answer: the rights, the zone of days, and the question."""
    who: tuple[Any, ...] = ()
    if isinstance(sender, OperatorAccess):
        who = ("operator", sender.key_id)
    elif sender is not None:
        who = ("company", sender.company_id, sender.scopes, sender.teams, sender.user_email is None)
    return sha256(JSON.encode((name, dict(fields), who, host, zone))).hexdigest()
