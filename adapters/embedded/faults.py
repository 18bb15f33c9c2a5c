"""Where can tests make the embedded log fail? At named points between its steps."""

from enum import StrEnum
from typing import Protocol


class FaultPoint(StrEnum):
    """A place between two steps of writing, in the order in which they are passed."""

    BEFORE_APPEND = "before append"
    """Nothing is written yet."""
    BEFORE_COMMIT = "before commit"
    """A transaction's records are written and open: committed readers stop before them until it commits or aborts."""
    AFTER_APPEND = "after append"
    """Records appended outside a transaction are durable and visible; the caller does not know it yet."""
    AFTER_COMMIT = "after commit"
    """A transaction is durable and visible; the caller does not know it yet."""


class Faults(Protocol):
    """Decides at each point whether the writer fails there.

    No contract suite: only tests implement it, and each raises what it needs.
    """

    def reach(self, point: FaultPoint, topic: str, partition: int) -> None:
        """Return to go on, or raise anything. What raises at `BEFORE_COMMIT` leaves the transaction open.

        `LogError` is a failure that the log reports; another exception stands for a crash of the writer.
        """
        ...


class NoFaults:
    """Nothing fails."""

    def reach(self, point: FaultPoint, topic: str, partition: int) -> None:
        """Go on."""
