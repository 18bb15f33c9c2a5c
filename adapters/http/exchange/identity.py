"""What is a request called, and what is secret? Names that this process gives, and secrets that nobody else keeps.

A request id is a uuid (version 8) of the time, chance and a seal: any API process can tell an id that one of us gave and
that is not decided yet from one that was made up, without asking a store.
"""

import hmac
import secrets
from hashlib import blake2b, sha256
from uuid import RFC_4122, UUID

from adapters.reads.ports import RESULT_RETENTION
from schemas.instant import MINUTE, Instant

_SEAL_BYTES = 8
_CLOCK_SKEW = MINUTE
"""How far apart the clocks of two of our machines may be."""

_CHANCE_BITS = 32
_SEAL_BITS = 42
"""Chance and seal together are the 74 bits that time, version and variant leave."""


class RequestIds:
    """Gives ids and knows its own."""

    def __init__(self, secret_key: bytes) -> None:
        # A keyed hash of one block: HMAC is two, and what the library makes anew for it costs ten times as much as both.
        self._seal = blake2b(key=hmac.digest(secret_key, b"request ids", "sha256"), digest_size=_SEAL_BYTES)

    def new(self, now: Instant) -> str:
        """Return the id of a request that arrives now."""
        return self._sealed(now, secrets.randbits(_CHANCE_BITS))

    def is_ours(self, text: str, now: Instant) -> bool:
        """Return whether one of our processes gave this id within the last 24 h."""
        try:
            number = UUID(text).int
        except ValueError:
            return False
        given_at = number >> 80
        chance = ((number >> 64 & 0xFFF) << 20) | (number >> _SEAL_BITS & 0xFFFFF)
        return -_CLOCK_SKEW < now - given_at < RESULT_RETENTION and self._sealed(given_at, chance) == text

    def _sealed(self, at: Instant, chance: int) -> str:
        sealed = self._seal.copy()
        sealed.update(b"%d/%d" % (at, chance))
        seal = int.from_bytes(sealed.digest(), "big") >> (8 * _SEAL_BYTES - _SEAL_BITS)
        number = (at & (2**48 - 1)) << 80 | 8 << 76 | chance >> 20 << 64 | 2 << 62 | (chance & 0xFFFFF) << _SEAL_BITS | seal
        text = f"{number:032x}"  # as `UUID` writes it, at a fifth of its cost
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def new_lead_token() -> str:
    """Return a lead token: 144 bits, so that none is ever found by trying."""
    return f"lt_{secrets.token_urlsafe(18)}"


def new_public_key() -> str:
    """Return the public half of an API key."""
    return f"pk_{secrets.token_urlsafe(15)}"


def new_private_key() -> str:
    """Return the private half of an API key: 256 bits."""
    return f"sk_{secrets.token_urlsafe(32)}"


def hash_private_key(private_key: str) -> str:
    """Return the one thing about a private key that is ever stored."""
    return sha256(private_key.encode()).hexdigest()


def is_uuid(text: str) -> bool:
    """Return whether a text is a uuid in its usual form."""
    try:
        return UUID(text).variant == RFC_4122 and str(UUID(text)) == text
    except ValueError:
        return False
