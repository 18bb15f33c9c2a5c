"""How do structs become bytes? JSON on every topic that people read; MessagePack in memory and in the changelog.

Defaults are left out in both: bytes stay small and a field that is added later changes nothing that was written before.
Encoding is deterministic (field order is declaration order, dictionaries keep their order): audits compare bytes.
"""

from hashlib import blake2b
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

T = TypeVar("T")

JSON = msgspec.json.Encoder(decimal_format="number")
PACK = msgspec.msgpack.Encoder()

DIGEST_BYTES = 16
"""128 bits: no accidental collision in any log that fits on this planet, and half the text of SHA-256 in each record."""


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What travels on a topic: never changed after it was built."""


class Entity(Struct, kw_only=True, omit_defaults=True):
    """A value of state: decoded fresh for each decision, so that changing it changes nothing but the decision's draft."""


def to_json(value: object) -> bytes:
    """Return the deterministic JSON bytes of a struct."""
    return JSON.encode(value)


def to_pack(value: object) -> bytes:
    """Return the deterministic MessagePack bytes of a struct."""
    return PACK.encode(value)


def from_json(data: bytes | bytearray | memoryview | str, kind: type[T]) -> T:
    """Decode JSON. Raises `msgspec.ValidationError` or `msgspec.DecodeError` naming the field."""
    return msgspec.json.decode(data, type=kind)


def from_builtins(data: Any, kind: type[T], *, strict: bool = True) -> T:
    """Convert dictionaries and lists. Raises `msgspec.ValidationError` naming the field."""
    return msgspec.convert(data, kind, strict=strict)


def digest(*parts: bytes) -> str:
    """Return the hex BLAKE2b digest of the parts; MessagePack between them, so that no two lists of parts look alike."""
    data = parts[0] if len(parts) == 1 else PACK.encode(parts)
    return blake2b(data, digest_size=DIGEST_BYTES).hexdigest()
