"""Which partitions does a process work on where there is no group? All of them, for as long as it runs."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec

KEEP_EVERY = 100
"""Reports between two writes of the offsets; what is read again after a crash is refused as a repeat."""


class StaticAssignment:
    """Every partition of a topic, told once; nobody else is there to take one. Offsets are kept in `file`, if given."""

    def __init__(self, partition_count: int, file: Path | None = None) -> None:
        self._partitions = frozenset(range(partition_count))
        self._file = file
        self._offsets: dict[int, int] = {}
        self._reports = 0

    async def start(self) -> None:
        """Join nothing; read the offsets of the last run."""
        if self._file is not None and self._file.exists():
            self._offsets = msgspec.json.decode(self._file.read_bytes(), type=dict[int, int])

    async def changes(self) -> AsyncIterator[frozenset[int]]:
        """Yield all partitions, then wait for good."""
        yield self._partitions
        await asyncio.Event().wait()

    async def confirm(self, partition: int) -> bool:
        """Return whether the partition is ours."""
        return partition in self._partitions

    def report(self, partition: int, offset: int) -> None:
        """Note how far a partition is done; kept in the file now and then, and at the end."""
        if self._offsets.get(partition) == offset:
            return
        self._offsets[partition] = offset
        self._reports += 1
        if self._reports % KEEP_EVERY == 0:
            self._keep()

    async def committed(self, partition: int) -> int | None:
        """Return the last offset that was reported, or None."""
        return self._offsets.get(partition)

    async def close(self) -> None:
        """Keep the offsets for the next run."""
        self._keep()

    def _keep(self) -> None:
        if self._file is not None:
            draft = self._file.with_suffix(".draft")
            draft.write_bytes(msgspec.json.encode(self._offsets))
            draft.replace(self._file)
