"""What is done about keys and tokens that nobody has? They are remembered for a moment, and limited per address.

A lookup that fails is answered only after `accounts.rules` was read to its present end, so that a key works from the
instant that it was made. That reading is worth a round trip to the broker: whoever sends wrong keys in a flood must not
have it each time. So a credential that was not found is not looked for again for a second, or until newer rules arrive;
and each network address has an allowance of such requests. Keys and tokens that are good are never counted: the limit
does not touch a company that shares its address with a flood.
"""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from hashlib import sha256

from adapters.http.exchange.addresses import client_of
from adapters.http.exchange.problems import ProblemError
from adapters.http.exchange.rates import Limiter

REMEMBERED_MAX = 10_000
"""Credentials that are remembered as unknown; each takes some 150 bytes."""

REMEMBERED_SECONDS = 1.0
"""Short, because the reader of the rules may itself be cut off from the broker, and sees nothing new then."""

HOLD_SECONDS = 1.0
HELD_MAX = 500
HELD_PER_ADDRESS_MAX = 100
"""A request over the allowance is held so long before it is answered 429, so that a client which waits for its answers
sends one a second. Held are at most half of the server's connections, and of one address less than half of what it may have
under way: others behind the same address need the rest. Further requests are answered at once."""

RATE = "unknown_key"


class UnknownCredentials:
    """Credentials that were not found, by their digest; `generation` says how far the rules were read."""

    def __init__(self, generation: Callable[[], int], monotonic: Callable[[], float]) -> None:
        self._generation = generation
        self._monotonic = monotonic
        self._read_at = -1
        self._until: OrderedDict[bytes, float] = OrderedDict()

    def contains(self, credential: str) -> bool:
        """Return whether a credential was not found a moment ago, and the rules are the same since."""
        self._lapse()
        until = self._until.get(_digest(credential))
        return until is not None and self._monotonic() < until

    def add(self, credential: str) -> None:
        """Remember a credential as not found; the oldest one is forgotten where there are too many."""
        self._lapse()
        self._until[_digest(credential)] = self._monotonic() + REMEMBERED_SECONDS
        self._until.move_to_end(_digest(credential))
        if len(self._until) > REMEMBERED_MAX:
            self._until.popitem(last=False)

    def __len__(self) -> int:
        """Return how many are remembered."""
        return len(self._until)

    def _lapse(self) -> None:
        generation = self._generation()
        if generation != self._read_at:
            self._read_at = generation
            self._until.clear()


class UnknownKeyLimiter:
    """How many requests without a good key or token may each address send?"""

    def __init__(
        self,
        limiter: Limiter,
        monotonic: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._limiter = limiter
        self._monotonic = monotonic
        self._sleep = sleep
        self._held: Counter[str] = Counter()

    async def take(self, address: str) -> None:
        """Take one from the allowance of an address. Raises `ProblemError` rate_limited where nothing is left."""
        holder = client_of(address)
        allowance = self._limiter.take(RATE, holder, self._monotonic())
        if allowance is None or allowance.allowed:
            return
        if self._held[holder] < HELD_PER_ADDRESS_MAX and self._held.total() < HELD_MAX:
            await self._hold(holder)
        sentence = "Too many requests without a valid key or lead token came from your network address."
        headers = {"Retry-After": str(allowance.retry_after_seconds)}
        raise ProblemError("rate_limited", f"{sentence} Try again in {headers['Retry-After']} s.", headers=headers)

    async def _hold(self, holder: str) -> None:
        self._held[holder] += 1
        try:
            await self._sleep(HOLD_SECONDS)
        finally:
            self._held[holder] -= 1
            if not self._held[holder]:
                del self._held[holder]


def _digest(credential: str) -> bytes:
    # Secrets are not kept, and a long one takes no more room than a short one.
    return sha256(credential.encode()).digest()
