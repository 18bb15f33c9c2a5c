"""How are the recorded decisions of a partition read? In batches, up to the end that they have when the reading begins."""

from collections.abc import AsyncIterator

from engine.partition.ports import LogError, Reader, Record

BATCH = 1_000
POLL_SECONDS = 1.0
STALLS_MAX = 30
"""Empty polls in a row, a second each, after which the log is given up."""


async def batches(reader: Reader, partition: int) -> AsyncIterator[list[Record]]:
    """Yield the records in order. Raises `LogError` where the end cannot be reached."""
    end = await reader.end(partition)
    stalls = 0
    while reader.position(partition) < end:
        batch = await reader.poll(limit=BATCH, timeout_seconds=POLL_SECONDS)
        stalls = 0 if batch else stalls + 1
        if stalls > STALLS_MAX:
            raise LogError(f"the decisions cannot be read to their end {end}")
        yield [record for record in batch if record.offset < end]
