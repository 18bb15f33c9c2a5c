"""How is a stretch of one partition written? From where its owner stands, and where a row does not fit, without that one."""

from collections.abc import Callable, Sequence

from adapters.projector.batch import Batch, Mark, batch_of, fault
from adapters.projector.store import Owned, ProjectionStore, RowsRefusedError
from engine.partition.ports import LogRecord


class Lane:
    """A partition as its owner knows it: `offset` is the next one to write, `sequence` that of the last decision written.

    `written` is told of each batch that the store took, with the number of its decisions.
    """

    def __init__(self, topic: str, number: int, owned: Owned, written: Callable[[Batch, int], None]) -> None:
        self.topic = topic
        self.number = number
        self.epoch = owned.epoch
        self.offset = owned.next_offset
        self.sequence = owned.sequence
        self._tell = written

    async def write(self, store: ProjectionStore, records: Sequence[LogRecord]) -> None:
        """Write decisions that follow what is written; records from before `offset` are passed over.

        Raises `StoreError`, `OwnershipLostError`, `PositionMovedError`; what was written until then stays written.
        """
        fresh = [record for record in records if record.offset >= self.offset]
        if not fresh:
            return
        batch = batch_of(fresh, self._mark(fresh), self.sequence, topic=self.topic)
        try:
            await store.write(batch)
        except RowsRefusedError as error:
            await self._write_halves(store, fresh, error)
        else:
            self._written(batch, len(fresh))

    async def skip(self, store: ProjectionStore, offset: int) -> None:
        """Go on from `offset`: the log holds nothing any more before it, which counts as a gap. Raises as `write`."""
        batch = Batch(mark=Mark(self.topic, self.number, self.epoch, self.offset, offset), sequence=self.sequence, gaps=1)
        await store.write(batch)
        self._written(batch, 0)

    async def _write_halves(self, store: ProjectionStore, records: Sequence[LogRecord], error: RowsRefusedError) -> None:
        """Find the decision that does not fit: halve the run until it stands alone, and keep a fault in its place."""
        if len(records) > 1:
            middle = len(records) // 2
            await self.write(store, records[:middle])
            await self.write(store, records[middle:])
            return
        batch = Batch(mark=self._mark(records), sequence=self.sequence)
        batch.faults.append(fault(records[0], None, error, self.topic))
        await store.write(batch)
        self._written(batch, 1)

    def _mark(self, records: Sequence[LogRecord]) -> Mark:
        return Mark(self.topic, self.number, self.epoch, self.offset, records[-1].offset + 1)

    def _written(self, batch: Batch, decisions: int) -> None:
        self.offset = batch.mark.offset_after
        self.sequence = batch.sequence
        self._tell(batch, decisions)
