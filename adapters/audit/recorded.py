"""How is a partition read for an audit? Its decisions in batches, and the position committed with its state."""

from collections.abc import AsyncIterator

import msgspec

from engine.partition.ports import Log, LogError, LogRecord, Reader
from schemas.decisions import Position
from schemas.state import POSITION_KEY
from schemas.wire import UNREADABLE

BATCH = 1_000
POLL_SECONDS = 1.0
STALLS_MAX = 30
"""Empty polls in a row, of a second each, before `LogError`."""

TAIL_RECORDS = (100, 5_000)
"""Records at the end of a changelog to read before all of it: each committed transaction ends with the position."""


async def batches(reader: Reader, partition: int) -> AsyncIterator[list[LogRecord]]:
    """Yield the records from the reader's position to the present end. Raises `LogError` where the reader stalls."""
    end = await reader.end(partition)
    stalls = 0
    while reader.position(partition) < end:
        batch = await reader.poll(limit=BATCH, timeout_seconds=POLL_SECONDS)
        stalls = 0 if batch else stalls + 1
        if stalls > STALLS_MAX:
            raise LogError(f"the topic cannot be read to its end {end}")
        yield [record for record in batch if record.offset < end]


async def committed_position(log: Log, topic: str, partition: int) -> Position | None:
    """Return the last readable position in a changelog, or None. Raises `LogError`."""
    reader = await log.reader(topic, [partition])
    try:
        first, end = await reader.start(partition), await reader.end(partition)
        found = None
        for tail in (*TAIL_RECORDS, end - first):
            start = max(first, end - tail)
            await reader.seek(partition, start)
            found = await _last_position(reader, partition)
            if found is not None or start == first:
                break
    finally:
        await reader.close()
    try:
        return None if found is None else msgspec.msgpack.decode(found, type=Position)
    except UNREADABLE:
        return None


async def _last_position(reader: Reader, partition: int) -> bytes | None:
    found = None
    async for batch in batches(reader, partition):
        for record in batch:
            if record.key == POSITION_KEY.encode():
                found = record.value
    return found
