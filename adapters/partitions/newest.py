"""When was the newest record of some topics appended? By the broker's clock, from the ends of their partitions."""

from collections.abc import Iterable

from engine.partition.ports import Log
from schemas.instant import Instant

BEHIND_END = 5
"""The last offsets of a partition are often those of commit markers, which hold no record."""

POLL_SECONDS = 2.0
LIMIT = 10_000


async def newest_append(log: Log, topics: Iterable[str]) -> Instant | None:
    """Return the latest append time near the ends of the topics, None where they are empty. Raises `LogError`."""
    found: Instant | None = None
    for topic in topics:
        partitions = range(await log.partition_count(topic))
        reader = await log.reader(topic, partitions)
        try:
            ends = {partition: await reader.end(partition) for partition in partitions}
            for partition, end in ends.items():
                await reader.seek(partition, max(await reader.start(partition), end - BEHIND_END))
            while any(reader.position(partition) < end for partition, end in ends.items()):
                records = await reader.poll(limit=LIMIT, timeout_seconds=POLL_SECONDS)
                found = max([record.appended_at for record in records] + ([] if found is None else [found]), default=None)
                if not records:
                    break
        finally:
            await reader.close()
    return found
