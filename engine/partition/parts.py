"""How are the tokens of a large lead or call stored? In parts, so that a change writes only the parts that it touches.

An entity that is small as JSON keeps its tokens inline. A larger one spreads them over values of their own, by a hash of
the token's name: a decision holds the changed parts and the entity without its tokens. The number of parts doubles as the
tokens grow and does not shrink until they are inline again, so each token is written twice on average.
"""

from collections.abc import Iterator
from zlib import crc32

from msgspec import Struct, structs

from engine.partition.state import State
from schemas.contact import Call, Lead, Part
from schemas.state import kind_of, part_key
from schemas.wire import Entity, to_json, to_pack

INLINE_BYTES_MAX = 2_048
"""Of an entity as JSON, its tokens included: most leads are smaller, and two values cost more than one."""

PART_BYTES = 2_048
"""The most that a part has on average, as JSON."""

PARTS_MAX = 256
"""384 KiB, the most that the tokens of a call have, in parts of 2 KiB (rounded up to a power of two)."""


class Split(Struct, frozen=True):
    """The field of an entity that is split into parts, and the field that counts the parts; 0 means inline."""

    tokens: str
    count: str


SPLIT: dict[type[Entity], Split] = {Lead: Split("data", "data_parts"), Call: Split("token_values", "token_parts")}


def join(key: str, entity: Entity, split: Split, state: State) -> None:
    """Load the tokens of an entity from its parts."""
    joined = {}
    for number in range(getattr(entity, split.count)):
        part = state.get(part_key(key, number), Part)
        if part is not None:
            joined.update(part.tokens)
    setattr(entity, split.tokens, joined)


def whole(entity: Entity) -> Entity:
    """Return a joined entity with its tokens inline: a message has no parts."""
    return structs.replace(entity, **{SPLIT[type(entity)].count: 0})


def divide(key: str, entity: Entity, json_bytes: int, state: State) -> tuple[Entity, list[tuple[str, Part | None]]]:
    """Return an entity as it is stored, and the parts to write or remove with it; update its part count."""
    split = SPLIT[type(entity)]
    before = getattr(entity, split.count)
    tokens = getattr(entity, split.tokens)
    count = 0 if json_bytes <= INLINE_BYTES_MAX else _count(len(to_json(tokens)), before)
    setattr(entity, split.count, count)
    parts = [Part() for _ in range(count)]
    for name, value in tokens.items() if count else ():
        parts[crc32(name.encode()) % count].tokens[name] = value
    changed = [*_written(key, parts, state, everything=count != before), *_removed(key, count, before, state)]
    return (structs.replace(entity, **{split.tokens: {}}) if count else entity), changed


def parts_of_removed(key: str, state: State) -> list[tuple[str, Part | None]]:
    """Return the parts to remove with an entity."""
    kind = kind_of(key)
    split = SPLIT.get(kind)
    entity = None if split is None else state.get(key, kind)
    return [] if split is None or entity is None else [*_removed(key, 0, getattr(entity, split.count), state)]


def _count(size: int, before: int) -> int:
    if size <= INLINE_BYTES_MAX // 2:
        return 0
    count = before or 1
    while count < PARTS_MAX and count * PART_BYTES < size:
        count *= 2
    return count


def _written(key: str, parts: list[Part], state: State, *, everything: bool) -> Iterator[tuple[str, Part | None]]:
    for number, part in enumerate(parts):
        name = part_key(key, number)
        known = state.packed(name)
        if not part.tokens and known is not None:
            yield name, None
        elif part.tokens and (everything or known != to_pack(part)):
            yield name, part


def _removed(key: str, count: int, before: int, state: State) -> Iterator[tuple[str, Part | None]]:
    for number in range(count, before):
        name = part_key(key, number)
        if state.packed(name) is not None:
            yield name, None
