"""Can an operator verify and rebuild the projection in a browser, by keyboard, on a telephone, and see how far it is?"""

from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.adapters.http.browser.conftest import DESK, TELEPHONE, Window, Windows
from tests.adapters.http.conftest import Town
from tests.adapters.http.test_console_pages import lead

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.browser]

PATH = "/console/operations"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def town(own_town: Town) -> Town:
    """Alone: the projection is verified and rebuilt as a whole."""
    return own_town


async def readable(window: Window) -> None:
    """Require that axe finds nothing, and that a telephone need not scroll sideways."""
    assert await window.axe() == []
    await window.page.set_viewport_size(TELEPHONE)
    try:
        assert await window.axe() == []
        widths = await window.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert widths[0] <= widths[1], widths
    finally:
        await window.page.set_viewport_size(DESK)


async def test_a_damaged_row_is_found_and_repaired_by_buttons_while_the_page_moves_by_itself(
    town: Any, company: Any, windows: Windows
) -> None:
    made = await lead(company, await company.schedule(), 1)
    await town.pool.execute("UPDATE read.leads SET name = 'nobody' WHERE id = $1", made["id"])
    async with windows.of(company) as window:
        await window.sign_in_as_operator(town)
        page = await window.open(PATH)
        await page.get_by_role("button", name="Verify").click()
        await expect(page.get_by_role("button", name="Cancel")).to_be_visible()
        await readable(window)
        await expect(page.get_by_text("Rows differ in 1 place.")).to_be_visible()
        await expect(page.get_by_text(f"{company.id}/{made['id']}")).to_be_visible()
        await page.get_by_text("Rebuild it").click()
        await readable(window)

        await page.get_by_label("Swap although rows differ").check()
        field = page.get_by_label("Type rebuild to confirm")
        await field.fill("yes")
        await field.press("Enter")
        await expect(page.get_by_role("alert")).to_contain_text("must be rebuild")
        window.expected("422")
        await expect(page.get_by_label("Swap although rows differ")).to_be_checked()
        await page.get_by_label("Type rebuild to confirm").fill("rebuild")
        await page.get_by_label("Type rebuild to confirm").press("Enter")
        await expect(page.get_by_role("button", name="Cancel")).to_be_visible()
        await expect(page.get_by_text("The new projection is the one that is read now")).to_be_visible()
        await readable(window)
        assert await window.violations() == []
        assert len(window.dialogs) == 1, "what is typed is not asked again"
