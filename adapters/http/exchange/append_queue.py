"""How are records appended in batches? While an append to a partition runs, further records wait and form the next batch.

Batches grow with the load, and a single record does not wait.
"""

import asyncio
from contextlib import suppress

from msgspec import Struct

from engine.partition.ports import Appender, Log, LogError, Outgoing, RecordRefusedError

BATCH_MAX = 500


class PendingAppend(Struct):
    """A record that is not appended yet, and the future of the request that waits for it.

    `is_sent`: the log has been given it, so that it may be stored whatever the future says.
    """

    record: Outgoing
    done: "asyncio.Future[None]"
    is_sent: bool = False


class AppendQueue:
    """The records that wait for their append, by topic and partition."""

    def __init__(self, log: Log, appender: Appender) -> None:
        self._log = log
        self._appender = appender
        self._counts: dict[str, int] = {}
        self._waiting: dict[tuple[str, int], list[PendingAppend]] = {}
        self._sending: dict[tuple[str, int], asyncio.Task[None]] = {}
        self._waiting_count = 0

    async def close(self) -> None:
        """Wait for the running appends."""
        tasks = list(self._sending.values())
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _count(self, topic: str) -> int:
        if topic not in self._counts:
            self._counts[topic] = await self._log.partition_count(topic)
        return self._counts[topic]

    def _enqueue(self, partition: int, record: Outgoing) -> PendingAppend:
        target = record.topic, partition
        pending = PendingAppend(record, asyncio.get_running_loop().create_future())
        self._waiting.setdefault(target, []).append(pending)
        self._waiting_count += 1
        if target not in self._sending:
            task = asyncio.create_task(self._send(target), name=f"submit {record.topic}[{partition}]")
            self._sending[target] = task
        return pending

    async def _send(self, target: tuple[str, int]) -> None:
        """Append all that waits for a partition of a topic, batch by batch."""
        try:
            while batch := self._waiting.get(target, [])[:BATCH_MAX]:
                del self._waiting[target][: len(batch)]
                self._waiting_count -= len(batch)
                if wanted := [pending for pending in batch if not pending.done.cancelled()]:
                    await self._append(target[1], wanted)
        finally:
            del self._sending[target]
            self._waiting.pop(target, None)

    async def _append(self, partition: int, batch: list[PendingAppend]) -> None:
        """Append a batch in order. Leave out a record that the log refuses for its size, and append the others."""
        for pending in batch:
            pending.is_sent = True
        while batch:
            try:
                await self._appender.append(partition, [pending.record for pending in batch])
            except RecordRefusedError as refused:
                index = refused.index or 0
                _settle(batch[: refused.appended], None)
                _settle([batch[index]], RecordRefusedError(str(refused), index=0))
                batch = batch[refused.appended : index] + batch[index + 1 :]
            except LogError as error:
                return _settle(batch, error)
            else:
                return _settle(batch, None)
        return None


def _settle(batch: list[PendingAppend], error: LogError | None) -> None:
    """Resolve the futures of these records."""
    for pending in batch:
        # A request may be gone: its time was up, or its connection ended.
        with suppress(asyncio.InvalidStateError):
            if error is None:
                pending.done.set_result(None)
            else:
                # A separate error for each request: raising one adds to its traceback.
                own = error if len(batch) == 1 else LogError(str(error), retryable=error.retryable)
                pending.done.set_exception(own)
                pending.done.exception()  # marks it as retrieved: asyncio warns of one that no request waits for
