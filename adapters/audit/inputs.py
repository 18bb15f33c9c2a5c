"""How does a replay read requests by offset? In rising order, ahead in batches."""

from collections import deque

from adapters.audit.recorded import BATCH, POLL_SECONDS, STALLS_MAX
from engine.partition.ports import LogRecord, Reader


class Inputs:
    """The requests of one partition; callers read rising offsets."""

    def __init__(self, reader: Reader, partition: int) -> None:
        self._reader = reader
        self._partition = partition
        self._ahead: deque[LogRecord] = deque()

    async def at(self, offset: int) -> LogRecord | None:
        """Return the request at an offset, or None where the log holds none. Raises `LogError`."""
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

    async def rewind(self, offset: int) -> None:
        """Read on from another offset: a recovery has set the input there. Raises `LogError`.

        The offset may be one of a topic that was lost later, and lie behind the end of this one.
        """
        self._ahead.clear()
        await self._reader.seek(self._partition, min(offset, await self._reader.end(self._partition)))

    async def is_deleted(self, offset: int) -> bool:
        """Return whether retention has deleted the record at an offset."""
        return offset < await self._reader.start(self._partition)
