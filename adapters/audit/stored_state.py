"""Is the stored state the one that was decided? Each value, each waiting message and the position, against the fold.

The changelog is read once before the decisions, and compared when the fold is at the decision of its last position.
"""

import msgspec
from msgspec import Struct

from adapters.audit.difference import Checked, Difference
from adapters.audit.recorded import batches
from engine.partition.ports import Log, LogRecord
from engine.partition.state import State
from schemas.decisions import OutboxEntry, Position
from schemas.state import ENTITY_PREFIXES, OUTBOX_PREFIX, OWN_PREFIX, POSITION_KEY
from schemas.wire import UNREADABLE, digest


class StoredState(Struct):
    """The values of a changelog by key, as digests with the offset of the record, and its last position."""

    topic: str
    partition: int
    position: Position | None = None
    position_offset: int = 0
    values: dict[str, tuple[str, int]] = {}
    messages: dict[int, tuple[OutboxEntry | None, int]] = {}
    foreign: int = 0

    def compare(self, state: State, position: Position, messages: dict[int, OutboxEntry], known: set[str] | None) -> Checked:
        """Hold the values against those of the fold at the same decision.

        Where decisions are gone, `known` are the keys that decisions have set or removed since: others are not looked at.
        """
        is_whole = known is None
        looked_at = not_looked_at = 0
        difference: Difference | None = None
        folded = {key: digest(packed) for key, packed in state.items()}
        for key, (stored, offset) in self.values.items():
            decided = folded.pop(key, None)
            if known is not None and key not in known:
                not_looked_at += 1
                continue
            looked_at += 1
            if decided != stored:
                what = "no decision has set this value" if decided is None else "this is not the value that was decided"
                difference = difference or self._differs(key, offset, position, what)
        for key in folded if known is None else known & folded.keys():
            difference = difference or self._differs(
                key, self.position_offset, position, "a value that was decided is missing"
            )
        for number, (entry, offset) in self.messages.items():
            sent = messages.get(number)
            if sent is None and not is_whole:
                not_looked_at += 1
                continue
            looked_at += 1
            if entry != sent:
                what = "no decision has sent this message" if sent is None else "this is not the message that was decided"
                difference = difference or self._differs(f"{OUTBOX_PREFIX}{number}", offset, position, what)
        if is_whole:
            difference = difference or self._position(position)
        return Checked(looked_at=looked_at, not_looked_at=not_looked_at, foreign=self.foreign, difference=difference)

    def _position(self, folded: Position) -> Difference | None:
        if self.position is None or self.position == folded:
            return None
        stored = msgspec.structs.asdict(self.position)
        name = next(name for name, value in msgspec.structs.asdict(folded).items() if stored[name] != value)
        found = self._differs(POSITION_KEY, self.position_offset, folded, f"the position differs from the fold at {name}")
        return msgspec.structs.replace(found, recorded=stored[name], decided=getattr(folded, name))

    def _differs(self, key: str, offset: int, position: Position, what: str) -> Difference:
        return Difference(
            cause="state",
            topic=self.topic,
            partition=self.partition,
            offset=offset,
            sequence=position.sequence,
            what=what,
            key=key,
        )


async def read_stored_state(log: Log, topic: str, partition: int) -> StoredState:
    """Read a changelog to its present end. Raises `LogError`."""
    found = StoredState(topic, partition)
    reader = await log.reader(topic, [partition])
    try:
        async for batch in batches(reader, partition):
            for record in batch:  # also behind the last position: such records are restored all the same
                _apply(found, record)
    finally:
        await reader.close()
    return found


def _apply(found: StoredState, record: LogRecord) -> None:
    key = (record.key or b"").decode(errors="replace")
    if key == POSITION_KEY:
        found.position_offset = record.offset
        try:
            found.position = msgspec.msgpack.decode(record.value or b"", type=Position)
        except UNREADABLE:
            found.position = None
    elif key.startswith(OUTBOX_PREFIX) and (number := key.removeprefix(OUTBOX_PREFIX)).isdecimal():
        _apply_message(found, int(number), record)
    elif not key.startswith((*ENTITY_PREFIXES, OUTBOX_PREFIX)):
        found.foreign += not key.startswith(OWN_PREFIX)
    elif record.value is None:
        found.values.pop(key, None)
    else:
        found.values[key] = digest(record.value), record.offset


def _apply_message(found: StoredState, number: int, record: LogRecord) -> None:
    if record.value is None or number == 0:  # 0 is a mark of the runner
        found.messages.pop(number, None)
        return
    try:
        found.messages[number] = msgspec.msgpack.decode(record.value, type=OutboxEntry), record.offset
    except UNREADABLE:
        found.messages[number] = None, record.offset
