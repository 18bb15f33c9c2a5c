"""Do the sessions of open pages cost one statement for all of them, and is none used long after its end?"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest

from adapters.http.exchange.session_reads import OPEN_MAX, OPEN_SECONDS, SHARED_SECONDS, SessionReads
from adapters.reads.ports import ReadsUnavailableError, SignIns, StoredSession, UserSession
from schemas.instant import EPOCH

HASH = "the hash of a token"


class Stored:
    """Sessions of a database that counts its statements, and a clock that stands still."""

    def __init__(self, *names: str) -> None:
        self.now = 100.0
        self.names = set(names)
        self.is_stale = False
        self.statements: list[tuple[str, ...]] = []
        self.touched: list[tuple[str, ...]] = []
        self.takes_seconds = 0.0
        self.is_away = False
        self.reads = SessionReads(cast("SignIns", self), lambda: self.now)

    async def find(self, name: str) -> StoredSession | None:
        return (await self.find_all((name,))).get(name)

    async def find_all(self, names: Sequence[str]) -> Mapping[str, StoredSession]:
        self.statements.append(tuple(names))
        found = {name: self._session(name) for name in names if name in self.names}
        await asyncio.sleep(0)
        self.now += self.takes_seconds
        if self.is_away:
            raise ReadsUnavailableError("away")
        return found

    async def touch(self, *names: str) -> None:
        self.touched.append(names)

    def _session(self, name: str) -> StoredSession:
        session = UserSession(id=name, token_sha256=HASH, company_id=1, user_id=1, credentials="c")
        return StoredSession(session=session, created_at=EPOCH, is_stale=self.is_stale)

    async def ask(self, *names: str) -> list[bool]:
        """Return which sessions are found, asked for by as many pages at once."""
        return [found is not None for found in await asyncio.gather(*(self.reads.find(name, HASH) for name in names))]


FIFTY = [f"ss_{number}" for number in range(50)]


async def test_fifty_pages_cost_one_statement_each_interval() -> None:
    stored = Stored(*FIFTY)
    await stored.ask(*FIFTY)
    stored.statements.clear()
    for _ in range(3):
        stored.now += SHARED_SECONDS
        assert await stored.ask(*FIFTY) == [True] * 50
    assert [sorted(statement) for statement in stored.statements] == [sorted(FIFTY)] * 3


@pytest.mark.parametrize(("seconds", "is_found"), [(0.0, True), (SHARED_SECONDS - 0.1, True), (SHARED_SECONDS, False)])
async def test_a_session_that_another_process_ended_is_refused_after_seconds(seconds: float, is_found: bool) -> None:
    stored = Stored("ss_1", "ss_2")
    await stored.ask("ss_1", "ss_2")
    stored.names.remove("ss_1")
    stored.now += seconds
    assert await stored.ask("ss_1", "ss_2") == [is_found, True]


async def test_a_session_that_was_ended_here_is_refused_at_once_also_while_it_is_read() -> None:
    stored = Stored("ss_1", "ss_2")
    await stored.ask("ss_1", "ss_2")
    stored.now += SHARED_SECONDS
    reading = asyncio.create_task(stored.ask("ss_2"))
    await asyncio.sleep(0)
    stored.names.remove("ss_1")
    stored.reads.forget("ss_1")
    assert await reading == [True]
    assert await stored.ask("ss_1") == [False]


async def test_nothing_rests_on_a_statement_that_took_too_long() -> None:
    stored = Stored("ss_1")
    await stored.ask("ss_1")
    stored.now += SHARED_SECONDS
    stored.takes_seconds = SHARED_SECONDS
    reading = asyncio.create_task(stored.ask("ss_1"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    stored.names.remove("ss_1")  # it ends while the statement runs, which still shows it
    assert await reading == [False]


async def test_who_has_not_the_token_shares_nothing_and_keeps_no_session_in_use() -> None:
    stored = Stored("ss_1")
    await stored.reads.find("ss_1", "another hash")
    stored.statements.clear()
    assert await stored.ask("ss_1") == [True]
    assert stored.statements == [("ss_1",)]
    stored.now += OPEN_SECONDS
    await stored.reads.find("ss_1", "another hash")
    await stored.reads.find("ss_2", HASH)
    assert stored.statements[1:] == [("ss_1",), ("ss_2",)]


async def test_a_closed_page_is_not_read_any_more() -> None:
    stored = Stored("ss_1", "ss_2")
    await stored.ask("ss_1", "ss_2")
    stored.now += OPEN_SECONDS
    stored.statements.clear()
    assert await stored.ask("ss_1") == [True]
    assert stored.statements == [("ss_1",)]


async def test_use_is_noted_by_one_statement_for_all() -> None:
    stored = Stored("ss_1", "ss_2", "ss_3")
    await stored.ask("ss_1", "ss_2")
    stored.is_stale = True
    stored.now += SHARED_SECONDS
    found = await asyncio.gather(*(stored.reads.find(name, HASH) for name in ("ss_1", "ss_2")))
    assert stored.touched == [("ss_1", "ss_2")]
    assert not any(cast("Any", one).is_stale for one in found)
    first = await stored.reads.find("ss_3", HASH)
    assert first is not None
    assert first.is_stale, "of a page that was just opened, the one who checks its token notes the use"


async def test_a_database_that_is_away_is_reported_to_each_page_and_tried_again() -> None:
    stored = Stored("ss_1")
    await stored.ask("ss_1")
    stored.now += SHARED_SECONDS
    stored.is_away = True
    answers = await asyncio.gather(*(stored.reads.find("ss_1", HASH) for _ in range(3)), return_exceptions=True)
    assert [type(one) for one in answers] == [ReadsUnavailableError] * 3
    stored.is_away = False
    assert await stored.ask("ss_1") == [True]


async def test_a_page_that_closes_ends_no_statement_of_the_others() -> None:
    stored = Stored("ss_1", "ss_2")
    await stored.ask("ss_1", "ss_2")
    stored.now += SHARED_SECONDS
    leaving, staying = (asyncio.create_task(stored.ask(name)) for name in ("ss_1", "ss_2"))
    await asyncio.sleep(0)
    leaving.cancel()
    assert await staying == [True]


async def test_one_page_too_many_reads_its_own_session() -> None:
    many = [f"ss_{number}" for number in range(OPEN_MAX + 1)]
    stored = Stored(*many)
    await stored.ask(*many)
    stored.statements.clear()
    assert all(await stored.ask(*many))
    assert len(stored.statements) == 1
    stored.now += OPEN_SECONDS
    await stored.ask("ss_new")
    stored.names.add("ss_new")
    assert await stored.ask("ss_new", "ss_new") == [True, True]
    stored.statements.clear()
    assert await stored.ask("ss_new") == [True]
    assert stored.statements == [], "closed pages make room"
