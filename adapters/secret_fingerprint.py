"""How do processes compare their secret keys without showing them? By a slow, short digest, bound to the deployment."""

from hashlib import scrypt

BLOCKS, BLOCK_SIZE = 2**14, 8
"""scrypt's cost of RFC 7914 for interactive use: 16 MB and some 50 ms for each guess."""

_BYTES = 4
_POSITIVE = 0x7FFF_FFFF
"""31 bits, a positive integer of PostgreSQL: too few to confirm a guess, enough to tell two keys apart."""


def secret_fingerprint(secret_key: str, deployment_id: str) -> int:
    """Return a number that is the same for the same key in the same deployment, and says nothing else about it."""
    digest = scrypt(secret_key.encode(), salt=deployment_id.encode(), n=BLOCKS, r=BLOCK_SIZE, p=1, dklen=_BYTES)
    return int.from_bytes(digest) & _POSITIVE
