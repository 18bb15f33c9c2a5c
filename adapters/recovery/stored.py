"""What does a changelog hold of one partition? Its values, its position, and the messages that wait in its outbox."""

import msgspec
from msgspec import Struct

from adapters.audit.recorded import batches
from engine.partition.ports import Log, LogRecord
from schemas.decisions import OutboxEntry, Position
from schemas.state import ENTITY_PREFIXES, OUTBOX_PREFIX, POSITION_KEY
from schemas.wire import UNREADABLE

STREAM_PREFIX = "stream/"


class StoredPartition(Struct):
    """The fold of one partition of a changelog; `values` are packed, by the key of their entity."""

    values: dict[str, bytes] = {}
    position: Position = Position()
    entries: dict[int, OutboxEntry] = {}

    def take(self, record: LogRecord) -> None:
        """Apply one record. Foreign ones are skipped, as the runner does."""
        try:
            key = (record.key or b"").decode()
            if key == POSITION_KEY:
                self.position = msgspec.msgpack.decode(record.value or b"", type=Position)
            elif key.startswith(OUTBOX_PREFIX):
                self._take_entry(int(key.removeprefix(OUTBOX_PREFIX)), record.value)
            elif key.startswith(ENTITY_PREFIXES):
                if record.value is None:
                    self.values.pop(key, None)
                else:
                    self.values[key] = record.value
        except (*UNREADABLE, ValueError):
            return

    def _take_entry(self, number: int, packed: bytes | None) -> None:
        if packed is None:
            self.entries.pop(number, None)
        else:
            self.entries[number] = msgspec.msgpack.decode(packed, type=OutboxEntry)


async def read_stored(log: Log, topic: str, partition: int) -> StoredPartition:
    """Read a partition of a changelog to its present end. Raises `LogError`."""
    stored = StoredPartition(values={}, entries={})
    reader = await log.reader(topic, [partition])
    try:
        async for batch in batches(reader, partition):
            for record in batch:
                stored.take(record)
    finally:
        await reader.close()
    return stored
