"""Can somebody who uses no mouse sign in, find a lead and stop it, and always see where the focus is?"""

from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect

from tests.adapters.http.browser.conftest import DESK, TELEPHONE, Windows
from tests.adapters.http.console_browser import PASSWORD, invite
from tests.adapters.http.furnished import NUMBER, submit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.browser]

STOPS_MAX = 60
"""More than any page has before what is looked for."""

ALL_COLUMNS = 200
"""So many where the columns of leads, each with a box, are unfolded before it."""

IS_MARKED = """
() => { const style = getComputedStyle(document.activeElement);
        return document.activeElement === document.body || style.outlineStyle !== "none" || style.boxShadow !== "none"; }
"""


async def tab_to(page: Page, wanted: Locator, stops_max: int = STOPS_MAX) -> None:
    """Press Tab until the focus is on an element; each element on the way shows that it has the focus."""
    await expect(wanted).to_be_visible()
    for _ in range(stops_max):
        await page.keyboard.press("Tab")
        assert await page.evaluate(IS_MARKED), await page.evaluate("document.activeElement.outerHTML")
        if await wanted.evaluate("(element) => element === document.activeElement"):
            return
    pytest.fail(f"Tab does not reach {wanted}")


async def test_a_lead_is_found_and_stopped_without_a_mouse(company: Any, windows: Windows) -> None:
    schedule = await company.schedule()
    lead = await submit(company, schedule, NUMBER, full_name="Ada Lovelace")
    await submit(company, schedule, "+12125550124", full_name="Grace Hopper")
    await invite(company, "ada@example.com")
    async with windows.new() as window:
        page = await window.open("/console/leads")
        for label, text in (("Company number", str(company.id)), ("E-mail", "ada@example.com"), ("Password", PASSWORD)):
            await tab_to(page, page.get_by_label(label))
            await page.keyboard.type(text)
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="Leads", exact=True)).to_be_visible()
        await page.wait_for_load_state("load")

        await page.keyboard.press("/")
        await page.keyboard.type("Lovelace")
        await page.wait_for_url("**/console/leads?fulltext=Lovelace")
        await expect(page.get_by_role("link", name="Grace Hopper")).to_have_count(0)
        await tab_to(page, page.get_by_role("link", name="Ada Lovelace"))
        await page.keyboard.press("Enter")

        await expect(page.get_by_role("heading", name="Ada Lovelace")).to_be_visible()
        await tab_to(page, page.get_by_role("button", name="Stop"))
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("The lead is stopped.")).to_be_visible()
        shown = (await company.send("GET", f"/api/v1/leads/{lead['id']}")).json()["lead"]
        assert shown["is_live"] is False


async def test_the_first_stop_of_a_page_leads_past_the_menu(company: Any, windows: Windows) -> None:
    async with windows.of(company) as window:
        page = await window.open("/console")
        await page.keyboard.press("Tab")
        skip = page.get_by_role("link", name="Skip to the page")
        await expect(skip).to_be_focused()
        await expect(skip).to_be_in_viewport()
        await page.keyboard.press("Enter")
        await expect(page.locator("main")).to_be_focused()


async def test_the_menu_says_which_page_is_open(company: Any, windows: Windows) -> None:
    async with windows.of(company) as window:
        page = await window.open("/console")
        menu = page.get_by_role("navigation", name="Pages")
        labels = await menu.get_by_role("link").all_text_contents()
        assert labels[0] == "Today"
        for label in labels[1:]:  # the first one is open
            await tab_to(page, menu.get_by_role("link", name=label, exact=True))
            await page.keyboard.press("Enter")
            await expect(menu.get_by_role("link", name=label, exact=True)).to_have_attribute("aria-current", "page")


@pytest.mark.parametrize("size", [DESK, TELEPHONE], ids=["desk", "telephone"])
async def test_a_view_is_saved_opened_and_deleted_without_a_mouse(company: Any, windows: Windows, size: Any) -> None:
    schedule = await company.schedule()
    await submit(company, schedule, NUMBER, full_name="Ada Lovelace")
    async with windows.of(company) as window:
        await window.page.set_viewport_size(size)
        page = await window.open("/console/leads?columns=name,created_at")
        await page.keyboard.press("/")
        await page.keyboard.type("Lovelace")
        await page.wait_for_url("**/console/leads?fulltext=Lovelace**")
        await tab_to(page, page.get_by_text("Save this view"), stops_max=ALL_COLUMNS)
        await page.keyboard.press("Enter")
        await tab_to(page, page.get_by_label("Name", exact=True))
        await page.keyboard.type("Ada <b>")
        await page.keyboard.press("Enter")
        view = page.get_by_role("link", name="Ada <b>")
        await expect(view).to_have_attribute("aria-current", "true")
        assert await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert await window.axe() == []

        await window.open("/console/leads")
        await expect(view).not_to_have_attribute("aria-current", "true")
        await tab_to(page, view, stops_max=ALL_COLUMNS)
        await page.keyboard.press("Enter")
        await expect(view).to_have_attribute("aria-current", "true")
        assert "fulltext=Lovelace" in page.url
        await tab_to(page, page.get_by_role("button", name="Delete the view Ada <b>"), stops_max=ALL_COLUMNS)
        await page.keyboard.press("Enter")
        await expect(view).to_have_count(0)
        assert "Delete the saved view “Ada <b>”?" in window.dialogs[0]
        assert await window.violations() == []


async def test_who_is_signed_in_and_the_way_out_are_on_one_line(company: Any, windows: Windows) -> None:
    async with windows.of(company, "a.manager.with.a.long.name@customers.example.com") as window:
        await window.page.set_viewport_size({"width": 1000, "height": 800})
        page = await window.open("/console")
        brand = await page.get_by_role("link", name="leadclock").bounding_box()
        leave = await page.get_by_role("button", name="Sign out").bounding_box()
        assert brand is not None
        assert leave is not None
        assert abs(brand["y"] + brand["height"] / 2 - leave["y"] - leave["height"] / 2) < leave["height"]
