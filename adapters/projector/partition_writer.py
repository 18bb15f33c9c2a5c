"""How are the records of one partition written? In order from its position, without those that do not fit."""

from collections.abc import Callable, Sequence
from functools import partial

from adapters.projector.batch import OffsetRange, ProjectionBatch, build_batch, fault_row
from adapters.projector.impressions import build_impression_batch
from adapters.projector.rows import shapes_of
from adapters.projector.store import OwnedPartition, ProjectionStore, RowsRefusedError
from engine.identity import ContactIds
from engine.partition.continuity import request_digest
from engine.partition.ports import LogRecord
from schemas.topics import IMPRESSIONS


class PartitionWriter:
    """Writes one owned partition: `offset` is the next one to write, `sequence` that of the last decision written.

    `written` is called with each batch that the store took, and the number of its decisions.
    """

    def __init__(
        self,
        topic: str,
        number: int,
        owned: OwnedPartition,
        contact_ids: ContactIds,
        written: Callable[[ProjectionBatch, int], None],
    ) -> None:
        self.topic = topic
        self.number = number
        self.epoch = owned.epoch
        self.offset = owned.next_offset
        self.sequence = owned.sequence
        self.last_digest = owned.last_digest
        self._on_written = written
        self._build = build_impression_batch
        if topic != IMPRESSIONS.name:
            self._build = partial(build_batch, shapes=shapes_of(contact_ids))

    async def write(self, store: ProjectionStore, records: Sequence[LogRecord]) -> None:
        """Write the next decisions; records before `offset` are skipped.

        Raises `StoreError`, `OwnershipLostError`, `PositionMovedError`; batches written before the error stay written.
        """
        fresh = [record for record in records if record.offset >= self.offset]
        if not fresh:
            return
        batch = self._build(fresh, self._offset_range(fresh), self.sequence, topic=self.topic)
        try:
            await store.write(batch)
        except RowsRefusedError as error:
            await self._write_halves(store, fresh, error)
        else:
            self._written(batch, len(fresh))

    async def skip(self, store: ProjectionStore, offset: int) -> None:
        """Move on to `offset`, because the log holds nothing before it any more; this counts as a gap. Raises as `write`."""
        batch = ProjectionBatch(
            offset_range=OffsetRange(self.topic, self.number, self.epoch, self.offset, offset),
            sequence=self.sequence,
            gaps=1,
        )
        await store.write(batch)
        self._written(batch, 0)

    async def _write_halves(self, store: ProjectionStore, records: Sequence[LogRecord], error: RowsRefusedError) -> None:
        """Find the decision that does not fit by bisection, and write a fault in its place."""
        if len(records) > 1:
            middle = len(records) // 2
            await self.write(store, records[:middle])
            await self.write(store, records[middle:])
            return
        batch = ProjectionBatch(offset_range=self._offset_range(records), sequence=self.sequence)
        batch.faults.append(fault_row(records[0], None, error, self.topic))
        await store.write(batch)
        self._written(batch, 1)

    def _offset_range(self, records: Sequence[LogRecord]) -> OffsetRange:
        last = records[-1]
        return OffsetRange(self.topic, self.number, self.epoch, self.offset, last.offset + 1, request_digest(last))

    def _written(self, batch: ProjectionBatch, decisions: int) -> None:
        self.offset = batch.offset_range.offset_after
        self.sequence = batch.sequence
        self._on_written(batch, decisions)
