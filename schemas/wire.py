"""How do structs become bytes? JSON on every topic that people read; MessagePack in memory and in the changelog.

Both omit defaults: bytes stay small, and a new field does not change older bytes. Values of state are packed under
one-letter names (`schemas.short`): a third of their bytes would be names.
Encoding is deterministic (field order is declaration order, dictionaries keep their order): audits compare bytes.
"""

from hashlib import blake2b
from typing import Any, TypeVar

import msgspec
from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from schemas.short import SHORT_NAMES

T = TypeVar("T")
E = TypeVar("E", bound="Entity")

JSON = msgspec.json.Encoder(decimal_format="number")
PACK = msgspec.msgpack.Encoder()

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Errors of decoding untrusted bytes: msgspec passes on the last two for bad UTF-8 and deep nesting."""

DIGEST_BYTES = 16
"""128 bits: no accidental collision in any log that fits on this planet, and half the text of SHA-256 in each record."""


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A message on a topic: immutable, and without reference cycles, as an entity is."""


class Entity(Struct, kw_only=True, omit_defaults=True, gc=False):
    """A value of state: decoded for each decision, so that changing it affects only the decision's draft.

    It holds no reference cycle (`gc=False`): reference counts free it, and the garbage collector never examines it. A batch
    of 2,000 leads has a hundred thousand such values; to examine them took a tenth of the time of deciding.
    """


def to_json(value: object) -> bytes:
    """Return the deterministic JSON bytes of a struct."""
    return JSON.encode(value)


class _Twin(Struct, frozen=True):
    """The same struct under short names, and what reads it."""

    kind: type[Struct]
    decoder: msgspec.msgpack.Decoder[Any]


_TWINS: dict[type, _Twin] = {}


def to_pack(value: object) -> bytes:
    """Return the deterministic MessagePack bytes of a struct; those of an entity have short names.

    The bytes of an entity are copied: the encoder's own result holds on to its larger buffer.
    """
    if not isinstance(value, Entity):
        return PACK.encode(value)
    kind = type(value)
    twin = _TWINS.get(kind) or _twin(kind)
    # Twins differ only in the written names, so an instance can switch classes without a copy.
    value.__class__ = twin.kind  # type: ignore[assignment]  # it has the same fields
    try:
        return bytes(memoryview(PACK.encode(value)))
    finally:
        value.__class__ = kind


def from_pack(packed: bytes, kind: type[E]) -> E:
    """Decode the MessagePack bytes of an entity. Raises `msgspec.ValidationError` or `msgspec.DecodeError`."""
    value = (_TWINS.get(kind) or _twin(kind)).decoder.decode(packed)
    value.__class__ = kind
    return value  # type: ignore[no-any-return]


def packed_name(field: str) -> bytes:
    """Return bytes that a packed entity contains whenever a field differs from its default (or by chance)."""
    return PACK.encode(SHORT_NAMES.get(field, field))


def _twin(kind: type[Entity]) -> _Twin:
    short = msgspec.defstruct(
        kind.__name__,
        [_field(field) for field in fields(kind)],
        bases=(kind,),  # the same layout: a redeclared field stays in its place
        rename={name: SHORT_NAMES[name] for name in kind.__struct_fields__ if name in SHORT_NAMES},
        kw_only=True,
        omit_defaults=True,
        gc=False,
    )
    twin = _TWINS[kind] = _Twin(short, msgspec.msgpack.Decoder(short))
    return twin


def _field(field: msgspec.structs.FieldInfo) -> tuple[str, Any] | tuple[str, Any, Any]:
    """Return a field as it was declared; the names of inherited fields could not be changed."""
    if field.default is not NODEFAULT:
        return field.name, field.type, field.default
    if field.default_factory is not NODEFAULT:
        return field.name, field.type, msgspec.field(default_factory=field.default_factory)
    return field.name, field.type


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
