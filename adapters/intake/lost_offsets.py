"""Is a committed offset of an inbox missing because nothing was ever read, or because it was lost? The changelog says.

The schedulers' state holds, for each partition of an inbox, the number of its newest decided record. Where that exists and
the offset does not, starting at 0 would pass everything on again and delay new leads: the partition stops.
"""

from collections.abc import AsyncIterator, Callable

import msgspec

from adapters.intake.adopted import Checkpoints
from adapters.intake.intake import BATCH_MAX, stream_of
from adapters.partitions.checkpoint import Checkpoint
from engine.partition.ports import Log, LogError, LogRecord, Reader
from engine.partition.runner import TopicNames
from schemas.state import Stream, stream_key
from schemas.topics import CONTACTS_STATE, Topic
from schemas.wire import from_pack

WINDOW_RECORDS = 20_000
"""Read from the end of a changelog first: a number that changes with each record lies there. Each further window is four
times as large."""

POLL_RECORDS = 1_000
POLL_SECONDS = 1.0


class VerifiedCheckpoints:
    """The checkpoints of the group of an inbox; a missing one is verified before it is believed."""

    def __init__(
        self,
        inbox: Topic,
        checkpoints: Checkpoints,
        log: Log,
        names: TopicNames,
        *,
        restore_command: Callable[[int, int], str] | None,
    ) -> None:
        """`restore_command` returns the command that restores an offset of a partition; None restores it at once."""
        self._inbox = inbox
        self._checkpoints = checkpoints
        self._log = log
        self._names = names
        self._restore_command = restore_command

    async def save_checkpoint(self, partition: int, checkpoint: Checkpoint) -> None:
        """Commit an offset with a note, now. Raises `LogError`."""
        await self._checkpoints.save_checkpoint(partition, checkpoint)

    async def load_checkpoint(self, partition: int) -> Checkpoint | None:
        """Return the last checkpoint, or None where nothing was ever read.

        Raises `LogError`; not retryable where the offset was lost: it names the command that restores it.
        """
        checkpoint = await self._checkpoints.load_checkpoint(partition)
        if checkpoint is not None:
            return checkpoint
        offset = await find_safe_offset(self._inbox, self._log, self._names, partition)
        if offset is None:
            return None
        if self._restore_command is None:
            return Checkpoint(offset)
        topic = self._names.of(self._inbox.name)
        raise LogError(
            f"the committed offset of {topic}[{partition}] is lost, though records of it were decided: stop every "
            f"`leadclock intake`, run `{self._restore_command(partition, offset)}`, and start them again",
            retryable=False,
        )


async def find_safe_offset(inbox: Topic, log: Log, names: TopicNames, partition: int) -> int | None:
    """Return an offset of a partition of an inbox before which every record was passed on; None where none was decided.

    It may be early by a batch or more: a record that is passed on twice is refused as a repeat. Raises `LogError`.
    """
    topic = names.of(inbox.name)
    reader = await log.reader(topic, [partition])
    try:
        if await reader.end(partition) == 0:
            return None
        decided = await _newest_decided(log, names, stream_of(inbox, await log.topic_id(topic), partition))
        return None if decided is None else await _batch_before(reader, partition, decided)
    finally:
        await reader.close()


async def _newest_decided(log: Log, names: TopicNames, stream: str) -> int | None:
    """Return the newest number of a stream in the state of all partitions of the contacts."""
    topic, key = names.of(CONTACTS_STATE.name), stream_key(stream).encode()
    newest: int | None = None
    for partition in range(await log.partition_count(topic)):
        reader = await log.reader(topic, [partition])
        try:
            number = await _number(reader, partition, key)
        finally:
            await reader.close()
        if number is not None:
            newest = number if newest is None else max(newest, number)
    return newest


async def _number(reader: Reader, partition: int, key: bytes) -> int | None:
    start, upper, size = await reader.start(partition), await reader.end(partition), WINDOW_RECORDS
    while upper > start:
        lower = max(start, upper - size)
        found: int | None = None
        async for record in _between(reader, partition, lower, upper):
            if record.key == key:
                found = _decoded(record.value, found)
        if found is not None:
            return found
        upper, size = lower, 4 * size
    return None


def _decoded(value: bytes | None, before: int | None) -> int | None:
    try:
        return before if value is None else from_pack(value, Stream).number
    except msgspec.DecodeError:
        return before  # not ours; the scheduler of that partition reports it


async def _batch_before(reader: Reader, partition: int, newest: int) -> int:
    """Return an offset that lies a whole batch of intake before its newest record that was decided.

    Records of a batch are passed on in any order, the batches one after the other. Offsets without a record (transactions of
    producers take some) count for none.
    """
    start, size = await reader.start(partition), BATCH_MAX
    while True:
        lower = max(start, newest + 1 - size)
        count = 0
        async for _ in _between(reader, partition, lower, newest + 1):
            count += 1
        if count >= BATCH_MAX or lower == start:
            return lower
        size *= 2


async def _between(reader: Reader, partition: int, lower: int, upper: int) -> AsyncIterator[LogRecord]:
    """Iterate over the records from one offset up to another, which the log has reached. Raises `LogError`."""
    await reader.seek(partition, lower)
    while reader.position(partition) < upper:
        records = await reader.poll(limit=POLL_RECORDS, timeout_seconds=POLL_SECONDS)
        if not records:
            await reader.end(partition)  # raises where silence means that the log is away
        for record in records:
            if record.offset < upper:
                yield record
