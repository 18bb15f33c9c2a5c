"""Is every page of the console readable by everybody: on a telephone, in the dark, and by a screen reader?

Each row of `PAGES` is opened, so that a new page is held without a line here.
"""

import gzip
import re
from collections.abc import AsyncIterator
from typing import Any, Literal

import pytest
import pytest_asyncio
from playwright.async_api import APIResponse, Page, expect

from adapters.http.console.page_table import PAGES
from adapters.http.console.visits import ConsolePage
from tests.adapters.http.browser.conftest import DESK, TELEPHONE, Window, Windows
from tests.adapters.http.furnished import Furnished, furnish

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.browser]

OPENED = sorted({page.path: page for page in PAGES if page.method == "GET"}.items())
WHOLE = "<!doctype html>"
NOT_FOUND, UNPROCESSABLE = 404, 422

WEIGHT_MAX = 300_000
"""Bytes of a page with its files, compressed: a second on a slow mobile network."""


class Visitor:
    """Somebody who may see everything, and the ids of what there is."""

    def __init__(self, window: Window, made: Furnished) -> None:
        self.window = window
        self.made = made

    async def ask(self, path: str) -> APIResponse:
        """Return what a page answers to htmx: itself, or its part."""
        return await self.window.context.request.get(self.window.base + path, headers={"HX-Request": "true"})


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def seeing(town: Any, windows: Windows) -> AsyncIterator[Visitor]:
    company = await town.company()
    made = await furnish(town, company)
    async with windows.of(company) as window:
        await window.sign_in_as_operator(town)
        yield Visitor(window, made)


async def whole_page(seeing: Visitor, page: ConsolePage) -> str:
    """Return the text of a page; empty for a part, which its page shows, and for a file."""
    answer = await seeing.ask(seeing.made.path(page.path))
    text = await answer.text()
    if text.startswith(WHOLE):
        assert answer.status == 200, (page.path, text)
        return text
    assert not page.label, f"{page.path} is in the menu, and no page"
    # A part may need what its page sends: a field, or which record it is of where its path does not say so.
    needed = {UNPROCESSABLE} if "{" in page.path else {UNPROCESSABLE, NOT_FOUND}
    assert answer.status in {200, *needed}, (page.path, text)
    return ""


async def show_all(page: Page) -> None:
    """Open what is folded, so that axe reads it as well."""
    await page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")


@pytest.mark.parametrize("row", [row for _, row in OPENED], ids=[path for path, _ in OPENED])
async def test_a_page_is_readable_in_light_in_the_dark_and_on_a_telephone(seeing: Visitor, row: ConsolePage) -> None:
    if not await whole_page(seeing, row):
        return
    window = seeing.window
    page = await window.open(seeing.made.path(row.path))
    await show_all(page)
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        await page.emulate_media(color_scheme=scheme)
        assert await window.axe() == [], (row.path, scheme)
    await page.set_viewport_size(TELEPHONE)
    try:
        assert await window.axe() == [], (row.path, "on a telephone")
        widths = await page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert widths[0] <= widths[1], f"{row.path} scrolls sideways on a telephone: {widths}"
    finally:
        await page.set_viewport_size(DESK)
    assert await window.violations() == []
    assert window.faults == []


@pytest.mark.parametrize("row", [row for _, row in OPENED], ids=[path for path, _ in OPENED])
async def test_a_page_weighs_less_than_300_kilobytes_with_its_files(seeing: Visitor, row: ConsolePage) -> None:
    text = await whole_page(seeing, row)
    weight = len(gzip.compress(text.encode()))
    for url in set(re.findall(r'"(/console/assets/[^"]+)"', text)):
        weight += len(gzip.compress(await (await seeing.ask(url)).body()))
    assert weight < WEIGHT_MAX


async def test_each_page_of_a_company_without_data_says_something_and_is_readable(company: Any, windows: Windows) -> None:
    async with windows.of(company) as window:
        for row in PAGES:
            if row.label and row.access == "user":
                page = await window.open(row.path)
                await show_all(page)
                assert await page.locator("main :is(.empty, .says, table):visible").all_text_contents(), row.path
                assert await window.axe() == [], row.path
        page = await window.open("/console")
        await expect(page.get_by_text("Create a schedule first")).to_be_visible()
        page = await window.open("/console/schedules")
        await expect(page.get_by_text("There is no schedule yet. Create one with")).to_be_visible()
        page = await window.open("/console/leads")
        await expect(page.get_by_text("No lead yet")).to_be_visible()


async def test_axe_finds_what_is_wrong_on_a_page(seeing: Visitor) -> None:
    page = await seeing.window.open("/console")
    await page.evaluate("document.querySelector('main').append(document.createElement('button'))")
    (found,) = await seeing.window.axe()
    assert found.startswith("button-name: Buttons must have discernible text")


async def test_the_browser_reports_what_the_policy_blocks(seeing: Visitor) -> None:
    page = await seeing.window.open("/console")
    await page.evaluate("document.querySelector('main').setAttribute('style', 'color: red')")
    await page.wait_for_function("window.violations.length > 0")
    (blocked,) = await seeing.window.violations()
    assert blocked.startswith("style-src-attr inline")
    seeing.window.expected("Content Security Policy")
