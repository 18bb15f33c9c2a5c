"""Does the code that is here decide every recorded input as it was decided? Byte for byte, and along the hash chain.

The state is folded from the recorded decisions alone. Each input is then decided again on it, at its recorded instant and
with the rules that it had adopted, and the bytes are compared. The first difference ends the verification of a partition.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from adapters.audit.recorded import BATCH, POLL_SECONDS, STALLS_MAX, batches
from engine.partition.aggregate import Aggregate
from engine.partition.decider import Decider
from engine.partition.ports import Log, Reader, Record
from engine.partition.runner import Names
from engine.partition.state import State
from engine.rules import Rules
from schemas.decisions import Cause, Position
from schemas.instant import Instant
from schemas.records import Record as RuleRecord


class Difference(Struct, frozen=True, kw_only=True):
    """The first thing that is not as recorded: `what` in words, and both sides where there are two."""

    topic: str
    partition: int
    offset: int
    sequence: int
    what: str
    recorded: Any = None
    decided: Any = None


class Verified(Struct, frozen=True, kw_only=True):
    """What was verified of a partition; `chain` is the digest of its last decision."""

    topic: str
    partition: int
    decisions: int
    chain: str
    keys: int
    difference: Difference | None = None


async def verify(
    log: Log,
    names: Names,
    aggregate: Aggregate,
    partition: int,
    rules: Sequence[tuple[int, RuleRecord]],
    *,
    progress: Callable[[int], None] = lambda _: None,
) -> Verified:
    """Verify one partition from its first decision to the end that it has now. Raises `LogError`."""
    topic = names.of(aggregate.decisions_topic.name)
    replay = Replay(aggregate, partition, rules)
    inputs = await log.reader(names.of(aggregate.requests_topic.name), [partition])
    recorded = await log.reader(topic, [partition])
    difference = None
    try:
        requests = _Inputs(inputs, partition)
        async for batch in batches(recorded, partition):
            for record in batch:
                what = await replay.check(record, requests)
                if what is not None:
                    difference = _located(topic, partition, record, replay, what)
                    break
            progress(len(batch))
            if difference is not None:
                break
    finally:
        await inputs.close()
        await recorded.close()
    position = replay.position
    return Verified(
        topic=topic,
        partition=partition,
        decisions=position.sequence,
        chain=position.chain,
        keys=len(replay.state),
        difference=difference,
    )


class Mismatch(Struct, frozen=True):
    """Why a decision is not verified, and both sides of it."""

    what: str
    recorded: Any = None
    decided: Any = None


class _Recorded(Struct, frozen=True):
    """What must be known of a recorded decision to decide it again; every byte of the rest is compared, not decoded."""

    sequence: int
    decided_at: Instant
    prev: str
    cause: Cause


_RECORDED = msgspec.json.Decoder(_Recorded)


class Replay:
    """The fold of one partition's decisions, each checked before it is taken over."""

    def __init__(self, aggregate: Aggregate, partition: int, rules: Sequence[tuple[int, RuleRecord]]) -> None:
        self.state = State()
        self._decider = Decider(aggregate, partition, self.state, Rules(), Position())
        self._rules = list(rules)

    @property
    def position(self) -> Position:
        """Where the fold stands."""
        return self._decider.position

    async def check(self, record: Record, requests: "_Inputs") -> Mismatch | None:
        """Decide the input of a recorded decision again; None where every byte is the same."""
        value = record.value or b""
        try:
            recorded = _RECORDED.decode(value)
        except msgspec.DecodeError as error:
            return Mismatch(f"the record is not a decision: {error}")
        position = self._decider.position
        if recorded.sequence != position.sequence + 1:
            return Mismatch("decisions are missing", recorded.sequence, position.sequence + 1)
        if recorded.prev != position.chain:
            return Mismatch(
                "the hash chain is broken: the decision before this one was changed", recorded.prev, position.chain
            )
        cause = recorded.cause
        request = await requests.at(cause.offset or 0) if cause.kind == "request" else None
        decided = self._decide_again(cause, request, recorded.decided_at)
        if decided == value:
            self.state.commit()
            return None
        self.state.rollback()
        self._decider.position = position  # what was verified ends before this decision
        return decided if isinstance(decided, Mismatch) else _first_difference(value, decided)

    def _decide_again(self, cause: Cause, request: Record | None, now: Instant) -> bytes | Mismatch:
        if request is not None:
            return self._decider.request(request, now, behind=cause.behind).value
        if cause.kind == "tick":
            return self._decider.tick(cause.key or "", cause.due_at or 0, now, behind=cause.behind).value
        if cause.kind == "adoption":
            return self._decider.adoption(self._adopted(cause.rules), cause.versions, now).value
        return Mismatch(f"the input at offset {cause.offset} is not in the log any more")

    def _adopted(self, positions: dict[str, int]) -> list[tuple[int, RuleRecord]]:
        taken: list[tuple[int, RuleRecord]] = []
        left: list[tuple[int, RuleRecord]] = []
        for partition, record in self._rules:
            is_adopted = record.sequence <= positions.get(str(partition), 0)
            (taken if is_adopted else left).append((partition, record))
        self._rules = left
        return taken


class _Inputs:
    """The requests of a partition by offset, asked for in rising order."""

    def __init__(self, reader: Reader, partition: int) -> None:
        self._reader = reader
        self._partition = partition
        self._ahead: deque[Record] = deque()

    async def at(self, offset: int) -> Record | None:
        stalls = 0
        while not self._ahead or self._ahead[0].offset < offset:
            if self._ahead:
                self._ahead.popleft()
                continue
            if self._reader.position(self._partition) > offset or stalls > STALLS_MAX:
                return None
            found = await self._reader.poll(limit=BATCH, timeout_seconds=POLL_SECONDS)
            self._ahead.extend(found)
            stalls = 0 if found else stalls + 1
        return self._ahead[0] if self._ahead[0].offset == offset else None


def _first_difference(recorded: bytes, decided: bytes) -> Mismatch:
    """Return the first field that differs, by its path."""
    path, one, other = _differing(msgspec.json.decode(recorded), msgspec.json.decode(decided), "$")
    return Mismatch(f"this code decides differently at {path}", one, other)


def _differing(one: Any, other: Any, path: str) -> tuple[str, Any, Any]:
    if isinstance(one, dict) and isinstance(other, dict):
        for name in [*one, *(name for name in other if name not in one)]:
            if one.get(name) != other.get(name):
                return _differing(one.get(name), other.get(name), f"{path}.{name}")
    if isinstance(one, list) and isinstance(other, list):
        for index, (left, right) in enumerate(zip(one, other, strict=False)):
            if left != right:
                return _differing(left, right, f"{path}[{index}]")
    return path, one, other


def _located(topic: str, partition: int, record: Record, replay: Replay, mismatch: Mismatch) -> Difference:
    return Difference(
        topic=topic,
        partition=partition,
        offset=record.offset,
        sequence=replay.position.sequence + 1,
        what=mismatch.what,
        recorded=mismatch.recorded,
        decided=mismatch.decided,
    )
