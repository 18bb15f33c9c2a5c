"""Can somebody edit a schedule in a real browser by keyboard, see faults while typing, and lose nothing on the way?"""

from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.adapters.http.browser.conftest import DESK, TELEPHONE, Windows
from tests.adapters.http.browser.test_every_page import show_all
from tests.adapters.http.browser.test_keyboard import tab_to

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.browser]

WAIT = {"id": "pause", "kind": "wait", "duration": "2h"}
MAIL = {"id": "mail-1", "kind": "email", "subject": "Hi", "template": "x"}


async def steps_of(company: Any, made: dict[str, Any]) -> list[dict[str, Any]]:
    found = (await company.send("GET", f"/api/v1/schedules/{made['id']}")).json()["schedule"]
    return [{name: step[name] for name in ("id", "kind")} for step in found["steps"]]


async def open_editor(page: Page) -> None:
    """Wait until the editor has asked the API once."""
    await expect(page.get_by_text("No fault is found.")).to_be_visible()


async def test_a_step_is_added_judged_while_typed_and_published_by_keyboard(company: Any, windows: Windows) -> None:
    made = await company.schedule(steps=[WAIT, MAIL])
    async with windows.of(company) as window:
        page = await window.open(f"/console/schedules/{made['id']}")
        await tab_to(page, page.get_by_role("link", name="Edit", exact=True))
        await page.keyboard.press("Enter")
        await open_editor(page)

        await page.get_by_label("New step").first.focus()
        await page.keyboard.type("wait")
        await tab_to(page, page.get_by_role("button", name="Add to Steps"))
        await page.keyboard.press("Enter")
        new_id = page.get_by_label("id", exact=True)
        await expect(new_id).to_be_focused()
        await expect(page.locator("#checks").get_by_text("must have either duration or until")).to_be_visible()
        duration = page.get_by_label("duration", exact=True)
        await tab_to(page, duration)
        await page.keyboard.type("soon")
        await expect(page.get_by_role("paragraph").filter(has_text="must be a whole number and one of")).to_be_visible()
        await expect(duration).to_have_attribute("aria-invalid", "true")
        await expect(duration).to_be_focused()
        await expect(duration).to_have_value("soon")
        assert await window.axe() == []
        await page.keyboard.press("Control+A")
        await page.keyboard.type("45m")
        await expect(page.get_by_text("No fault is found.")).to_be_visible()
        await expect(duration).not_to_have_attribute("aria-invalid", "true")
        await page.keyboard.press("Enter")  # it presses no button
        await expect(duration).to_be_focused()
        await page.get_by_role("button", name="Up wait-1").focus()
        await page.keyboard.press("Enter")
        await expect(page.locator("#steps li strong").nth(1)).to_have_text("wait-1")

        await page.get_by_role("button", name="Publish").focus()
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("Published. Leads that enter from now on are on this version.")).to_be_visible()
        assert window.dialogs == ["Publish this? Leads that enter from now on are on it."]
        assert [step["id"] for step in await steps_of(company, made)] == ["pause", "wait-1", "mail-1"]


async def test_the_editor_with_open_steps_is_readable_by_everybody(company: Any, windows: Windows) -> None:
    call = {"id": "call-1", "kind": "call", "retry": {"no_answer": {"delay": "2h", "max": 2}}}
    where = {"id": "where", "kind": "branch", "rules": [{"if": ["state:CA"], "goto": "mail-1"}], "else": "mail-1"}
    hours = {"call": [{"days": ["mon"], "open": "09:00", "close": "20:00"}]}
    triggers = [{"on": "exit", "type": "replied"}]
    made = await company.schedule(steps=[call, where, MAIL], windows=hours, triggers=triggers)
    async with windows.of(company) as window:
        page = await window.open(f"/console/schedules/{made['id']}/edit")
        for name in ("call-1", "where", "mail-1"):
            await page.get_by_role("button", name=f"Edit {name}").click()
            await expect(page.get_by_role("button", name=f"Close {name}")).to_be_visible()
        await open_editor(page)
        await show_all(page)
        await page.emulate_media(color_scheme="dark")
        assert await window.axe() == []
        await page.emulate_media(color_scheme="light")
        assert await window.axe() == []
        await page.set_viewport_size(TELEPHONE)
        assert await window.axe() == []
        widths = await page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert widths[0] <= widths[1], "it scrolls sideways on a telephone"
        await page.set_viewport_size(DESK)
        assert await window.violations() == []


async def test_the_second_tab_is_shown_what_the_first_one_published(company: Any, windows: Windows) -> None:
    made = await company.schedule(steps=[WAIT, MAIL])
    async with windows.of(company) as window:
        first = await window.open(f"/console/schedules/{made['id']}/edit")
        second = await (await window.tab()).open(f"/console/schedules/{made['id']}/edit")
        await first.get_by_label("name", exact=True).fill("First")
        await first.get_by_role("button", name="Publish").click()
        await expect(first.get_by_role("heading", name="First")).to_be_visible()
        await second.get_by_label("name", exact=True).fill("Second")
        await second.get_by_role("button", name="Publish").click()
        await expect(second.get_by_text("Somebody else has changed this schedule meanwhile")).to_be_visible()
        await expect(second.get_by_role("deletion")).to_have_text('- "First"')
        await expect(second.get_by_label("name", exact=True)).to_have_value("Second")
        window.expected("409")
        await second.get_by_role("button", name="Publish").click()
        await expect(second.get_by_role("heading", name="Second")).to_be_visible()
