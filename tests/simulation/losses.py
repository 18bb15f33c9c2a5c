"""What can happen to the topics of a run? They are made again, emptied, cut in the middle, or laid back from an older copy.

What a topic held is remembered, so that the invariants are checked against everything that there ever was.
"""

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Literal

import msgspec
from msgspec import Struct

from adapters.embedded.log import EmbeddedLog
from adapters.embedded.partition import Partition
from engine.partition.ports import LogError, LogRecord
from engine.rules import ForeignRuleError, read_rule
from schemas.decisions import Decision, Position
from schemas.state import POSITION_KEY
from schemas.topics import (
    ACCOUNTS_DECISIONS,
    ACCOUNTS_REQUESTS,
    ACCOUNTS_RULES,
    ACCOUNTS_STATE,
    COMMAND_TOPICS,
    CONTACTS_DECISIONS,
    CONTACTS_REQUESTS,
    CONTACTS_STATE,
    TOMBSTONE_RETENTION_MS,
)

Kind = Literal["made again", "emptied", "cut", "older copy"]
KINDS: tuple[Kind, ...] = ("made again", "emptied", "cut", "cut", "older copy")

REQUESTS = {CONTACTS_REQUESTS.name: CONTACTS_DECISIONS.name, ACCOUNTS_REQUESTS.name: ACCOUNTS_DECISIONS.name}
DECISIONS = {CONTACTS_DECISIONS.name, ACCOUNTS_DECISIONS.name}
STATES = {CONTACTS_STATE.name, ACCOUNTS_STATE.name}
COMMANDS = tuple(topic.name for topic in COMMAND_TOPICS.values())

READ = (*REQUESTS, *sorted(DECISIONS), *sorted(STATES), ACCOUNTS_RULES.name, *COMMANDS)
"""The internal topics that a simulated role reads."""

OF_THE_SAME = {
    **{topic.name: "scheduler" for topic in (CONTACTS_REQUESTS, CONTACTS_DECISIONS, CONTACTS_STATE)},
    **{topic.name: "accounts" for topic in (ACCOUNTS_REQUESTS, ACCOUNTS_DECISIONS, ACCOUNTS_STATE)},
}
"""The role whose partition a topic belongs to."""

OPEN_WRITES_TRIES = 200

_DECISIONS = msgspec.json.Decoder(Decision)


class Loss(Struct, frozen=True, kw_only=True):
    """What one topic loses: everything, or its records from an offset on, by partition."""

    topic: str
    kind: Kind
    cuts: dict[int, int]

    @property
    def words(self) -> str:
        """The loss for the story of a run."""
        where = "" if self.kind == "made again" else f" before {self.cuts}"
        return f"{self.topic} is {self.kind}{where}"


class LostPart(Struct):
    """What a partition held before its loss; what came after it stands at `first_offset` or behind it."""

    records: list[LogRecord]
    first_offset: int


class _GonePartition(Partition):
    """What a reader stands in whose broker has lost the records before its position."""

    __slots__ = ()

    @property
    def stable_end(self) -> int:
        raise LogError("the offset is out of range")

    def read(self, position: int, limit: int) -> tuple[list[LogRecord], int]:
        del position, limit
        raise LogError("the offset is out of range")


class Losses:
    """The topics of a log, what they lose, and what they held."""

    def __init__(self, log: EmbeddedLog, partitions: int, chance: Random) -> None:
        self.archive: dict[tuple[str, int], LostPart] = {}
        self.expired: dict[tuple[str, int], list[LogRecord]] = {}
        """What retention has taken: no loss."""
        self._log = log
        self._partitions = partitions
        self._chance = chance
        self._copy: dict[tuple[str, int], int] = {}

    def copy(self) -> None:
        """Copy every topic: to lay one back is to cut what was written since."""
        self._copy = {
            (topic, number): self._log.partition(topic, number).stable_end
            for topic in READ
            for number in range(self._partitions)
        }

    def choose(self, topic: str, done: dict[tuple[str, int], int]) -> Loss | None:
        """Choose what a topic loses; None where nothing can be missed. `done` is how far commands were carried out."""
        kind = self._chance.choice(KINDS)
        if kind == "made again":
            return Loss(topic=topic, kind=kind, cuts=dict.fromkeys(range(self._partitions), 0))
        numbers: Sequence[int] = range(self._partitions)
        if kind != "older copy" and self._chance.random() < 0.5:
            numbers = [self._chance.choice(numbers)]
        cuts = {number: self._cut(kind, topic, number, done) for number in numbers}
        found = {number: cut for number, cut in cuts.items() if cut is not None}
        return Loss(topic=topic, kind=kind, cuts=found) if found else None

    def _cut(self, kind: Kind, topic: str, number: int, done: dict[tuple[str, int], int]) -> int | None:
        """Return the offset from which on a partition loses its records; None where no reader would miss one."""
        missed = self._missed(topic, number, done)
        if not missed:
            return None
        match kind:
            case "emptied":
                return 0
            case "older copy":
                end = self._copy.get((topic, number), 0)
                return end if end <= missed[-1] else None
            case _:
                return self._chance.choice(missed)

    def _missed(self, topic: str, number: int, done: dict[tuple[str, int], int]) -> list[int]:
        """Return the offsets of the records that were read, or are the newest of what their reader needs."""
        records = self._log.partition(topic, number).records
        if topic in REQUESTS:
            before = self.decided_before(REQUESTS[topic], number)
            return [record.offset for record in records if record.offset < before]
        if topic in STATES:
            last = self._newest_position(records)
            return [record.offset for record in records if record.offset <= last]
        if topic == ACCOUNTS_RULES.name:
            last = max((record.offset for record in records if _is_rule(record)), default=-1)
            return [record.offset for record in records if record.offset <= last]
        if topic in COMMANDS:
            return [record.offset for record in records if record.offset < done.get((topic, number), 0)]
        behind = 1 if (topic, number) in self.expired else 0  # after a retention that took all there may be none
        return [record.offset for record in records[behind:]]

    @staticmethod
    def _newest_position(records: Sequence[LogRecord]) -> int:
        """Return where the newest decision is first recorded, -1 for none: a snapshot records it again."""
        found = [(record.offset, record.value) for record in records if record.key == POSITION_KEY.encode()]
        positions = [(offset, msgspec.msgpack.decode(value or b"", type=Position)) for offset, value in found if value]
        newest = max((position.sequence for _, position in positions), default=0)
        return next((offset for offset, position in positions if position.sequence == newest), -1)

    def decided_before(self, decisions: str, number: int) -> int:
        """Return the offset before which the requests of a partition are decided."""
        for record in reversed(self._log.partition(decisions, number).records):
            cause = _DECISIONS.decode(record.value or b"").cause
            if cause.offset is not None:
                return cause.offset + 1
        return 0

    async def expire(self, topic: str, number: int, before: int) -> None:
        """Delete records as retention does, up to some record before an offset."""
        partition = self._log.partition(topic, number)
        offsets = [record.offset for record in partition.records[:-1] if record.offset < before]
        if offsets:
            last = self._chance.choice(offsets)
            gone = [record for record in partition.records if record.offset <= last]
            self.expired.setdefault((topic, number), []).extend(gone)
            await self._log.delete_records(topic, number, last + 1)

    async def compact(self) -> None:
        """Compact what is compacted; no run lasts long enough for a tombstone to go."""
        for topic in (*sorted(STATES), ACCOUNTS_RULES.name):
            await self._log.compact(topic, TOMBSTONE_RETENTION_MS)

    async def strike(self, losses: Sequence[Loss]) -> None:
        """Lose records. Writers are fenced, as by a broker that has forgotten their transactions."""
        struck = [(loss, number) for loss in losses for number in loss.cuts]
        for place in sorted({(owned, number) for _, number in struck for owned in REQUESTS}):
            owner = self._log._owners.pop(place, None)
            if owner is not None:
                await owner.release()
        for loss, number in struck:
            await self._at_rest(loss.topic, number)
        for loss in losses:
            await self._lose(loss)

    async def _at_rest(self, topic: str, number: int) -> None:
        for _ in range(OPEN_WRITES_TRIES):
            if not self._log.partition(topic, number)._open:
                return
            await asyncio.sleep(0.01)
        raise RuntimeError(f"a write to {topic}[{number}] does not end")

    async def _lose(self, loss: Loss) -> None:
        former = {number: self._log.partition(loss.topic, number) for number in loss.cuts}
        for number, cut in loss.cuts.items():
            self.archive[loss.topic, number] = LostPart(list(former[number].records), cut)
        if loss.kind == "made again":
            await self._log.delete_topic(loss.topic)
            await self._log.create_topic(loss.topic, self._partitions)
        else:
            for number, cut in loss.cuts.items():
                left = Partition(loss.topic, number)
                left.records = [record for record in former[number].records if record.offset < cut]
                left.start, left.end = min(former[number].start, cut), cut
                self._log._partitions[loss.topic, number] = left
        if loss.kind != "made again" or self._chance.random() < 0.5:  # else a reader hears nothing more, and no error
            for partition in former.values():
                partition.__class__ = _GonePartition


def _is_rule(record: LogRecord) -> bool:
    try:
        read_rule(record.key, record.value)
    except ForeignRuleError:
        return False
    return True
