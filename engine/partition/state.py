"""What is the state of a partition? Packed values under keys, with a pending layer on top until the commit."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from typing import TypeVar

from engine.partition.places import Places
from schemas.state import kind_of
from schemas.wire import Entity, from_pack

E = TypeVar("E", bound=Entity)


class State:
    """Committed values and, above them, the pending values of the running cycle.

    Values are stored packed (about a fifth of the memory of live structs) and decoded fresh for every reader.
    """

    def __init__(self) -> None:
        self.places = Places()
        self._committed: dict[str, bytes] = {}
        self._pending: dict[str, bytes | None] = {}
        self._sorted_ids: dict[str, list[int]] = {}
        self._sorted_keys: dict[str, list[str]] = {}

    def get(self, key: str, kind: type[E]) -> E | None:
        """Return a fresh copy of the value of a key, or None."""
        packed = self.packed(key)
        return None if packed is None else from_pack(packed, kind)

    def packed(self, key: str) -> bytes | None:
        """Return the packed value of a key, or None."""
        if key in self._pending:
            return self._pending[key]
        return self._committed.get(key)

    def committed(self, key: str) -> bytes | None:
        """Return the packed value of a key as of the last commit, or None."""
        return self._committed.get(key)

    def set(self, key: str, packed: bytes | None) -> None:
        """Set a pending value: later decisions of this cycle see it; `commit` makes it permanent."""
        self._pending[key] = packed
        if self._sorted_ids and packed is not None:
            self._insert_id(key)
        if self._sorted_keys and packed is not None:
            self._insert_key(key)

    def set_all(self, packed: Mapping[str, bytes | None]) -> None:
        """Set the pending values of a decision, in their order."""
        if self._sorted_ids or self._sorted_keys:
            for key, data in packed.items():
                self.set(key, data)
        else:
            self._pending.update(packed)

    def commit(self) -> None:
        """Make the pending values permanent: the transaction is durable."""
        for key, packed in self._pending.items():
            if packed is None:
                self._committed.pop(key, None)
                self._drop_key(key)
            else:
                self._committed[key] = packed  # `set` has noted its number
        self._pending.clear()
        self.places.commit()

    def rollback(self) -> None:
        """Drop the pending values: the transaction failed."""
        self._pending.clear()
        self.places.rollback()

    def clear(self) -> None:
        """Drop everything, the committed values included."""
        self._committed.clear()
        self._pending.clear()
        self._sorted_ids.clear()
        self._sorted_keys.clear()
        self.places.clear()

    def pending(self) -> dict[str, bytes | None]:
        """Return the pending values: the next records of the changelog."""
        return self._pending

    def restore(self, key: str, packed: bytes | None) -> None:
        """Apply one record of the changelog."""
        if packed is None:
            self._committed.pop(key, None)
            self._drop_key(key)
        else:
            self._committed[key] = packed
            if self._sorted_ids:
                self._insert_id(key)
            if self._sorted_keys:
                self._insert_key(key)

    def sorted_ids_after(self, kind: str, last: int, limit: int) -> list[int]:
        """Return the next ids after `last` under which values of a kind exist (`lead/17`), ascending.

        Includes pending ones. Keeps the sorted list (40 bytes a value) until `drop_sorted_ids`.
        """
        numbers = self._sorted_ids.get(kind)
        if numbers is None:
            start = len(kind) + 1
            keys = (key for known in (self._committed, self._pending) for key in known if key.startswith(f"{kind}/"))
            numbers = self._sorted_ids[kind] = sorted({int(key[start:]) for key in keys})
        found: list[int] = []
        for place in range(bisect_right(numbers, last), len(numbers)):
            if len(found) == limit:
                break
            if self.packed(f"{kind}/{numbers[place]}") is not None:
                found.append(numbers[place])
        return found

    def drop_sorted_ids(self, kind: str) -> None:
        """Drop the sorted list of `sorted_ids_after`."""
        self._sorted_ids.pop(kind, None)

    def _insert_id(self, key: str) -> None:
        """Insert an id into the sorted list. Removed ids stay; readers skip them."""
        kind, _, text = key.partition("/")
        numbers = self._sorted_ids.get(kind)
        if numbers is None:
            return
        number = int(text)
        place = len(numbers) if not numbers or number > numbers[-1] else bisect_left(numbers, number)
        if place == len(numbers) or numbers[place] != number:
            numbers.insert(place, number)

    def sorted_keys_after(self, prefix: str, last: str, limit: int) -> list[str]:
        """Return the next keys after `last` that begin with a prefix (`head/7|`), ascending, pending ones included.

        Keeps the sorted list (8 bytes a key) until `drop_sorted_keys`.
        """
        keys = self._sorted(prefix)
        found: list[str] = []
        for place in range(bisect_right(keys, last), len(keys)):
            if len(found) == limit:
                break
            if self.packed(keys[place]) is not None:
                found.append(keys[place])
        return found

    def key_after(self, prefix: str, last: str) -> str | None:
        """Return the first key after `last` that begins with a prefix, from the list of `sorted_keys_after`."""
        keys = self._sorted(prefix)
        for place in range(bisect_right(keys, last), len(keys)):
            if self.packed(keys[place]) is not None:
                return keys[place]
        return None

    def _sorted(self, prefix: str) -> list[str]:
        keys = self._sorted_keys.get(prefix)
        if keys is None:
            known = (key for layer in (self._committed, self._pending) for key in layer if key.startswith(prefix))
            keys = self._sorted_keys[prefix] = sorted(set(known))
        return keys

    def drop_sorted_keys(self, prefix: str) -> None:
        """Drop the sorted list of `sorted_keys_after`."""
        self._sorted_keys.pop(prefix, None)

    def _insert_key(self, key: str) -> None:
        """Insert a key into the sorted list of its prefix. One that a rollback takes back stays; readers skip it."""
        for prefix, keys in self._sorted_keys.items():
            if key.startswith(prefix):
                place = bisect_left(keys, key)
                if place == len(keys) or keys[place] != key:
                    keys.insert(place, key)

    def _drop_key(self, key: str) -> None:
        """Drop a removed key from the sorted list of its prefix."""
        for prefix, keys in self._sorted_keys.items():
            if key.startswith(prefix):
                place = bisect_left(keys, key)
                if place < len(keys) and keys[place] == key:
                    del keys[place]

    def items(self) -> Iterator[tuple[str, bytes]]:
        """Iterate over the committed values, in order of first appearance."""
        return iter(self._committed.items())

    def __len__(self) -> int:
        return len(self._committed)


def unpack_any(key: str, packed: bytes) -> Entity:
    """Decode a packed value by what its key says it is. Raises `KeyError` for a key of no known kind."""
    return from_pack(packed, kind_of(key))
