"""How is a request appended to its topic? With its key, with the version of the rules read here, and in batches."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from msgspec import structs

from adapters.http.exchange.append_queue import AppendQueue, PendingAppend
from adapters.http.exchange.ports import EventsUnavailableError, UnconfirmedError
from adapters.observability.trace_ids import HTTP_PARENT
from adapters.observability.traces import Traces
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


class LogRequests(AppendQueue):
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
        traces: Traces | None = None,
    ) -> None:
        super().__init__(log, appender)
        self._names = names
        self._rules = rules
        self._now = now
        self._wait = wait
        self._traces = traces

    async def submit(
        self,
        topic: str,
        key: str,
        message: Message,
        *,
        request_id: str,
        company_id: int,
        actor: str | None = None,
        source: str = SOURCE,
    ) -> None:
        """Append a request; see the port."""
        if self._waiting_count >= WAITING_MAX:
            raise EventsUnavailableError(f"{WAITING_MAX} requests wait for the log")
        envelope = self._envelope(message, request_id=request_id, company_id=company_id, actor=actor, source=source)
        if self._traces is None:
            await self._submit(topic, key, message, envelope)
            return
        with self._traces.passing_on(f"append {envelope.type}", HTTP_PARENT.get(), self._names.of(topic)) as traceparent:
            await self._submit(topic, key, message, structs.replace(envelope, traceparent=traceparent))

    async def _submit(self, topic: str, key: str, message: Message, envelope: Envelope) -> None:
        record = Outgoing(self._names.of(topic), key.encode(), to_json(message), to_headers(envelope))
        size = record_bytes(record)
        if size > RECORD_BYTES_MAX:
            raise RecordRefusedError(f"the request would be a record of {size} bytes", index=0)
        pending: PendingAppend | None = None
        try:
            async with asyncio.timeout(SUBMIT_SECONDS):
                partition = partition_of(key.encode(), await self._count(record.topic))
                pending = self._enqueue(partition, record)
                await asyncio.shield(pending.done)
        except RecordRefusedError:
            raise
        except (LogError, TimeoutError) as error:
            text = str(error) or "the log did not answer in time"
            if pending is not None and pending.is_sent:
                raise UnconfirmedError(text) from error
            if pending is not None:
                pending.done.cancel()  # the client is answered "nothing was stored"
            raise EventsUnavailableError(text) from error

    async def partition_count(self, topic: str) -> int:
        """Return how many partitions a topic has; see the port."""
        try:
            async with asyncio.timeout(SUBMIT_SECONDS):
                return await self._count(self._names.of(topic))
        except (LogError, TimeoutError) as error:
            raise EventsUnavailableError(str(error) or "the log did not answer in time") from error

    async def wait(self, request_id: str, timeout_seconds: float) -> Result | None:
        """Return the result of a request; see the port."""
        return await self._wait(request_id, timeout_seconds)

    def _envelope(self, message: Message, *, request_id: str, company_id: int, actor: str | None, source: str) -> Envelope:
        partition, sequence = self._rules.seen(company_id)
        return Envelope(
            id=request_id,
            type=REQUEST_TYPES[type(message)],
            source=source,
            time=self._now(),
            rules_partition=partition,
            rules_sequence=sequence,
            actor=actor,
        )
