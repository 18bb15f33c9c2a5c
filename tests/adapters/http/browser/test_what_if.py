"""Can somebody ask by keyboard what wider hours would change, and read the answer on a telephone and in the dark?"""

from typing import Any, Literal

import pytest
from playwright.async_api import expect

from tests.adapters.http.browser.conftest import DESK, TELEPHONE, Windows
from tests.adapters.http.test_what_if import waiting

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.browser]


async def test_a_change_is_typed_and_its_answer_is_readable_by_everybody(company: Any, windows: Windows) -> None:
    await waiting(company, 3, name="Solar")
    async with windows.of(company) as window:
        page = await window.open("/console/forecast")
        await page.get_by_label("Schedule", exact=True).focus()
        await page.keyboard.type("Solar")
        await page.get_by_label("open").focus()
        await page.keyboard.type("8:00")
        await page.keyboard.press("Tab")
        await page.keyboard.type("21:00")
        await page.keyboard.press("Enter")
        await expect(page.get_by_label("open")).to_have_attribute("aria-invalid", "true")
        await expect(page.locator("[id='fault-windows.any.0.open']")).to_contain_text("must be a time of day")
        window.expected("422")

        await page.get_by_label("open").fill("08:00")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("status").get_by_role("heading")).to_contain_text("3 of 3 waiting leads")
        await expect(page.get_by_role("row", name="within the next hour 0 3")).to_be_visible()
        await page.go_back()
        await expect(page.get_by_role("heading", name="Forecast")).to_be_visible()
        await page.go_forward()
        await expect(page.get_by_role("row", name="within the next hour 0 3")).to_be_visible()
        await expect(page.get_by_role("link", name="Forecast").first).to_have_attribute("aria-current", "page")

        schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
        for scheme in schemes:
            await page.emulate_media(color_scheme=scheme)
            assert await window.axe() == [], scheme
        await page.set_viewport_size(TELEPHONE)
        assert await window.axe() == []
        widths = await page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert widths[0] <= widths[1], widths
        await page.set_viewport_size(DESK)
        assert await window.violations() == []
        assert window.faults == []
