"""How does an open page learn that what it shows has changed? One task watches for all pages of this process.

A page follows a **change source**: its company, one lead or one agent. The task looks after an announcement of the
projector, which may be about anything. What a page shows of a company counts as changed then, every few seconds at most;
leads and agents are compared by their marks, all of them in one query. Time changes pages as well (a lead is due), so each
source also counts as changed after `TICK_SECONDS`.

A stream says that something changed, and not what: the page asks for its part, with its own rights. A second change before
that is the same to it, so nothing queues up.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Hashable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Literal, Protocol

import structlog
from msgspec import Struct
from prometheus_client import Gauge

from adapters.http.exchange.event_streams import Announcements
from adapters.http.exchange.problems import ProblemError
from adapters.reads.ports import ReadsUnavailableError

STREAMS_MAX = 300
"""Open pages of this process. Those of agents over the API may be 400, so that 300 of its 1,000 connections are left to
requests. A page beyond asks every few seconds instead."""

USER_STREAMS_MAX = 20
"""Open pages of one user in this process: more windows than anybody looks at. Pages that are hidden have no stream."""

COMPANY_SECONDS = 5.0
"""Between two changes of a company: its pages are sums over all of its leads."""

ROW_SECONDS = 1.0
"""Between two looks at a lead or an agent: a person sees a call ring within a second."""

TICK_SECONDS = 10.0
"""After this a page is renewed without an announcement: time passes, and a projector that stands still announces nothing."""

GAP_SECONDS = 0.2
"""Between two rounds of the task: the projector announces up to 100 times a second."""

RETRY_AFTER_SECONDS = 30

_RETRY_LATER = {"Retry-After": str(RETRY_AFTER_SECONDS)}

logger = structlog.get_logger(__name__)


class ChangeSource(Struct, frozen=True):
    """What a page is about: everything of a company, or one lead or agent of it."""

    kind: Literal["company", "lead", "agent"]
    company_id: int
    id: int = 0


Marks = Mapping[tuple[int, int], str]
"""Company and id -> a text that differs once something that the page shows of it has changed."""


class PageReads(Protocol):
    """The reads of marks. They raise `ReadsUnavailableError`.

    No contract suite: one adapter (`adapters.postgres.reads.PostgresReads`), as for `Reads`.
    """

    async def lead_marks(self, leads: Collection[tuple[int, int]]) -> Marks:
        """Return the mark of each lead (company, id): of itself, its contact and its calls."""
        ...

    async def agent_marks(self, agents: Collection[tuple[int, int]]) -> Marks:
        """Return the mark of each agent (company, id): of events for agents, and of its newest calls and their leads."""
        ...


class PageStream:
    """What one page is notified of."""

    def __init__(self) -> None:
        self.is_closed = False
        self._woken = asyncio.Event()
        self._has_changed = False

    def change(self) -> None:
        """Notify the page that its source has changed."""
        self._has_changed = True
        self._woken.set()

    def close(self) -> None:
        """End the stream."""
        self.is_closed = True
        self._woken.set()

    async def wait(self, timeout_seconds: float) -> bool:
        """Return whether the source has changed since the last call, at once if so, else after the timeout or a close."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                await self._woken.wait()
        self._woken.clear()
        has_changed, self._has_changed = self._has_changed, False
        return has_changed


class _Watched:
    """A source that some page is open on; instants are monotonic seconds."""

    def __init__(self, now: float) -> None:
        self.streams: set[PageStream] = set()
        self.mark: str | None = None
        self.fresh_since = now
        self.notified_at = now
        self.looked_at = float("-inf")
        self.is_announced = False

    def change(self, now: float) -> None:
        self.fresh_since = self.notified_at = now
        for stream in self.streams:
            stream.change()


class PageChanges:
    """The streams of one process. `close` ends all of them: call it before the server stops."""

    def __init__(self, reads: PageReads, announcements: Announcements, monotonic: Callable[[], float], gauge: Gauge) -> None:
        self._reads = reads
        self._announcements = announcements
        self._monotonic = monotonic
        self._watched: dict[ChangeSource, _Watched] = {}
        self._counts: Counter[Hashable] = Counter()
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False
        gauge.set_function(self._counts.total)

    def fresh_since(self, source: ChangeSource) -> float:
        """Return since when answers about a source are of now, in monotonic seconds; always where no page follows it."""
        watched = self._watched.get(source)
        return float("-inf") if watched is None else watched.fresh_since

    @asynccontextmanager
    async def follow(self, source: ChangeSource, user: Hashable) -> AsyncIterator[PageStream]:
        """Open a stream for the block. Raises `ProblemError` rate_limited or streams_busy."""
        self._admit(user)
        stream, now = PageStream(), self._monotonic()
        watched = self._watched.setdefault(source, _Watched(now))
        watched.fresh_since = now  # a page that lost a stream asks now, and must not get an older answer
        watched.streams.add(stream)
        if source.kind != "company":
            stream.change()  # it may have changed since the page was made, and no announcement need come soon
        self._counts[user] += 1
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="follow changes of pages")
        try:
            yield stream
        finally:
            self._leave(source, user, stream)

    def close(self) -> None:
        """End every stream, admit no other and stop looking."""
        self._is_closed = True
        for watched in self._watched.values():
            for stream in watched.streams:
                stream.close()
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _admit(self, user: Hashable) -> None:
        if self._is_closed:
            raise ProblemError("streams_busy", "This process stops. Open the stream again.", headers=_RETRY_LATER)
        if self._counts[user] >= USER_STREAMS_MAX:
            detail = f"You have {USER_STREAMS_MAX} pages open that follow changes. Close some."
            raise ProblemError("rate_limited", detail, headers=_RETRY_LATER)
        if self._counts.total() >= STREAMS_MAX:
            raise ProblemError("streams_busy", "Other pages follow changes here. Try again soon.", headers=_RETRY_LATER)

    def _leave(self, source: ChangeSource, user: Hashable, stream: PageStream) -> None:
        self._counts[user] -= 1
        if not self._counts[user]:
            del self._counts[user]
        watched = self._watched[source]
        watched.streams.discard(stream)
        if not watched.streams:
            del self._watched[source]

    async def _run(self) -> None:
        heard = 0
        while True:
            count = await self._announcements.next_announcement(heard, self._seconds_until_tick())
            if count != heard:
                heard = count
                for watched in self._watched.values():
                    watched.is_announced = True
            await self._look()
            await asyncio.sleep(GAP_SECONDS)

    def _seconds_until_tick(self) -> float:
        """Return how long nothing is due. An announcement that came too soon is looked at in a later round."""
        if any(watched.is_announced for watched in self._watched.values()):
            return GAP_SECONDS
        notified_at = min((watched.notified_at for watched in self._watched.values()), default=self._monotonic())
        return max(0.0, notified_at + TICK_SECONDS - self._monotonic())

    async def _look(self) -> None:
        """Notify the pages whose source has changed."""
        now = self._monotonic()
        changed = [source for source, watched in self._watched.items() if now - watched.notified_at >= TICK_SECONDS]
        announced = {source: watched for source, watched in self._watched.items() if watched.is_announced}
        for source, watched in announced.items():
            if source.kind == "company" and now - watched.notified_at >= COMPANY_SECONDS:
                watched.is_announced = False
                changed.append(source)
        rows = [one for one, seen in announced.items() if one.kind != "company" and now - seen.looked_at >= ROW_SECONDS]
        changed += await self._compare(rows, now)
        now = self._monotonic()  # what was read before the marks were may lack what they show
        for source in dict.fromkeys(changed):
            if source in self._watched:
                self._watched[source].change(now)

    async def _compare(self, sources: Iterable[ChangeSource], now: float) -> list[ChangeSource]:
        """Return the sources whose marks have changed, by one query for the leads and one for the agents."""
        changed = []
        for kind, read in (("lead", self._reads.lead_marks), ("agent", self._reads.agent_marks)):
            of_kind = [
                (source, self._watched[source]) for source in sources if source.kind == kind and source in self._watched
            ]
            if not of_kind:
                continue
            for _, watched in of_kind:  # before the query: what is announced meanwhile is looked at again
                watched.is_announced, watched.looked_at = False, now
            try:
                marks = await read({(source.company_id, source.id) for source, _ in of_kind})
            except ReadsUnavailableError as error:
                logger.debug(
                    "page_changes.unread", error=str(error)
                )  # health and requests report it; the next tick catches up
                continue
            for source, watched in of_kind:
                mark = marks.get((source.company_id, source.id), "")
                if mark != watched.mark:  # the first one, too: something may have changed before it was read
                    watched.mark = mark
                    changed.append(source)
        return changed
