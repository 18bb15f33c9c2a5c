"""Which partitions does a process get without a consumer group? All of them, for as long as it runs."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec

from adapters.partitions.checkpoint import Checkpoint

SAVE_EVERY = 100
"""Reports between two writes of the offsets; records that are read again after a crash are refused as repeats."""


class StaticAssignment:
    """Every partition of a topic, yielded once; no other process takes one. Offsets are kept in `file`, if given."""

    def __init__(self, partition_count: int, file: Path | None = None) -> None:
        self._partitions = frozenset(range(partition_count))
        self._file = file
        self._marks: dict[int, Checkpoint] = {}
        self._reports = 0

    async def start(self) -> None:
        """Join nothing; read the offsets of the last run."""
        if self._file is not None and self._file.exists():
            self._marks = msgspec.json.decode(self._file.read_bytes(), type=dict[int, Checkpoint])

    async def changes(self) -> AsyncIterator[frozenset[int]]:
        """Yield all partitions, then wait for good."""
        yield self._partitions
        await asyncio.Event().wait()

    async def confirm(self, partition: int) -> bool:
        """Return whether the partition is ours."""
        return partition in self._partitions

    def report(self, partition: int, offset: int) -> None:
        """Note how far a partition is done; written to the file every `SAVE_EVERY` reports and at the end."""
        checkpoint = self._marks.get(partition, Checkpoint(0))
        if checkpoint.offset == offset:
            return
        self._marks[partition] = Checkpoint(offset, checkpoint.note)
        self._reports += 1
        if self._reports % SAVE_EVERY == 0:
            self._save()

    async def save_checkpoint(self, partition: int, checkpoint: Checkpoint) -> None:
        """Write an offset with a note, now; later offsets carry the same note."""
        self._marks[partition] = checkpoint
        self._save()

    async def load_checkpoint(self, partition: int) -> Checkpoint | None:
        """Return the last checkpoint of a partition, or None."""
        return self._marks.get(partition)

    async def close(self) -> None:
        """Save the offsets for the next run."""
        self._save()

    def _save(self) -> None:
        if self._file is not None:
            # The folder may not exist yet. It also holds snapshots, which other users must not read.
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            draft = self._file.with_suffix(".draft")
            draft.write_bytes(msgspec.json.encode(self._marks))
            draft.replace(self._file)
