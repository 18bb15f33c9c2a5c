"""How are request ids, lead tokens and API keys made? Request ids are signed, so that a forged one is recognised.

A request id is a UUID (version 8) of time, random bits and a signature. Any API process can tell an id that we issued and
that is not decided yet from an invented one, without a lookup.
"""

import hmac
import secrets
from hashlib import blake2b, sha256
from uuid import RFC_4122, UUID

from adapters.reads.ports import RESULT_RETENTION
from schemas.instant import EPOCH, MINUTE, Instant

OPERATOR_PREFIX = "op_"
"""Of the public half of an operator key, which no company has."""

_MAC_BYTES = 8
_CLOCK_SKEW = MINUTE
"""How far apart the clocks of two of our machines may be."""

_RANDOM_BITS = 32
_MAC_BITS = 42
"""Random bits and signature (MAC) fill the 74 bits that time, version and variant leave."""


class RequestIds:
    """Issues request ids and recognises them."""

    def __init__(self, secret_key: bytes) -> None:
        # BLAKE2b with a key hashes one block. HMAC hashes two, and the library's setup costs ten times as much as both.
        self._mac = blake2b(key=hmac.digest(secret_key, b"request ids", "sha256"), digest_size=_MAC_BYTES)

    def new(self, now: Instant) -> str:
        """Return the id of a request that arrives now."""
        return self._sign(now, secrets.randbits(_RANDOM_BITS))

    def is_ours(self, text: str, now: Instant) -> bool:
        """Return whether one of our processes issued this id within the last 24 h."""
        try:
            number = UUID(text).int
        except ValueError:
            return False
        issued_at = Instant(number >> 80)
        random = ((number >> 64 & 0xFFF) << 20) | (number >> _MAC_BITS & 0xFFFFF)
        return -_CLOCK_SKEW < now - issued_at < RESULT_RETENTION and self._sign(issued_at, random) == text

    def _sign(self, at: Instant, random: int) -> str:
        millis = at - EPOCH
        keyed = self._mac.copy()
        keyed.update(b"%d/%d" % (millis, random))
        mac = int.from_bytes(keyed.digest(), "big") >> (8 * _MAC_BYTES - _MAC_BITS)
        number = (
            (millis & (2**48 - 1)) << 80 | 8 << 76 | random >> 20 << 64 | 2 << 62 | (random & 0xFFFFF) << _MAC_BITS | mac
        )
        text = f"{number:032x}"  # the same text as `UUID` gives, at a fifth of its cost
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def new_lead_token() -> str:
    """Return a new lead token: 144 random bits, too many to guess."""
    return f"lt_{secrets.token_urlsafe(18)}"


def new_public_key() -> str:
    """Return a new public half of an API key."""
    return f"pk_{secrets.token_urlsafe(15)}"


def new_operator_key() -> str:
    """Return a new public half of an operator key."""
    return f"{OPERATOR_PREFIX}{secrets.token_urlsafe(15)}"


def new_private_key() -> str:
    """Return a new private half of an API key: 256 random bits."""
    return f"sk_{secrets.token_urlsafe(32)}"


def hash_private_key(private_key: str) -> str:
    """Return the SHA-256 of a private key, which is all that is stored of it."""
    return sha256(private_key.encode()).hexdigest()


def is_uuid(text: str) -> bool:
    """Return whether a text is a UUID in its usual form."""
    try:
        return UUID(text).variant == RFC_4122 and str(UUID(text)) == text
    except ValueError:
        return False
