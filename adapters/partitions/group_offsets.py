"""Which offset may a member of a group commit? The newest that it reported, and none behind the group's own.

A member that lost a partition and has it again may not know how far another one came meanwhile. So the group's offsets are
unknown after each rebalance, and nothing is committed before they are loaded.
"""

from collections.abc import Collection

NO_OFFSET = -1
"""The group's offset of a partition for which nothing was committed."""


class GroupOffsets:
    """The offsets of one member: what it reported, and what the group has committed as far as known."""

    def __init__(self) -> None:
        self._reported: dict[int, int] = {}
        self._held: dict[int, int] = {}

    def report(self, partition: int, offset: int) -> None:
        """Note how far this member came."""
        self._reported[partition] = offset

    def reported(self, partition: int) -> int | None:
        """Return how far this member came, or None."""
        return self._reported.get(partition)

    def learn(self, partition: int, offset: int) -> None:
        """Note what the group holds now (`NO_OFFSET` for none)."""
        self._held[partition] = offset

    def held(self, partition: int) -> int | None:
        """Return what the group holds (`NO_OFFSET` for none), or None where it has to be asked."""
        return self._held.get(partition)

    def forget_held(self) -> None:
        """Note that others may have committed since."""
        self._held.clear()

    def keep_only(self, partitions: Collection[int]) -> None:
        """Forget what was reported of partitions that went to others."""
        self._reported = {p: offset for p, offset in self._reported.items() if p in partitions}

    def unknown(self) -> set[int]:
        """Return the partitions with a report of which has to be asked what the group holds."""
        return self._reported.keys() - self._held.keys()

    def newer(self) -> dict[int, int]:
        """Return what is to be committed: what was reported and is ahead of what the group holds."""
        return {p: offset for p, offset in self._reported.items() if p in self._held and offset > self._held[p]}
