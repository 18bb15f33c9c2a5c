"""How does the trace of a lead show that its row is in the database? By a span for each batch that has decisions about it.

Only a projector that traces has such a store. A rebuild has none: it writes what was traced before.
"""

import time

from adapters.observability.traces import Traces
from adapters.postgres.pool import Pool
from adapters.postgres.tables import HISTORY_COLUMNS
from adapters.projector.batch import ProjectionBatch
from adapters.projector.postgres import PostgresStore

_SEQUENCE, _LEAD_ID = (HISTORY_COLUMNS.index(name) for name in ("sequence", "lead_id"))


class TracedStore(PostgresStore):
    """The projection in PostgreSQL, with spans."""

    def __init__(self, pool: Pool, traces: Traces) -> None:
        super().__init__(pool)
        self._traces = traces

    async def write(self, batch: ProjectionBatch) -> None:
        """Write rows and position, all or nothing; then span what was written."""
        began_at = time.time_ns()
        await super().write(batch)
        place = batch.offset_range
        self._traces.projected(place.topic, place.partition, last_sequences(batch), began_at)


def last_sequences(batch: ProjectionBatch) -> dict[int, int]:
    """Return each lead of a batch with the sequence number of the last decision about it."""
    return {row[_LEAD_ID]: row[_SEQUENCE] for row in batch.history if row[_LEAD_ID] is not None}
