"""How is the record of a partition read? Its decisions in batches, and the position that it committed with its state."""

from collections.abc import AsyncIterator

import msgspec

from engine.partition.ports import Log, LogError, LogRecord, Reader
from schemas.decisions import Position
from schemas.state import POSITION_KEY
from schemas.wire import UNREADABLE

BATCH = 1_000
POLL_SECONDS = 1.0
STALLS_MAX = 30
"""Empty polls in a row, a second each, after which the log is given up."""

TAIL_RECORDS = (100, 5_000)
"""Of a changelog, read before all of it: the position is the last record of every transaction, if it was not aborted."""


async def batches(reader: Reader, partition: int) -> AsyncIterator[list[LogRecord]]:
    """Yield the records from where the reader is to the end that there is now. Raises `LogError` where it stalls."""
    end = await reader.end(partition)
    stalls = 0
    while reader.position(partition) < end:
        batch = await reader.poll(limit=BATCH, timeout_seconds=POLL_SECONDS)
        stalls = 0 if batch else stalls + 1
        if stalls > STALLS_MAX:
            raise LogError(f"the topic cannot be read to its end {end}")
        yield [record for record in batch if record.offset < end]


async def committed_position(log: Log, topic: str, partition: int) -> Position | None:
    """Return the last position in a changelog, or None where there is none that can be read. Raises `LogError`."""
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
