"""Does an open page move by itself, whatever is typed on it, stop while nobody sees it, and say so where it cannot?"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import Page, expect

from adapters.http.console import change_streams
from adapters.http.exchange import page_changes
from tests.adapters.http.browser.conftest import TELEPHONE, Window, Windows
from tests.adapters.http.browser.test_actions import ENDED, end_sessions
from tests.adapters.http.conftest import WAIT_SECONDS
from tests.adapters.http.furnished import NUMBER, submit
from tests.adapters.http.test_agents import SET, agent, status
from tests.adapters.http.test_console_agent import spoken
from tests.adapters.http.test_console_changes import all_closed
from tests.adapters.postgres.projected_rows import Shown

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.browser]

LOST = "Changes do not arrive by themselves: this page asks every 5 seconds."

HIDE = """
(hidden) => {
  Object.defineProperty(document, "hidden", {configurable: true, value: hidden});
  document.dispatchEvent(new Event("visibilitychange"));
}
"""
"""What a browser does to a page whose tab is left, or shown again: a headless one shows every tab."""


@pytest.fixture(autouse=True)
def only_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no page be renewed but by a change: one that moves has heard of it."""
    monkeypatch.setattr(page_changes, "TICK_SECONDS", 10 * WAIT_SECONDS)
    monkeypatch.setattr(page_changes, "COMPANY_SECONDS", 0.5)


@asynccontextmanager
async def following(window: Window, path: str) -> AsyncIterator[Page]:
    """Open a page, and wait until it follows changes."""
    async with window.page.expect_response(lambda answer: answer.url.partition("?")[0].endswith("/changes")) as answered:
        await window.open(path)
    assert (await answered.value).status == 200
    yield window.page


async def test_a_lead_moves_on_its_timeline_without_a_reload(company: Any, windows: Windows) -> None:
    lead = await submit(company, await company.schedule(), NUMBER, full_name="Ada Lovelace")
    async with windows.of(company) as window, following(window, f"/console/leads/{lead['id']}") as page:
        await page.evaluate("window.isSamePage = true")
        marks = page.locator("#live svg").first.get_by_text("Changed")
        assert await marks.count() == 0
        for name in ("Grace Hopper", "Barbara Liskov"):
            changed = await company.send("PATCH", f"/api/v1/leads/{lead['id']}", json={"data": {"first_name": name}})
            assert changed.status_code == 200, changed.text
            await expect(page.locator("#live dd", has_text=name)).to_have_count(1)
        stopped = await company.send("PATCH", f"/api/v1/leads/{lead['id']}", json={"schedule_stop": True})
        assert stopped.status_code == 200, stopped.text
        await expect(page.get_by_role("cell", name="Ended", exact=True)).to_be_visible()
        await expect(page.get_by_role("heading", name="Now removed")).to_be_visible()
        assert await page.evaluate("window.isSamePage") is True
        for size in (None, TELEPHONE):
            await page.set_viewport_size(size or {"width": 1280, "height": 900})
            assert await window.axe() == []
        assert await window.violations() == []


async def test_today_moves_while_somebody_reads_another_part_of_it(company: Any, windows: Windows) -> None:
    made = await company.schedule(name="Winter")
    async with windows.of(company) as window, following(window, "/console") as page:
        await page.get_by_text("API calls of this page").click()
        await company.send("PATCH", f"/api/v1/schedules/{made['id']}", json={"paused": True})
        await expect(page.get_by_text("Paused: Winter")).to_be_visible()
        await expect(page.locator("details.api")).to_have_attribute("open", "")


async def test_what_an_agent_types_stays_while_the_page_moves(town: Any, company: Any, windows: Windows) -> None:
    available, ada = await status(company), await agent(company, user_email="ada@example.com")
    shown = Shown(town.pool, topic=f"live.{company.id}")
    await spoken(town, company, shown, ada)
    async with windows.of(company) as window, following(window, "/console/agent") as page:
        await page.get_by_label("Notes").fill("calls back on Mon")
        assert (await company.send("POST", SET, json={"collaborator_id": ada, "agent_status_id": available})).is_success
        await expect(page.locator(".tag.good", has_text="available")).to_be_visible()
        await expect(page.get_by_label("Notes")).to_have_value("calls back on Mon")
        await expect(page.get_by_label("Notes")).to_be_focused()
    await shown.store.close()


async def test_a_page_that_nobody_sees_holds_no_stream_and_is_of_now_once_it_is_seen(
    town: Any, company: Any, windows: Windows
) -> None:
    made = await company.schedule(name="Winter")
    async with windows.of(company) as window, following(window, "/console") as page:
        await page.evaluate(HIDE, True)
        await all_closed(town)
        await company.send("PATCH", f"/api/v1/schedules/{made['id']}", json={"paused": True})
        await expect(page.get_by_text("Paused: Winter")).to_have_count(0)
        await page.evaluate(HIDE, False)
        await expect(page.get_by_text("Paused: Winter")).to_be_visible()


async def test_the_own_page_of_an_agent_stays_present_while_nobody_sees_it(
    company: Any, windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_streams, "STILL_SECONDS", 0.2)
    monkeypatch.setattr(change_streams, "CHECK_SECONDS", 0.1)
    await agent(company, user_email="ada@example.com")
    async with windows.of(company) as window, following(window, "/console/agent") as page:
        await page.evaluate(HIDE, True)
        for _ in range(2):  # by its stream, as browsers slow down the timers of a page that is hidden
            async with page.expect_request("**/console/agent/heartbeat"):
                pass


async def test_a_page_that_gets_no_stream_says_so_and_asks_by_itself(
    company: Any, windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_changes, "STREAMS_MAX", 0)
    made = await company.schedule(name="Winter")
    async with windows.of(company) as window:
        page = await window.open("/console")
        await expect(page.get_by_text(LOST)).to_be_visible()
        assert await window.axe() == []
        await company.send("PATCH", f"/api/v1/schedules/{made['id']}", json={"paused": True})
        await expect(page.get_by_text("Paused: Winter")).to_be_visible()
        window.expected("503")

        monkeypatch.setattr(page_changes, "STREAMS_MAX", 300)
        await expect(page.get_by_text(LOST)).to_have_count(0, timeout=2_000 * WAIT_SECONDS)
        window.faults.clear()
        await company.send("PATCH", f"/api/v1/schedules/{made['id']}", json={"paused": False})
        await expect(page.get_by_text("Paused: Winter")).to_have_count(0)


async def test_a_page_whose_session_ended_says_so_by_itself(
    town: Any, company: Any, windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_streams, "CHECK_SECONDS", 0.1)
    await company.schedule()
    async with windows.of(company) as window, following(window, "/console") as page:
        await end_sessions(town, company)
        await expect(page.get_by_text(ENDED)).to_be_visible()
        window.expected("401")
