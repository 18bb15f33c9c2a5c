"""What did a partition decide? The fold of its decisions: its state, its position, and each message that it has sent.

Every decision records each change of state, so the changelog can be made again from them, from the first one on.
"""

import msgspec
from msgspec import Struct

from adapters.audit.recorded import batches
from engine.partition.decider import advanced, outbox_entry
from engine.partition.ports import Log, LogRecord
from schemas.decisions import REMOVED, Change, Decision, OutboxEntry, Position
from schemas.errors import DependencyError
from schemas.records import Record
from schemas.state import kind_of
from schemas.wire import UNREADABLE, from_json, to_pack

_DECISION = msgspec.json.Decoder(Decision)


class NotRecoverableError(DependencyError):
    """What was lost cannot be made again from what the log holds; `str(error)` says why and what is left to do."""


class FoldedPartition(Struct):
    """The state after the last decision; all messages that were sent, records that were published and requests, in order.

    `requests` are the offset and digest of each request since the last recovery. `begins_at` is the number of the first
    decision that the log holds: above 1 the state is not whole.
    """

    values: dict[str, bytes] = {}
    position: Position = Position()
    messages: dict[int, OutboxEntry] = {}
    records: list[Record] = []
    requests: list[tuple[int, str]] = []
    begins_at: int = 1

    def take(self, decision: Decision, value: bytes) -> None:
        """Apply one decision, which must follow the one before. Raises `ValueError` where it does not."""
        if decision.sequence != self.position.sequence + 1 or decision.prev != self.position.chain:
            raise ValueError(f"decision {decision.sequence} does not follow decision {self.position.sequence}")
        for change in decision.changes:
            self._change(change)
        for sent in decision.messages:
            self.messages[sent.number] = outbox_entry(sent)
        cause = decision.cause
        if cause.recovery is not None:
            self.requests.clear()
        elif cause.offset is not None:
            self.requests.append((cause.offset, cause.digest or ""))
        self.position = advanced(self.position, decision, value)

    def _change(self, change: Change) -> None:
        if change.value == REMOVED:
            self.values.pop(change.key, None)
            return
        entity = from_json(bytes(change.value), kind_of(change.key))
        self.values[change.key] = to_pack(entity)
        if isinstance(entity, Record):
            self.records.append(entity)


async def fold_decisions(log: Log, topic: str, partition: int) -> FoldedPartition:
    """Fold the decisions of a partition to their present end. Raises `LogError`, `NotRecoverableError`."""
    folded = FoldedPartition(values={}, messages={}, records=[], requests=[])
    reader = await log.reader(topic, [partition])
    try:
        async for batch in batches(reader, partition):
            for record in batch:
                _fold(folded, record)
    finally:
        await reader.close()
    return folded


def _fold(folded: FoldedPartition, record: LogRecord) -> None:
    value = record.value or b""
    try:
        decision = _DECISION.decode(value)
        if _begins_behind_a_gap(folded.position.sequence, decision):
            folded.begins_at = decision.sequence
            folded.position = Position(sequence=decision.sequence - 1, chain=decision.prev)
        folded.take(decision, value)
    except (*UNREADABLE, ValueError, KeyError) as error:
        place = f"{record.topic}[{record.partition}]"
        raise NotRecoverableError(
            f"{place} cannot be folded at offset {record.offset} ({error}): `leadclock audit verify` shows it"
        ) from error


def _begins_behind_a_gap(sequence: int, decision: Decision) -> bool:
    """Return whether the decisions before this one are gone: retention took them, or a recovery has settled their loss."""
    is_first = sequence == 0 and decision.sequence > 1
    return is_first or (decision.cause.recovery is not None and decision.sequence > sequence + 1)
