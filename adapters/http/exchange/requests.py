"""How does a request get onto its topic? Keyed, numbered with the rules seen here, and together with its neighbours.

While one append to a partition is under way, what comes next waits and is then appended at once as one batch: the more
there is to do, the larger the batches, and a lone request waits for nobody.
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
"""Requests waiting for their append in this process; more are refused at once, before memory is the next to fail."""

BATCH_MAX = 500
SUBMIT_SECONDS = 10.0
"""Longer than a broker takes to elect a new leader; a sender's own patience ends about there too."""

SOURCE = "/api"


class SeenRules(Protocol):
    """How far the rules were read here."""

    def seen(self, company_id: int) -> tuple[int, int]:
        """Return the accounts partition of a company and the sequence up to which its rules were read."""
        ...


class PendingAppend(Struct):
    """One record on its way, and who waits for it."""

    record: Outgoing
    done: "asyncio.Future[None]"


class LogRequests:
    """Keeps the promises of `adapters.http.exchange.ports.Requests` over a log; `wait` is how a result is waited for."""

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
                done.cancel()  # its sender is told that nothing was stored: unless it is on its way already, it stays here
            raise EventsUnavailableError(str(error) or "the log did not answer in time") from error

    async def wait(self, request_id: str, timeout_seconds: float) -> Result | None:
        """Return what came of a request; see the port."""
        return await self._wait(request_id, timeout_seconds)

    async def close(self) -> None:
        """Let what is being appended finish."""
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
        place = record.topic, partition
        waiting = PendingAppend(record, asyncio.get_running_loop().create_future())
        self._waiting.setdefault(place, []).append(waiting)
        self._waiting_count += 1
        if place not in self._sending:
            task = asyncio.create_task(self._send(place), name=f"submit {record.topic}[{partition}]")
            self._sending[place] = task
        return waiting.done

    async def _send(self, place: tuple[str, int]) -> None:
        try:
            while batch := self._waiting.get(place, [])[:BATCH_MAX]:
                del self._waiting[place][: len(batch)]
                self._waiting_count -= len(batch)
                if wanted := [waiting for waiting in batch if not waiting.done.cancelled()]:
                    await self._append(place[1], wanted)
        finally:
            del self._sending[place]
            self._waiting.pop(place, None)

    async def _append(self, partition: int, batch: list[PendingAppend]) -> None:
        """Append a batch in order. A record that the log refuses for its size is left out; the others are appended."""
        while batch:
            try:
                await self._appender.append(partition, [waiting.record for waiting in batch])
            except RecordRefusedError as refused:
                place = refused.index or 0
                _settle(batch[: refused.appended], None)
                _settle([batch[place]], RecordRefusedError(str(refused), index=0))
                batch = batch[refused.appended : place] + batch[place + 1 :]
            except LogError as error:
                return _settle(batch, error)
            else:
                return _settle(batch, None)
        return None


def _settle(batch: list[PendingAppend], error: LogError | None) -> None:
    """Tell those who wait for these records what came of them."""
    for waiting in batch:
        # Who waited may have gone: its time was up, or its connection ended.
        with suppress(asyncio.InvalidStateError):
            if error is None:
                waiting.done.set_result(None)
            else:
                # A separate error for each waiter: raising one adds to its traceback.
                own = error if len(batch) == 1 else LogError(str(error), retryable=error.retryable)
                waiting.done.set_exception(own)
                waiting.done.exception()  # noted, so that nobody is warned of one that nobody waited for
