"""How do many clients follow what happens in their companies? One task asks the database for all of them at once.

It asks after an announcement of the projector, so that an event costs one query, however many streams are open. Each stream
has a bounded queue: a client that does not read fast enough is let go, and resumes later where it was.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Protocol

import structlog
from prometheus_client import Gauge

from adapters.http.exchange.problems import ProblemError
from adapters.reads.ports import ReadsUnavailableError, Row

STREAMS_MAX = 400
"""Open streams of this process: under half of its connections, so that requests always find one."""

COMPANY_STREAMS_MAX = 200
"""Open streams of one company in this process: two companies with many agents leave room for no one to starve."""

WAITING_ROWS_MAX = 200
"""Rows that wait for one client: some 200 KB at most. A client this far behind is let go and resumes."""

BATCH_ROWS = 500
"""Rows of one company that one query returns; the rest follow with the next."""

GAP_SECONDS = 0.05
"""Between two queries: the projector announces up to 100 times a second, whatever it wrote."""

POLL_SECONDS = 1.0
"""Between two queries without an announcement; a lost one costs this much."""

RETRY_AFTER_SECONDS = 10

_RETRY_LATER = {"Retry-After": str(RETRY_AFTER_SECONDS)}

logger = structlog.get_logger(__name__)


class Announcements(Protocol):
    """Tells when the projector has written something.

    No contract suite: one adapter (`adapters.postgres.results.ResultWaiter`), tested with it.
    """

    async def next_announcement(self, seen: int, timeout_seconds: float) -> int:
        """Return how many announcements there were, once there are more than `seen` or after the timeout."""
        ...


class EventReads(Protocol):
    """The reads of events that streams need. They raise `ReadsUnavailableError`.

    No contract suite: one adapter (`adapters.postgres.reads.PostgresReads`), as for `Reads`.
    """

    async def agent_events(self, after: Mapping[int, int], limit: int) -> Sequence[Row]:
        """Return the events of each company (key) behind an event (value), in order; `limit` for each company."""
        ...

    async def newest_agent_event(self, company_id: int) -> int:
        """Return the id of the newest event of a company, 0 without any."""
        ...


class EventStream:
    """The rows that wait for one client."""

    def __init__(self, company_id: int, position: int) -> None:
        self.company_id = company_id
        self.position = position
        """Id of the newest event when the stream was opened."""
        self.is_closed = False
        self._rows: deque[Row] = deque()
        self._woken = asyncio.Event()

    def put(self, row: Row) -> None:
        """Add a row; a full queue closes the stream."""
        if len(self._rows) >= WAITING_ROWS_MAX:
            self.close()
        else:
            self._rows.append(row)
            self._woken.set()

    def close(self) -> None:
        """End the stream."""
        self.is_closed = True
        self._rows.clear()
        self._woken.set()

    async def take(self, timeout_seconds: float) -> Sequence[Row]:
        """Return the waiting rows, as soon as there are any or the stream is closed; none after the timeout."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                await self._woken.wait()
        self._woken.clear()
        found = tuple(self._rows)
        self._rows.clear()
        return found


class EventStreams:
    """The streams of one process. `close` ends all of them: call it before the server stops."""

    def __init__(self, reads: EventReads, announcements: Announcements, gauge: Gauge) -> None:
        self._reads = reads
        self._announcements = announcements
        self._streams: dict[int, set[EventStream]] = {}
        self._positions: dict[int, int] = {}
        """Company with a stream -> id of the newest event that its streams have."""
        self._counts: Counter[int] = Counter()
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False
        gauge.set_function(self._counts.total)

    @property
    def reads(self) -> EventReads:
        """Return what streams are read from."""
        return self._reads

    @asynccontextmanager
    async def open(self, company_id: int) -> AsyncIterator[EventStream]:
        """Open a stream for the block. Raises `ProblemError` rate_limited or streams_busy, `ReadsUnavailableError`."""
        self._admit(company_id)
        self._counts[company_id] += 1  # before the first await: of many that come at once, the limit admits so many
        stream = None
        try:
            newest = await self._reads.newest_agent_event(company_id)
            if self._is_closed:  # also by a stop during the read; a stream that opened now would hold that up
                raise ProblemError("streams_busy", "This process stops. Open the stream again.", headers=_RETRY_LATER)
            self._positions.setdefault(company_id, newest)
            stream = EventStream(company_id, newest)
            self._streams.setdefault(company_id, set()).add(stream)
            if self._task is None:
                self._task = asyncio.create_task(self._run(), name="follow agent events")
            yield stream
        finally:
            self._leave(company_id, stream)

    def close(self) -> None:
        """End every stream, admit no other and stop asking."""
        self._is_closed = True
        for stream in [one for streams in self._streams.values() for one in streams]:
            stream.close()
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _admit(self, company_id: int) -> None:
        if self._counts[company_id] >= COMPANY_STREAMS_MAX:
            detail = f"This company has {COMPANY_STREAMS_MAX} event streams open here. Close some."
            raise ProblemError("rate_limited", detail, headers=_RETRY_LATER)
        if self._counts.total() >= STREAMS_MAX:
            detail = "Other companies have all event streams open. Try again soon."
            raise ProblemError("streams_busy", detail, headers=_RETRY_LATER)

    def _leave(self, company_id: int, stream: EventStream | None) -> None:
        self._counts[company_id] -= 1
        if not self._counts[company_id]:
            del self._counts[company_id]
        streams = self._streams.get(company_id)
        if streams is not None and stream is not None:
            streams.discard(stream)
        if not streams:
            self._streams.pop(company_id, None)
            self._positions.pop(company_id, None)

    async def _run(self) -> None:
        heard = 0
        while True:
            heard = await self._announcements.next_announcement(heard, POLL_SECONDS)
            await asyncio.sleep(GAP_SECONDS)
            if self._positions:
                await self._hand_out()

    async def _hand_out(self) -> None:
        try:
            rows = await self._reads.agent_events(dict(self._positions), BATCH_ROWS)
        except ReadsUnavailableError as error:
            logger.debug("agent_events.unread", error=str(error))  # health and requests report it; the next query catches up
            return
        for row in rows:
            company_id = row["company_id"]
            if row["id"] <= self._positions.get(company_id, row["id"]):
                continue  # the last stream of the company closed meanwhile, or another opened behind this row
            self._positions[company_id] = row["id"]
            for stream in self._streams.get(company_id, ()):
                stream.put(row)
