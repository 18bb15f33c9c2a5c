"""Are open pages notified once of a change, by one query for all of them, and in time where nothing is announced?"""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Gauge

from adapters.http.exchange import page_changes
from adapters.http.exchange.page_changes import (
    COMPANY_SECONDS,
    ROW_SECONDS,
    TICK_SECONDS,
    ChangeSource,
    PageChanges,
    PageStream,
)
from adapters.http.exchange.problems import ProblemError
from adapters.reads.ports import ReadsUnavailableError
from tests.pace import bound

COMPANY, LEAD, AGENT = ChangeSource("company", 1), ChangeSource("lead", 1, 7), ChangeSource("agent", 1, 8)
WAIT_SECONDS = bound(10.0)


class Written:
    """A projector whose announcements are looked at before the test goes on, and a clock that stands still."""

    def __init__(self) -> None:
        self.now = 100.0
        self.marks: dict[tuple[int, int], str] = {}
        self.asked: list[set[tuple[int, int]]] = []
        self.is_away = False
        self.announced = 0
        self._waits, self._wake = asyncio.Event(), asyncio.Event()
        gauge = Gauge("streams", "Streams", registry=CollectorRegistry())
        self.changes = PageChanges(self, self, lambda: self.now, gauge)

    async def lead_marks(self, leads: Collection[tuple[int, int]]) -> dict[tuple[int, int], str]:
        self.asked.append(set(leads))
        if self.is_away:
            raise ReadsUnavailableError("away")
        return {one: self.marks[one] for one in leads if one in self.marks}

    agent_marks = lead_marks

    async def next_announcement(self, seen: int, timeout_seconds: float) -> int:
        self.timeout_seconds = timeout_seconds
        self._waits.set()
        await self._wake.wait()
        self._wake.clear()
        return self.announced

    async def announce(self, *, number: int = 1) -> None:
        """Let the projector have written something, and the task have looked at that."""
        await self.look(number)

    async def look(self, number: int = 0) -> None:
        async with asyncio.timeout(WAIT_SECONDS):
            await self._waits.wait()
            self._waits.clear()
            self.announced += number
            self._wake.set()
            await self._waits.wait()


@pytest.fixture
async def written(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Written]:
    monkeypatch.setattr(page_changes, "GAP_SECONDS", 0.0)
    found = Written()
    yield found
    found.changes.close()


async def has_changed(stream: PageStream) -> bool:
    """Return whether a stream has a change that was not taken."""
    return await stream.wait(0)


@asynccontextmanager
async def following(written: Written, *sources: ChangeSource) -> AsyncIterator[list[PageStream]]:
    """Open a stream for each source, and take its first change."""
    async with AsyncExitStack() as stack:
        streams = [
            await stack.enter_async_context(written.changes.follow(source, number)) for number, source in enumerate(sources)
        ]
        await written.announce()
        for stream in streams:
            await has_changed(stream)
        written.asked.clear()
        yield streams


async def test_a_page_of_a_company_is_notified_every_few_seconds_at_most(written: Written) -> None:
    async with following(written, COMPANY) as (stream,):
        written.now += COMPANY_SECONDS - 0.1
        await written.announce()
        assert not await has_changed(stream)
        written.now += 0.1
        await written.look()  # no announcement is lost that came too early
        assert await has_changed(stream)
        await written.look()
        assert not await has_changed(stream)
    assert written.asked == [], "a company has no mark"


async def test_a_lead_is_notified_of_what_is_its_own_alone(written: Written) -> None:
    other = ChangeSource("lead", 1, 9)
    written.marks = {(1, 7): "1", (1, 9): "1"}
    async with following(written, LEAD, other, LEAD) as (first, stranger, second):
        written.now += ROW_SECONDS
        await written.announce()
        assert [await has_changed(one) for one in (first, stranger, second)] == [False, False, False]
        written.now += ROW_SECONDS
        written.marks[1, 7] = "2"
        await written.announce()
        assert [await has_changed(one) for one in (first, stranger, second)] == [True, False, True]
    assert written.asked == [{(1, 7), (1, 9)}] * 2, "one query for all leads"


async def test_leads_and_agents_are_looked_at_a_second_apart_however_much_is_announced(written: Written) -> None:
    async with following(written, LEAD, AGENT) as (lead, agent):
        for _ in range(8):
            written.now += ROW_SECONDS / 4
            written.marks[1, 7] = written.marks[1, 8] = str(written.now)
            await written.announce(number=3)
        assert await has_changed(lead)
        assert await has_changed(agent)
    assert len(written.asked) == 4, "two rounds, each of a query for the leads and one for the agents"


async def test_a_page_is_renewed_without_an_announcement_as_time_passes(written: Written) -> None:
    async with following(written, LEAD, AGENT) as streams:
        assert written.timeout_seconds == TICK_SECONDS, "the task sleeps as long"
        written.now += TICK_SECONDS
        await written.look()
        assert [await has_changed(one) for one in streams] == [True, True]
    assert written.asked == [], "no mark is read for that"


async def test_the_first_mark_counts_as_a_change_as_does_an_opening_of_a_lead(written: Written) -> None:
    async with written.changes.follow(LEAD, "ada") as stream:
        assert await has_changed(stream), "it may have changed since the page was made"
        await written.announce()
        assert await has_changed(stream), "and before its first mark was read"
        written.now += ROW_SECONDS
        await written.announce()
        assert not await has_changed(stream)


async def test_answers_of_before_a_change_are_not_of_now(written: Written) -> None:
    assert written.changes.fresh_since(COMPANY) == float("-inf")
    async with following(written, COMPANY):
        assert written.changes.fresh_since(COMPANY) == written.now
        written.now += COMPANY_SECONDS
        assert written.changes.fresh_since(COMPANY) < written.now
        await written.announce()
        assert written.changes.fresh_since(COMPANY) == written.now
        written.now += 1
        async with written.changes.follow(COMPANY, "another"):  # it may have lost a stream before
            assert written.changes.fresh_since(COMPANY) == written.now
    assert written.changes.fresh_since(COMPANY) == float("-inf")


async def test_a_page_that_opens_keeps_no_other_from_being_notified(written: Written) -> None:
    async with following(written, COMPANY) as (stream,):
        for _ in range(3):
            written.now += COMPANY_SECONDS / 2
            async with written.changes.follow(COMPANY, "passing"):
                await written.announce()
        assert await has_changed(stream)


async def test_a_database_that_is_away_is_asked_again_with_the_next_announcement(written: Written) -> None:
    async with following(written, LEAD) as (stream,):
        written.is_away = True
        written.now += ROW_SECONDS
        written.marks[1, 7] = "2"
        await written.announce()
        assert not await has_changed(stream)
        written.is_away = False
        written.now += ROW_SECONDS
        await written.announce()
        assert await has_changed(stream)


async def test_streams_are_limited_by_user_and_in_all_and_a_closed_one_is_free_again(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_changes, "USER_STREAMS_MAX", 2)
    monkeypatch.setattr(page_changes, "STREAMS_MAX", 3)
    async with written.changes.follow(COMPANY, "ada"), written.changes.follow(LEAD, "ada"):
        assert await refusal(written, "ada") == "rate_limited"
        async with written.changes.follow(COMPANY, "grace"):
            assert await refusal(written, "edsger") == "streams_busy"
        assert await refusal(written, "edsger") == ""
    assert await refusal(written, "ada") == ""


async def test_a_process_that_stops_ends_every_stream_at_once_and_admits_no_other(written: Written) -> None:
    async with following(written, COMPANY, LEAD) as streams:
        waiting = [asyncio.create_task(stream.wait(WAIT_SECONDS)) for stream in streams]
        written.changes.close()
        async with asyncio.timeout(WAIT_SECONDS / 2):
            assert await asyncio.gather(*waiting) == [False, False]
        assert all(stream.is_closed for stream in streams)
        assert await refusal(written, "late") == "streams_busy"


async def refusal(written: Written, user: Any) -> str:
    """Return the code with which a stream is refused; empty where it is opened."""
    try:
        async with written.changes.follow(COMPANY, user):
            return ""
    except ProblemError as error:
        return error.code
