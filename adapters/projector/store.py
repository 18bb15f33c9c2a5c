"""What does the projector need from a database? To own partitions, to write a batch with its position, to say it is there.

The contract, which the simulator's store in memory keeps as well: tests/adapters/projector/test_stores.py.
"""

from typing import Protocol

from msgspec import Struct

from adapters.projector.batch import ProjectionBatch
from schemas.errors import DependencyError, InternalError
from schemas.instant import Instant


class OwnershipLostError(DependencyError):
    """Another owner took the partition; nothing was written."""


class PositionMovedError(DependencyError):
    """The position was set back under its owner, by hand in the database: nothing was written; take the partition again."""


class RowsRefusedError(InternalError):
    """A row does not fit its table; nothing of the batch was written."""


class TopicChangedError(DependencyError):
    """The topic was created again: positions and rows are about another one, and the projection must be rebuilt."""


class OwnedPartition(Struct, frozen=True):
    """A partition that was taken: read on from `next_offset`; `sequence` is that of the last decision written."""

    epoch: int
    next_offset: int
    sequence: int


class PartitionPosition(Struct, frozen=True, kw_only=True):
    """Where a partition of the projection stands."""

    topic: str
    partition: int
    topic_id: str
    epoch: int
    next_offset: int
    sequence: int
    decided_at: Instant | None


class ProjectionStore(Protocol):
    """Rows and positions in one transaction. Every method raises `StoreError` where the database is away."""

    async def take(self, topic: str, topic_id: str, partition: int) -> OwnedPartition:
        """Become the owner of a partition; whoever was it before cannot write to it any more.

        Raises `TopicChangedError` where the position is about a topic of that name with another id.
        """
        ...

    async def write(self, batch: ProjectionBatch) -> None:
        """Write rows and position, all or nothing; a batch that is written already is left as it is.

        Raises `OwnershipLostError`, `PositionMovedError` and `RowsRefusedError`.
        """
        ...

    async def announce(self) -> None:
        """Wake whoever waits for a result: at most one word per 10 ms, so the last one may come that much later."""
        ...

    async def positions(self) -> list[PartitionPosition]:
        """Return every position, by topic and partition."""
        ...

    async def close(self) -> None:
        """Let go of connections. Never raises."""
        ...
