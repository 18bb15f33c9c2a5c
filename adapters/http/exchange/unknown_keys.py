"""What happens with unknown keys and tokens? They are remembered for a second, and rate limited per address.

A failed lookup is answered only after `accounts.rules` was read to its current end, so that a key works from the instant
it is made. That read is a round trip to the broker, which a flood of wrong keys must not cause each time. So a credential
that was not found is not looked up again for a second, or until newer rules arrive. Each network address also has a rate
limit for such requests. Valid keys and tokens do not count: the limit does not affect a company that shares its address
with a flood.
"""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from hashlib import sha256

from adapters.http.exchange.addresses import client_of
from adapters.http.exchange.problems import ProblemError
from adapters.http.exchange.rates import Limiter

REMEMBERED_MAX = 10_000
"""Credentials that are remembered as unknown; each takes about 150 bytes."""

REMEMBERED_SECONDS = 1.0
"""Short, because the reader of the rules may itself be cut off from the broker, and then sees no new keys."""

HOLD_SECONDS = 2.0
HELD_MAX = 500
HELD_PER_ADDRESS_MAX = 100
"""A request above the limit is held this long before its 429, so that a client that waits for its answers sends one in two
seconds: what 50 such clients send otherwise takes a twentieth of a processor. At most half of the server's connections are
held, and less than half of what one address may have in flight: others behind the same address need the rest. Further
requests are answered at once."""

RATE = "unknown_key"


class UnknownCredentials:
    """Hashes of credentials that were not found; `generation` says how far the rules were read."""

    def __init__(self, generation: Callable[[], int], monotonic: Callable[[], float]) -> None:
        self._generation = generation
        self._monotonic = monotonic
        self._read_at = -1
        self._until: OrderedDict[bytes, float] = OrderedDict()

    def contains(self, credential: str) -> bool:
        """Return whether a credential was not found a moment ago and no newer rules were read since."""
        self._drop_outdated()
        until = self._until.get(_digest(credential))
        return until is not None and self._monotonic() < until

    def add(self, credential: str) -> None:
        """Remember a credential as not found; drop the oldest one if there are too many."""
        self._drop_outdated()
        self._until[_digest(credential)] = self._monotonic() + REMEMBERED_SECONDS
        self._until.move_to_end(_digest(credential))
        if len(self._until) > REMEMBERED_MAX:
            self._until.popitem(last=False)

    def __len__(self) -> int:
        """Return how many credentials are remembered."""
        return len(self._until)

    def _drop_outdated(self) -> None:
        generation = self._generation()
        if generation != self._read_at:
            self._read_at = generation
            self._until.clear()


class UnknownKeyLimiter:
    """Limits the requests without a valid key or token per address."""

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
        """Take one token from the bucket of an address. Raises `ProblemError` rate_limited if none is left."""
        client = client_of(address)
        allowance = self._limiter.take(RATE, client, self._monotonic())
        if allowance is None or allowance.allowed:
            return
        if self._held[client] < HELD_PER_ADDRESS_MAX and self._held.total() < HELD_MAX:
            await self._hold(client)
        sentence = "Your network address sent too many requests without a valid key or lead token."
        headers = {"Retry-After": str(allowance.retry_after_seconds)}
        raise ProblemError("rate_limited", f"{sentence} Try again in {headers['Retry-After']} s.", headers=headers)

    async def _hold(self, client: str) -> None:
        self._held[client] += 1
        try:
            await self._sleep(HOLD_SECONDS)
        finally:
            self._held[client] -= 1
            if not self._held[client]:
                del self._held[client]


def _digest(credential: str) -> bytes:
    # A hash, so that no secret stays in memory and a long one takes no more space than a short one.
    return sha256(credential.encode()).digest()
