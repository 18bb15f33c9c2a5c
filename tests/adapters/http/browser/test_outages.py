"""Does an open page say that the server or the database is away, keep what was typed, and go on by itself afterwards?"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from adapters.http.server import serving
from tests.adapters.http.browser.conftest import Window, Windows
from tests.adapters.http.browser.test_actions import ENDED, end_sessions, sign_in_again
from tests.adapters.http.conftest import Company, Town
from tests.adapters.http.test_console_changes import all_closed
from tests.databases import administer

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.browser]

NO_SERVER = "The server does not answer. What you typed is kept; this page goes on by itself once it does."
NO_DATABASE = "The database or the broker is away. What you typed is kept; try again in a moment."


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def town(own_town: Town) -> Town:
    """Alone: it takes server and database away."""
    return own_town


class Served:
    """A window of somebody who is signed in, and the server, which can stop and come back on its port."""

    def __init__(self, town: Town, stack: AsyncExitStack) -> None:
        self._town = town
        self._stack = stack
        self.port = 0
        self.window: Window

    async def start(self) -> None:
        self._town.reopen_streams()
        self.port = await self._stack.enter_async_context(serving(self._town.app, host="127.0.0.1", port=self.port))

    async def stop(self) -> None:
        self._town.app.end_streams()
        await self._stack.aclose()


@asynccontextmanager
async def served(town: Town, company: Company, chromium: Browser) -> AsyncIterator[Served]:
    """Serve the console until the block ends."""
    async with AsyncExitStack() as stack:
        found = Served(town, stack)
        await found.start()
        async with Windows(chromium, f"http://127.0.0.1:{found.port}").of(company) as found.window:
            yield found
        await all_closed(town)


@asynccontextmanager
async def database_away(postgres_dsn: str, name: str) -> AsyncIterator[None]:
    """Let a database take no connection, and end those that it has."""
    await administer(postgres_dsn, f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false")
    try:
        end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
        await administer(postgres_dsn, f"{end}'{name}'")
        yield
    finally:
        await administer(postgres_dsn, f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS true")


async def test_a_page_goes_on_once_the_server_is_back(town: Any, company: Any, chromium: Browser) -> None:
    async with served(town, company, chromium) as server:
        window = server.window
        leads = await window.open("/console/leads")
        today = await (await window.tab()).open("/console")
        await server.stop()
        await leads.get_by_role("searchbox").fill("typed")
        for tab in (leads, today):
            await expect(tab.get_by_text(NO_SERVER)).to_be_visible()
        await expect(leads.get_by_role("searchbox")).to_have_value("typed")
        window.expected("ERR_CONNECTION_REFUSED")

        await server.start()
        await expect(today.get_by_text(NO_SERVER)).to_have_count(0)
        await leads.get_by_role("searchbox").press("Enter")
        await expect(leads.get_by_text(NO_SERVER)).to_have_count(0)
        await leads.wait_for_url("**/console/leads?fulltext=typed")
        window.faults.clear()


async def test_a_form_that_meets_no_server_keeps_what_was_typed(town: Any, company: Any, chromium: Browser) -> None:
    made = await company.schedule(name="Winter")
    async with served(town, company, chromium) as server:
        window = server.window
        page = await window.open(f"/console/schedules/{made['id']}")
        await server.stop()
        await page.get_by_label("Zip code").fill("33101")
        await page.get_by_role("button", name="Pause").click()
        await expect(page.get_by_text(NO_SERVER)).to_be_visible()
        await expect(page.get_by_label("Zip code")).to_have_value("33101")
        window.expected("ERR_CONNECTION_REFUSED")

        await server.start()
        await page.get_by_role("button", name="Pause").click()
        await expect(page.get_by_text("Done: Pause.")).to_be_visible()
        window.faults.clear()


async def test_a_page_says_that_the_database_is_away_and_goes_on(
    town: Any, company: Any, chromium: Browser, postgres_dsn: str
) -> None:
    await company.schedule(name="Winter")
    name = await town.pool.fetchval("SELECT current_database()")
    async with served(town, company, chromium) as server:
        window = server.window
        today = await window.open("/console")
        leads = await (await window.tab()).open("/console/leads")
        async with database_away(postgres_dsn, name):
            await leads.get_by_role("searchbox").fill("typed")
            for tab in (today, leads):
                await expect(tab.get_by_text(NO_DATABASE)).to_be_visible()
            await expect(leads.get_by_role("searchbox")).to_have_value("typed")
            fresh = await (await window.tab()).open("/console/schedules")
            await expect(fresh.get_by_text("nothing that was accepted is lost")).to_be_visible()
            window.expected("503")
        await expect(today.get_by_text(NO_DATABASE)).to_have_count(0)
        await leads.get_by_role("searchbox").press("Enter")
        await leads.wait_for_url("**/console/leads?fulltext=typed")
        await fresh.reload()
        await expect(fresh.get_by_role("link", name="Winter")).to_be_visible()
        window.faults.clear()


async def test_a_form_that_meets_no_broker_keeps_what_was_typed(town: Any, company: Any, chromium: Browser) -> None:
    made = await company.schedule(name="Winter")
    async with served(town, company, chromium) as server:
        window = server.window
        page = await window.open(f"/console/schedules/{made['id']}")
        await page.get_by_label("Zip code").fill("33101")
        town.outage.topics = {"accounts.requests"}
        try:
            await page.get_by_role("button", name="Pause").click()
            await expect(page.get_by_text(NO_DATABASE)).to_be_visible()
            await expect(page.get_by_label("Zip code")).to_have_value("33101")
        finally:
            town.outage.topics = set()
        window.expected("503")
        await page.get_by_role("button", name="Pause").click()
        await expect(page.get_by_text("Done: Pause.")).to_be_visible()
        window.faults.clear()


async def test_what_is_typed_in_the_editor_outlives_an_outage_and_the_session(
    town: Any, company: Any, chromium: Any
) -> None:
    made = await company.schedule(steps=[{"id": "pause", "kind": "wait", "duration": "2h"}, {"id": "bye", "kind": "exit"}])
    async with served(town, company, chromium) as server:
        window = server.window
        page = await window.open(f"/console/schedules/{made['id']}/edit")
        await expect(page.get_by_text("No fault is found.")).to_be_visible()
        await server.stop()
        await page.get_by_label("name", exact=True).fill("Typed in the dark")
        await expect(page.get_by_text(NO_SERVER)).to_be_visible()
        await page.get_by_role("button", name="Publish").click()
        await expect(page.get_by_label("name", exact=True)).to_have_value("Typed in the dark")
        await server.start()
        await end_sessions(town, company)
        await page.get_by_role("button", name="Publish").click()
        await expect(page.get_by_text(ENDED)).to_be_visible()
        window.faults.clear()
        await sign_in_again(window, company)
        publish = page.get_by_role("button", name="Publish")
        await publish.click()
        await expect(page.get_by_text("What you typed is kept: send it once more.")).to_be_visible()
        await publish.click()
        await expect(page.get_by_role("heading", name="Typed in the dark")).to_be_visible()
        window.faults.clear()
