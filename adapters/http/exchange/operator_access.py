"""Who operates the deployment? Keys that belong to no company, looked up in the database for each request.

So a revoked key ends at once; for a page that only renews itself, within `SHARED_SECONDS`. An operator key reaches the
operator's routes only, and no other key reaches these.
"""

import hmac
import time
from collections.abc import Callable
from hashlib import sha256

from msgspec import Struct

from adapters.http.exchange.access import NO_VALID_KEY, unauthenticated
from adapters.http.exchange.identity import OPERATOR_PREFIX
from adapters.http.exchange.session_reads import SHARED_SECONDS
from adapters.http.exchange.unknown_keys import UnknownKeyLimiter
from adapters.reads.ports import OperatorKey, Operators

_HASH_OF_NO_KEY = sha256(b"compared with where there is no such operator key").hexdigest()

KEY_LENGTH_MAX = 100
"""Characters of a public half; a longer one is not looked up."""


class OperatorAccess(Struct, frozen=True):
    """An authenticated operator key."""

    key_id: int
    name: str


def is_operator_key(public: str) -> bool:
    """Return whether the public half of a key is that of an operator's, whether or not there is one."""
    return public.startswith(OPERATOR_PREFIX)


class OperatorAuthenticator:
    """Looks up operator keys."""

    def __init__(
        self, operators: Operators, unknown_key_limiter: UnknownKeyLimiter, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._operators = operators
        self._unknown_key_limiter = unknown_key_limiter
        self._monotonic = monotonic
        self._held: dict[str, tuple[OperatorKey, float]] = {}
        """Keys that are not revoked, of which there are few, and until when a page that renews itself may rest on each."""

    async def authenticate(self, public: str, private: str, *, address: str, is_renewal: bool = False) -> OperatorAccess:
        """Return the access that a key gives; for a page that renews itself, as it was some seconds ago.

        Raises `ProblemError`: unauthenticated, with one text for an unknown, wrong or revoked key; rate_limited after too
        many requests of this address without a valid key. Raises `ReadsUnavailableError`.
        """
        key = await self._find(public, is_renewal=is_renewal) if len(public) <= KEY_LENGTH_MAX else None
        known = _HASH_OF_NO_KEY if key is None else key.private_key_sha256
        is_same = hmac.compare_digest(sha256(private.encode()).hexdigest(), known)
        if key is None or not is_same or key.is_revoked:
            await self._unknown_key_limiter.take(address)
            raise unauthenticated(NO_VALID_KEY)
        return OperatorAccess(key.id, key.name)

    async def _find(self, public: str, *, is_renewal: bool) -> OperatorKey | None:
        asked_at = self._monotonic()
        held, until = self._held.get(public, (None, asked_at))
        if is_renewal and asked_at < until:
            return held
        key = await self._operators.key(public)
        if key is None or key.is_revoked:
            self._held.pop(public, None)
        else:
            self._held[public] = (key, asked_at + SHARED_SECONDS)
        return key
