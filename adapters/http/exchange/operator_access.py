"""Who operates the deployment? Keys that belong to no company, looked up in the database for each request.

So a revoked key ends at once. An operator key reaches the operator's routes only, and no other key reaches these.
"""

import hmac
from hashlib import sha256

from msgspec import Struct

from adapters.http.exchange.access import NO_VALID_KEY, unauthenticated
from adapters.http.exchange.identity import OPERATOR_PREFIX
from adapters.http.exchange.unknown_keys import UnknownKeyLimiter
from adapters.reads.ports import Operators

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

    def __init__(self, operators: Operators, unknown_key_limiter: UnknownKeyLimiter) -> None:
        self._operators = operators
        self._unknown_key_limiter = unknown_key_limiter

    async def authenticate(self, public: str, private: str, *, address: str) -> OperatorAccess:
        """Return the access that a key gives.

        Raises `ProblemError`: unauthenticated, with one text for an unknown, wrong or revoked key; rate_limited after too
        many requests of this address without a valid key. Raises `ReadsUnavailableError`.
        """
        key = await self._operators.key(public) if len(public) <= KEY_LENGTH_MAX else None
        known = _HASH_OF_NO_KEY if key is None else key.private_key_sha256
        is_same = hmac.compare_digest(sha256(private.encode()).hexdigest(), known)
        if key is None or not is_same or key.is_revoked:
            await self._unknown_key_limiter.take(address)
            raise unauthenticated(NO_VALID_KEY)
        return OperatorAccess(key.id, key.name)
