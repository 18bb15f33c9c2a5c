"""How is a request appended to its topic? With its key, with the version of the rules read here, and in batches.

While an append to a partition runs, further requests wait and are then appended as one batch. Batches grow with the load,
and a single request does not wait.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol

from msgspec import Struct

from adapters.http.exchange.ports import EventsUnavailableError
from adapters.partitions.routing import partition_of
from adapters.reads.ports import Result
from engine.limits import RECORD_BYTES_MAX
from engine.partition.ports import Appender, Log, LogError, Outgoing, RecordRefusedError, record_bytes
from engine.partition.runner import TopicNames
from schemas.envelope import Envelope, to_headers
from schemas.instant import Instant
from schemas.requests import REQUEST_TYPES
from schemas.wire import Message, to_json

WAITING_MAX = 20_000
"""Requests that wait for their append in this process. More are refused at once, before the process runs out of memory."""

BATCH_MAX = 500
SUBMIT_SECONDS = 10.0
"""Longer than Kafka takes to elect a new leader, and about as long as clients wait."""

SOURCE = "/api"


class SeenRules(Protocol):
    """How far this process has read the rules.

    No contract suite: one adapter (`adapters.partitions.feed.RulesTopic`), tested in tests/adapters/partitions/test_feed.py.
    """

    def seen(self, company_id: int) -> tuple[int, int]:
        """Return the accounts partition of a company and the sequence up to which its rules are read."""
        ...


class PendingAppend(Struct):
    """A record that is not appended yet, and the future of the request that waits for it."""

    record: Outgoing
    done: "asyncio.Future[None]"


class LogRequests:
    """Implements `adapters.http.exchange.ports.Requests` over a log; `wait` waits for a result."""

    def __init__(
        self,
        log: Log,
        *,
        names: TopicNames,
        appender: Appender,
        rules: SeenRules,
        now: Callable[[], Instant],
        wait: Callable[[str, float], Awaitable[Result | None]],
    ) -> None:
        self._log = log
        self._names = names
        self._appender = appender
        self._rules = rules
        self._now = now
        self._wait = wait
        self._counts: dict[str, int] = {}
        self._waiting: dict[tuple[str, int], list[PendingAppend]] = {}
        self._sending: dict[tuple[str, int], asyncio.Task[None]] = {}
        self._waiting_count = 0

    async def submit(self, topic: str, key: str, message: Message, *, request_id: str, company_id: int) -> None:
        """Append a request; see the port."""
        if self._waiting_count >= WAITING_MAX:
            raise EventsUnavailableError(f"{WAITING_MAX} requests wait for the log")
        record = self._record(topic, key, message, request_id=request_id, company_id=company_id)
        size = record_bytes(record)
        if size > RECORD_BYTES_MAX:
            raise RecordRefusedError(f"the request would be a record of {size} bytes", index=0)
        done: asyncio.Future[None] | None = None
        try:
            async with asyncio.timeout(SUBMIT_SECONDS):
                partition = partition_of(key.encode(), await self._count(record.topic))
                done = self._enqueue(partition, record)
                await asyncio.shield(done)
        except RecordRefusedError:
            raise
        except (LogError, TimeoutError) as error:
            if done is not None:
                done.cancel()  # the client is answered "nothing was stored": do not append it unless that has begun
            raise EventsUnavailableError(str(error) or "the log did not answer in time") from error

    async def wait(self, request_id: str, timeout_seconds: float) -> Result | None:
        """Return the result of a request; see the port."""
        return await self._wait(request_id, timeout_seconds)

    async def close(self) -> None:
        """Wait for the running appends."""
        tasks = list(self._sending.values())
        await asyncio.gather(*tasks, return_exceptions=True)

    def _record(self, topic: str, key: str, message: Message, *, request_id: str, company_id: int) -> Outgoing:
        partition, sequence = self._rules.seen(company_id)
        envelope = Envelope(
            id=request_id,
            type=REQUEST_TYPES[type(message)],
            source=SOURCE,
            time=self._now(),
            rules_partition=partition,
            rules_sequence=sequence,
        )
        return Outgoing(self._names.of(topic), key.encode(), to_json(message), to_headers(envelope))

    async def _count(self, topic: str) -> int:
        if topic not in self._counts:
            self._counts[topic] = await self._log.partition_count(topic)
        return self._counts[topic]

    def _enqueue(self, partition: int, record: Outgoing) -> "asyncio.Future[None]":
        target = record.topic, partition
        pending = PendingAppend(record, asyncio.get_running_loop().create_future())
        self._waiting.setdefault(target, []).append(pending)
        self._waiting_count += 1
        if target not in self._sending:
            task = asyncio.create_task(self._send(target), name=f"submit {record.topic}[{partition}]")
            self._sending[target] = task
        return pending.done

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
