"""How do decided messages reach another partition? In number order, over and over until acknowledged.

One task per source partition. The receiver keeps a high-water mark of the stream, so a repeat is harmless. There must never
be a later message without an earlier one: a target partition gets its next batch only after its last was acknowledged.
"""

import asyncio
from collections.abc import Sequence

import structlog

from adapters.partitions.routing import partition_of
from engine.partition.ports import Appender, Log, LogError, Outgoing
from engine.partition.runner import Names
from schemas.decisions import OutboxEntry
from schemas.envelope import Envelope, to_headers

BATCH_MAX = 500
BACKOFF_FIRST_SECONDS = 0.1
BACKOFF_MAX_SECONDS = 5.0

logger = structlog.get_logger(__name__)


class OutboxSender:
    """Delivers the outbox of one source partition; keeps the promises of `engine.partition.ports.Outbox`."""

    def __init__(self, stream: str, *, log: Log, names: Names, appender: Appender) -> None:
        self._stream = stream
        self._log = log
        self._names = names
        self._appender = appender
        self._waiting: dict[int, OutboxEntry] = {}
        self._delivered: list[int] = []
        self._counts: dict[str, int] = {}
        self._wake = asyncio.Event()
        self._task = asyncio.create_task(self._run(), name=f"outbox {stream}")

    def offer(self, entries: Sequence[OutboxEntry]) -> None:
        """Take over committed entries; one that waits already is not taken twice."""
        self._waiting.update((entry.number, entry) for entry in entries)
        self._wake.set()

    def delivered(self) -> list[int]:
        """Return the numbers acknowledged since the last call."""
        delivered, self._delivered = self._delivered, []
        return delivered

    async def close(self) -> None:
        """Stop delivering; what was not acknowledged is offered again by the next owner."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        pause = BACKOFF_FIRST_SECONDS
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                while self._waiting:
                    await self._deliver(sorted(self._waiting)[:BATCH_MAX])
                pause = BACKOFF_FIRST_SECONDS
            except LogError as error:
                await logger.awarning("outbox waits", stream=self._stream, waiting=len(self._waiting), error=str(error))
                await asyncio.sleep(pause)
                pause = min(2 * pause, BACKOFF_MAX_SECONDS)
                self._wake.set()

    async def _deliver(self, numbers: Sequence[int]) -> None:
        """Deliver a batch, target partitions side by side, each in order. Raises `LogError` after all have answered."""
        targets: dict[tuple[str, int], list[int]] = {}
        for number in numbers:
            entry = self._waiting[number]
            targets.setdefault(await self._target(entry), []).append(number)
        answers = await asyncio.gather(
            *(self._append(partition, numbers) for (_, partition), numbers in targets.items()), return_exceptions=True
        )
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer

    async def _append(self, partition: int, numbers: Sequence[int]) -> None:
        await self._appender.append(partition, [self._outgoing(self._waiting[number]) for number in numbers])
        for number in numbers:
            del self._waiting[number]
        self._delivered += numbers

    async def _target(self, entry: OutboxEntry) -> tuple[str, int]:
        topic = self._names.of(entry.topic)
        if topic not in self._counts:
            self._counts[topic] = await self._log.partition_count(topic)
        return topic, partition_of(entry.key.encode(), self._counts[topic])

    def _outgoing(self, entry: OutboxEntry) -> Outgoing:
        envelope = Envelope(
            id=f"{self._stream}/{entry.number}",
            type=entry.type,
            source="/scheduler",
            stream=self._stream,
            number=entry.number,
        )
        return Outgoing(self._names.of(entry.topic), entry.key.encode(), entry.body, to_headers(envelope))
