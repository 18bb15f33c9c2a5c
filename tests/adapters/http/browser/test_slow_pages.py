"""Does a page whose answer takes long show at once that it works, and then what it found, of how many?"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any

import pytest
from playwright.async_api import expect

from adapters.http.console import shared_answers, today_page
from tests.adapters.http.browser.conftest import Windows
from tests.adapters.http.furnished import NUMBER, submit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.browser]

THERE_SECONDS = 1.0
BUSY_SECONDS = 4.0
"""Longer than a page may take on a busy machine, shorter than a statement may wait for a lock."""


@asynccontextmanager
async def read_slowly(town: Any, table: str = "leads") -> AsyncIterator[None]:
    """Let every statement that reads a table wait, as in a company of many millions."""
    async with town.pool.acquire() as connection, connection.transaction():
        await connection.execute(f"LOCK TABLE read.{table} IN ACCESS EXCLUSIVE MODE")
        yield


async def test_today_is_there_within_a_second_and_its_parts_come_later(
    town: Any, company: Any, windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(today_page, "LOAD_SECONDS", 0.5)
    monkeypatch.setattr(shared_answers, "SHARED_SECONDS", 0.0)  # nothing is left of the page that the sign-in led to
    await submit(company, await company.schedule(name="Winter", paused=True), NUMBER, full_name="Ada Lovelace")
    async with windows.of(company) as window:
        async with read_slowly(town, "calls"):
            began = monotonic()
            page = await window.open("/console")
            await expect(page.get_by_role("heading", name="Today")).to_be_visible()
            assert monotonic() - began < THERE_SECONDS + BUSY_SECONDS, "and no statement about calls was answered"
            await expect(page.get_by_text("Counting … What is not here yet")).to_be_visible()
            await expect(page.get_by_text("Paused: Winter")).to_be_visible()
            await expect(page.get_by_text("submitted in an hour")).to_be_visible()
            await expect(page.get_by_text("calls in an hour")).to_have_count(0)
            assert await window.axe() == []
        await expect(page.get_by_text("calls in an hour")).to_be_visible()
        await expect(page.get_by_text("Counting …")).to_have_count(0)
        window.faults.clear()


async def test_the_forecast_is_there_at_once_and_says_that_it_simulates(town: Any, company: Any, windows: Windows) -> None:
    await submit(company, await company.schedule(), NUMBER)
    async with windows.of(company) as window:
        async with read_slowly(town):
            page = await window.open("/console/forecast")
            await expect(page.get_by_role("status").filter(has_text="Simulating the leads that are due")).to_be_visible()
            await expect(page.get_by_label("Look ahead")).to_be_visible()
            assert await window.axe() == []
        await expect(page.locator("#live svg").first).to_be_visible()
        await expect(page.get_by_text("Simulating the leads that are due")).to_have_count(0)


async def test_a_button_whose_answer_takes_long_says_that_it_works(town: Any, company: Any, windows: Windows) -> None:
    lead = await submit(company, await company.schedule(name="Winter"), NUMBER)
    async with windows.of(company) as window:
        for path, button, said in (
            ("/console/forecast", "Show", "Simulating the leads that are due …"),
            ("/console/leads", "Search", "Searching …"),
            ("/console/reports", "Show", "Working …"),
            (f"/console/leads/{lead['id']}", "Call now", "Working …"),
        ):
            page = await window.open(path)
            if path == "/console/forecast":
                await expect(page.locator("#live svg").first).to_be_visible()
            async with read_slowly(town):
                await page.get_by_role("button", name=button, exact=True).click()
                sign = page.locator(".working")
                await expect(sign).to_have_text(said)
                await expect(page.locator("[aria-busy]")).to_have_count(1)
                assert await window.axe() == []
            await expect(sign).to_have_count(0)
        window.faults.clear()


async def test_a_forecast_that_does_not_come_says_why_in_its_place(company: Any, windows: Windows) -> None:
    async with windows.of(company) as window:
        page = await window.open("/console/forecast")
        await expect(page.locator("#live svg").first).to_be_visible()
        await page.route("**/console/forecast/part*", lambda route: route.abort())
        await page.reload()
        await expect(page.locator("#live").get_by_text("The server does not answer.")).to_be_visible()
        window.faults.clear()
