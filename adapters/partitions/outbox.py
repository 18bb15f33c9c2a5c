"""How do outbox messages reach another partition? In number order, retried until acknowledged.

One task per target partition: one that is far behind or away delays no message to another. The receiver stores a high-water
mark of the stream, so a repeat is harmless. There must never be a later message without an earlier one: a target partition
gets its next batch only after its last was acknowledged. So companies cannot share fairly towards one partition.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

import msgspec
import structlog

from adapters.partitions.dead_letters import append_dead_letters
from adapters.partitions.routing import partition_of
from adapters.retry import retry
from engine.partition.deadletters import dead_letter
from engine.partition.ports import Appender, Log, LogError, LogRecord, Outgoing, RecordRefusedError
from engine.partition.runner import TopicNames
from schemas.decisions import OutboxEntry
from schemas.envelope import Envelope, to_headers
from schemas.instant import EPOCH
from schemas.topics import DEADLETTER

T = TypeVar("T")

Target = tuple[str, int]
"""A topic and a partition of it."""

BATCH_MAX = 500
BACKOFF_FIRST_SECONDS = 0.1
BACKOFF_MAX_SECONDS = 1.0

logger = structlog.get_logger(__name__)


class OutboxSender:
    """Delivers the outbox of one source partition; implements `engine.partition.ports.Outbox`."""

    def __init__(self, stream: str, *, log: Log, names: TopicNames, appender: Appender) -> None:
        self._stream = stream
        self._log = log
        self._names = names
        self._appender = appender
        self._waiting: dict[int, OutboxEntry] = {}
        self._offered: deque[int] = deque()
        """Numbers of those that are in no queue yet."""
        self._queues: dict[Target, set[int]] = {}
        """By target, where messages wait for it; a task sends each queue."""
        self._delivered: list[int] = []
        self._partition_counts: dict[str, int] = {}
        self._wake = asyncio.Event()
        self._tasks = {asyncio.create_task(self._run(), name=f"outbox {stream}")}

    def offer(self, entries: Sequence[OutboxEntry]) -> None:
        """Add committed entries; ignore those that wait already."""
        new = {entry.number: entry for entry in entries if entry.number not in self._waiting}
        self._waiting.update(new)
        self._offered += sorted(new)
        self._wake.set()

    def delivered(self) -> list[int]:
        """Return the numbers acknowledged since the last call."""
        delivered, self._delivered = self._delivered, []
        return delivered

    async def close(self) -> None:
        """Stop delivering; what was not acknowledged is offered again by the next owner."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self) -> None:
        """Move what is offered to the queues of its targets."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._offered:
                entry = self._waiting[self._offered[0]]
                topic = self._names.of(entry.topic)
                if topic not in self._partition_counts:
                    await self._retry(partial(self._partition_count, topic))
                target = topic, partition_of(entry.key.encode(), self._partition_counts[topic])
                self._enqueue(target, self._offered.popleft())

    def _enqueue(self, target: Target, number: int) -> None:
        queue = self._queues.get(target)
        if queue is not None:
            queue.add(number)
            return
        self._queues[target] = {number}
        task = asyncio.create_task(self._send(target), name=f"outbox {self._stream} to {target[0]}/{target[1]}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(self, target: Target) -> None:
        """Send the messages of one queue, in order, until it is empty."""
        queue = self._queues[target]
        while queue:
            await self._retry(partial(self._append_first, target[1], queue))
            queue.intersection_update(self._waiting)
        del self._queues[target]

    async def _append_first(self, partition: int, queue: set[int]) -> None:
        await self._append(partition, sorted(queue.intersection(self._waiting))[:BATCH_MAX])

    async def _retry(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Return what an attempt returns; retry on errors of the log for as long as they last."""
        return await retry(
            partial(self._attempt, attempt),
            on=lambda error: isinstance(error, LogError),
            first_seconds=BACKOFF_FIRST_SECONDS,
            max_seconds=BACKOFF_MAX_SECONDS,
            jitter_seconds=0.0,
        )

    async def _attempt(self, attempt: Callable[[], Awaitable[T]]) -> T:
        try:
            return await attempt()
        except LogError as error:
            await logger.awarning("outbox.delayed", stream=self._stream, waiting=len(self._waiting), error=str(error))
            raise

    async def _append(self, partition: int, numbers: Sequence[int]) -> None:
        """Append messages in order. One that the log refuses for its size becomes a dead letter, and the others go on."""
        while numbers:
            records = [self._outgoing(self._waiting[number]) for number in numbers]
            try:
                await self._appender.append(partition, records)
            except RecordRefusedError as refused:
                place = refused.index or 0
                self._acknowledge(numbers[: refused.appended])
                await self._dead_letter_message(records[place], partition, str(refused))
                self._acknowledge([numbers[place]])
                numbers = [*numbers[refused.appended : place], *numbers[place + 1 :]]
            else:
                self._acknowledge(numbers)
                return

    def _acknowledge(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            del self._waiting[number]
        self._delivered += numbers

    async def _dead_letter_message(self, message: Outgoing, partition: int, why: str) -> None:
        """Send a message that no partition takes to `deadletter`: redriven, it goes to its target partition."""
        await logger.aerror("message.refused", stream=self._stream, topic=message.topic, error=why)
        never_appended = LogRecord(message.topic, partition, -1, message.key, message.value, message.headers, EPOCH)
        record = msgspec.structs.replace(
            dead_letter(never_appended, "too_large", why), topic=self._names.of(DEADLETTER.name)
        )
        await append_dead_letters(self._appender, partition % await self._partition_count(record.topic), [record])

    async def _partition_count(self, topic: str) -> int:
        if topic not in self._partition_counts:
            self._partition_counts[topic] = await self._log.partition_count(topic)
        return self._partition_counts[topic]

    def _outgoing(self, entry: OutboxEntry) -> Outgoing:
        envelope = Envelope(
            id=f"{self._stream}/{entry.number}",
            type=entry.type,
            source="/scheduler",
            stream=self._stream,
            number=entry.number,
        )
        return Outgoing(self._names.of(entry.topic), entry.key.encode(), entry.body, to_headers(envelope))
