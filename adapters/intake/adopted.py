"""By which rules is a record of the inbox read? By the same ones each time, however often a crash repeats it.

A token's offer says in which country a number without a code is dialled, so rules decide the contact that a record goes to.
Read again by newer ones, it could go to a second contact, or count as a repeat there. So newer rules are adopted from one
offset on, and that is committed, with the positions of the rules, before any record is read by them.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from adapters.partitions.checkpoint import Checkpoint
from adapters.partitions.feed import RulesTopic
from engine.rules import Rules
from schemas.records import Record


class Checkpoints(Protocol):
    """Stores where the partitions of a topic resume. Contract: tests/adapters/assignment_contract.py."""

    async def save_checkpoint(self, partition: int, checkpoint: Checkpoint) -> None:
        """Commit an offset with a note, now. Raises `LogError`."""
        ...

    async def load_checkpoint(self, partition: int) -> Checkpoint | None:
        """Return the last checkpoint, or None. Raises `LogError`."""
        ...


class AdoptedRules:
    """The rules that one partition is read by; `rules` are those for the next record."""

    def __init__(self, feed: RulesTopic, checkpoints: Checkpoints, partition: int) -> None:
        self._feed = feed
        self._checkpoints = checkpoints
        self._partition = partition
        self._positions: dict[int, int] | None = None
        self._past: Rules | None = None
        self._past_until = 0

    @property
    def rules(self) -> Rules:
        """The rules to read the next record by."""
        return self._feed.rules if self._past is None else self._past

    async def resume(self) -> int:
        """Return the offset to resume at, and set the rules to those adopted there. Raises `LogError`."""
        checkpoint = await self._checkpoints.load_checkpoint(self._partition)
        self._positions, self._past = None, None
        if checkpoint is None:
            return 0
        if checkpoint.note:
            self._positions = msgspec.json.decode(checkpoint.note, type=dict[int, int])
            if _is_ahead(self._positions, self._feed.rules.positions):
                await self._feed.refresh()
            if self._positions != self._feed.rules.positions:
                self._past = _rules_at(self._positions, self._feed.entries)
        return checkpoint.offset

    def read_again_until(self, end: int) -> None:
        """Note where the inbox ended when it was opened: records before that may have been read before."""
        self._past_until = end

    def is_outdated(self, offset: int) -> bool:
        """Return whether newer rules must be adopted before the record at this offset is read."""
        if self._past is not None:
            return offset >= self._past_until
        return self._positions != self._feed.rules.positions

    async def renew(self, offset: int) -> None:
        """Adopt the newest rules from this offset on; everything before it must be done. Raises `LogError`."""
        positions = dict(self._feed.rules.positions)
        if positions != self._positions:
            await self._checkpoints.save_checkpoint(
                self._partition, Checkpoint(offset, msgspec.json.encode(positions).decode())
            )
            self._positions = positions
        self._past = None


def _is_ahead(positions: Mapping[int, int], known: Mapping[int, int]) -> bool:
    return any(sequence > known.get(partition, 0) for partition, sequence in positions.items())


def _rules_at(positions: Mapping[int, int], entries: Sequence[tuple[int, Record]]) -> Rules:
    rules = Rules()
    for partition, record in entries:
        if record.sequence <= positions.get(partition, 0):
            rules.apply(partition, record)
    return rules
