"""What is the newest decision of each partition? A head that somebody keeps elsewhere anchors the chain up to it.

Who rewrites a log with all its digests makes a chain that holds in itself. It does not hold a head that was kept before.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from adapters.audit.difference import Difference
from adapters.audit.recorded import committed_position
from engine.partition.aggregate import Aggregate
from engine.partition.ports import Log
from engine.partition.runner import TopicNames
from schemas.decisions import Position
from schemas.errors import SenderError


class ChainHead(Struct, frozen=True, kw_only=True):
    """The newest decision of a partition: `topic` without the deployment's prefix, number, digest, and instant in ms."""

    topic: str
    partition: int
    sequence: int
    digest: str
    decided_at: int


class Heads(Struct, frozen=True, kw_only=True):
    """The heads of a deployment at an instant, as a file holds them."""

    deployment: str
    read_at: str
    heads: tuple[ChainHead, ...]


class HeadsFileError(SenderError, ValueError):
    """A file does not hold heads; `str(error)` says which, and what is wrong."""


async def read_heads(log: Log, names: TopicNames, aggregates: Iterable[Aggregate]) -> tuple[ChainHead, ...]:
    """Return the head of each partition that has decided anything. Raises `LogError`."""
    found = []
    for aggregate in aggregates:
        state = names.of(aggregate.state_topic.name)
        for partition in range(await log.partition_count(state)):
            position = await committed_position(log, state, partition)
            if position is not None and position.sequence:
                found.append(_head(aggregate.decisions_topic.name, partition, position))
    return tuple(found)


def load_heads(path: Path) -> Heads:
    """Read a file that `leadclock audit heads` wrote. Raises `HeadsFileError`."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Heads)
    except OSError as error:
        raise HeadsFileError(f"{path} cannot be read: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise HeadsFileError(f"{path} holds no heads: {error}. Name a file that `leadclock audit heads` wrote") from error


def _head(topic: str, partition: int, position: Position) -> ChainHead:
    digest, sequence = position.chain, position.sequence
    return ChainHead(topic=topic, partition=partition, sequence=sequence, digest=digest, decided_at=int(position.decided_at))


class HeadCheck:
    """Looks for the heads of one partition on its chain."""

    def __init__(self, topic: str, partition: int, heads: Sequence[ChainHead]) -> None:
        self._topic = topic
        self._partition = partition
        self._left = {(one.sequence, one.digest) for one in heads}
        self._sequences = {one.sequence for one in heads}
        self.found = 0
        self.not_looked_at = 0
        self.difference: Difference | None = None

    def pass_by(self, position: Position, offset: int) -> None:
        """Compare the heads of a decision with the chain after it."""
        if position.sequence not in self._sequences:
            return
        for sequence, digest in [one for one in self._left if one[0] == position.sequence]:
            self._left.remove((sequence, digest))
            if digest == position.chain:
                self.found += 1
            else:
                self._differ(sequence, offset, digest, position.chain, "a head that was kept is not on the chain")

    def end(self, position: Position, *, begins_at: int, gaps: Sequence[tuple[int, int]]) -> None:
        """Judge the heads that no decision of the log had."""
        for sequence, digest in sorted(self._left):
            if sequence < begins_at or any(first <= sequence <= last for first, last in gaps):
                self.not_looked_at += 1
            elif sequence > position.sequence:
                what = "the log ends before a head that was kept"
                self._differ(sequence, 0, digest, position.chain, what)

    def _differ(self, sequence: int, offset: int, kept: str, chain: str, what: str) -> None:
        self.difference = self.difference or Difference(
            cause="decision",
            topic=self._topic,
            partition=self._partition,
            offset=offset,
            sequence=sequence,
            what=what,
            recorded=chain,
            decided=kept,
        )
