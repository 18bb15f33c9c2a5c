"""What does the log of a run contain? Its records, and each partition as folded from its decisions."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from engine.partition.aggregate import Aggregate
from engine.partition.ports import LogRecord
from schemas.decisions import REMOVED, Decision
from schemas.envelope import Envelope, EnvelopeError, from_headers
from schemas.state import kind_of
from schemas.wire import to_pack

if TYPE_CHECKING:
    from tests.simulation.run import World

DECISIONS = msgspec.json.Decoder(Decision)


class Decided:
    """One partition as folded from its decisions."""

    def __init__(self, aggregate: Aggregate, partition: int, records: list[LogRecord], decisions: list[Decision]) -> None:
        self.aggregate = aggregate
        self.partition = partition
        self.records = records
        self.decisions = decisions
        self.fold: dict[str, bytes] = {}
        self.changed_by: dict[str, int] = {}
        for decision in self.decisions:
            self._take(decision)

    @property
    def name(self) -> str:
        return f"{self.aggregate.decisions_topic.name}[{self.partition}]"

    def _take(self, decision: Decision) -> None:
        for change in decision.changes:
            self.changed_by[change.key] = decision.sequence
            if change.value == REMOVED:
                self.fold.pop(change.key, None)
            else:
                self.fold[change.key] = to_pack(msgspec.json.decode(change.value, type=kind_of(change.key)))


def records_of(world: "World", topic: str, partition: int) -> list[LogRecord]:
    """Return everything that a topic ever held, also what it has lost."""
    return world.records(topic, partition)


def all_records_of(world: "World", topic: str) -> Iterator[LogRecord]:
    for partition in range(world.partitions):
        yield from records_of(world, topic, partition)


def decided_in(world: "World", aggregate: Aggregate, partition: int) -> Decided:
    records = records_of(world, aggregate.decisions_topic.name, partition)
    decisions = [DECISIONS.decode(record.value or b"") for record in records]
    return Decided(aggregate, partition, records, world.placed(aggregate, partition, decisions))


def envelope_of(record: LogRecord) -> Envelope | None:
    try:
        return from_headers(record.headers)
    except EnvelopeError:
        return None


def values_of(decided: Decided, prefix: str, kind: type[Any]) -> Iterator[Any]:
    for decision in decided.decisions:
        for change in decision.changes:
            if change.key.startswith(prefix) and change.value != REMOVED:
                yield msgspec.json.decode(change.value, type=kind)
