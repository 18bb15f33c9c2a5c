"""What does the projector need from a database? To own partitions, write a batch with its position, and announce results.

Contract suite, which the simulator's store in memory passes as well: tests/adapters/projector/test_stores.py.
"""

from typing import Protocol

from msgspec import Struct

from adapters.projector.batch import ProjectionBatch
from schemas.errors import DependencyError, InternalError
from schemas.instant import Instant


class OwnershipLostError(DependencyError):
    """Another owner took the partition; nothing was written."""


class PositionMovedError(DependencyError):
    """The position was changed by hand in the database: nothing was written; take the partition again."""


class RowsRefusedError(InternalError):
    """A row does not fit its table; nothing of the batch was written."""


class TopicChangedError(DependencyError):
    """The topic was deleted and made again: positions and rows belong to the former one."""


class OwnedPartition(Struct, frozen=True):
    """A partition that was taken: read from `next_offset`; `sequence` is that of the last decision written.

    `last_digest` is that of the record before `next_offset`, empty where none was written there.
    """

    epoch: int
    next_offset: int
    sequence: int
    last_digest: str = ""


class PartitionPosition(Struct, frozen=True, kw_only=True):
    """How far a partition is projected."""

    topic: str
    partition: int
    topic_id: str
    epoch: int
    next_offset: int
    sequence: int
    decided_at: Instant | None


class ProjectionStore(Protocol):
    """Rows and positions in one transaction. Every method raises `StoreError` when the database fails.

    Contract: tests/adapters/projector/test_stores.py.
    """

    async def take(self, topic: str, topic_id: str, partition: int) -> OwnedPartition:
        """Become the owner of a partition; the former owner cannot write to it any more.

        Raises `TopicChangedError` when the position belongs to a topic of that name with another id.
        """
        ...

    async def write(self, batch: ProjectionBatch) -> None:
        """Write rows and position, all or nothing. Idempotent: a batch that is written already changes nothing.

        Raises `OwnershipLostError`, `PositionMovedError` and `RowsRefusedError`.
        """
        ...

    async def announce(self) -> None:
        """Notify processes that wait for results, at most once per 10 ms; the last notification may be that late."""
        ...

    async def positions(self) -> list[PartitionPosition]:
        """Return every position, by topic and partition."""
        ...

    async def close(self) -> None:
        """Close connections. Never raises."""
        ...
