"""How is a record read whose header has a name that is not UTF-8? With replacement characters; aiokafka 0.14 raises.

Kafka takes any bytes for the name of a header. aiokafka raises for each answer of the broker that holds such a record, so
one record of one producer would stop its partition for good. The fast reader of aiokafka reads everything else.
"""

from collections.abc import Iterator
from typing import Any

from aiokafka.consumer import fetcher
from aiokafka.record.default_records import _DefaultRecordBatchPy
from aiokafka.record.memory_records import MemoryRecords, _MemoryRecordsPy


class LenientRecords:
    """What aiokafka's fetcher wants of `MemoryRecords`: the batches of one answer, in order."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._records = MemoryRecords(data)
        self._taken = 0

    def size_in_bytes(self) -> int:
        """Return the size of the answer."""
        return int(self._records.size_in_bytes())

    def has_next(self) -> bool:
        """Return whether a whole batch is left."""
        return bool(self._records.has_next())

    def next_batch(self) -> "_LenientBatch":
        """Return the next batch."""
        self._taken += 1
        return _LenientBatch(self._records.next_batch(), self._data, self._taken - 1)


class _LenientBatch:
    """A batch of aiokafka; its records are read once more, leniently, where that raises."""

    def __init__(self, batch: Any, data: bytes, place: int) -> None:
        self._batch = batch
        self._data = data
        self._place = place

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def __next__(self) -> Any:
        return next(self._batch)

    def __iter__(self) -> Iterator[Any]:
        try:
            return iter([*self._batch])  # at once: a generator in between costs a third of the reading
        except UnicodeDecodeError:
            return iter(_read_leniently(self._data, self._place))


class _LenientBytes(bytearray):
    """Bytes whose slices decode whatever they hold."""

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        return _LenientBytes(found) if isinstance(found, bytearray) else found

    def decode(self, encoding: str = "utf-8", errors: str = "replace") -> str:
        del errors
        return super().decode(encoding, "replace")


def _read_leniently(data: bytes, place: int) -> list[Any]:
    walk = _MemoryRecordsPy(data)
    for _ in range(place):
        walk._cache_next()  # noqa: SLF001 - `next_batch` would make the fast reader of the batch
    batch = _DefaultRecordBatchPy(walk._next_slice)  # noqa: SLF001 - as above
    batch._maybe_uncompress()  # noqa: SLF001 - before its bytes are replaced
    batch._buffer = _LenientBytes(batch._buffer)  # noqa: SLF001 - there is no other way to its one `decode`
    return list(batch)


def install() -> None:
    """Let every consumer of this process read so."""
    fetcher.MemoryRecords = LenientRecords
