"""Does the page of an agent show the person on the line, and keep what was typed for the one before until it is saved?"""

from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, expect

from tests.adapters.http.browser.conftest import TELEPHONE, Window, Windows
from tests.adapters.http.browser.test_live_pages import following, only_changes
from tests.adapters.http.conftest import Company
from tests.adapters.http.test_agents import agent, status

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.browser, pytest.mark.usefixtures("only_changes")]

__all__ = ["only_changes"]

AGENT = "/console/agent"
GRACE, ALAN, EDSGER = "+13055550123", "+13055550124", "+13055550125"
NAMES = {GRACE: "Grace Hopper", ALAN: "Alan Turing", EDSGER: "Edsger Dijkstra"}


class Desk:
    """A company in which people call one agent, who has a script and fields."""

    def __init__(self, company: Company, agent_id: int, number: str, leads: dict[str, Any]) -> None:
        self.company = company
        self.agent_id = agent_id
        self.number = number
        self.leads = leads

    async def call(self, person: str, state: str) -> None:
        """Report of the call of a person that it is connected, or has ended."""
        stated = {"from": person, "to": self.number, "call_ref": f"call-{person}", "provider": "our pbx", "state": state}
        answer = await self.company.send("POST", "/api/v1/calls/received", json={**stated, "agent_id": self.agent_id})
        assert answer.is_success, answer.text

    async def of(self, person: str) -> dict[str, Any]:
        """Return the call of a person as it is stored."""
        answer = await self.company.send("GET", "/api/v1/calls", params={"lead_id": self.leads[person]["id"]})
        (found,) = answer.json()["calls"]
        return dict(found)


@pytest_asyncio.fixture(loop_scope="session")
async def desk(company: Any) -> Desk:
    await status(company)
    fields = {"name": "Roofs", "script": "Hello {{first_name}}, how is the roof?", "fields": [{"key": "roof"}]}
    field_type = await company.record("contact_field_types", fields)
    await company.record("call_dispositions", {"name": "Sold"})
    token, leads = (await company.schedule())["lead_token"], {}
    for number, name in NAMES.items():
        given = {"lead_token": token, "caller_id": number, "full_name": name, "first_name": name.split()[0]}
        answer = await company.send("POST", "/api/v1/leads", json={**given, "contact_field_type": field_type["id"]})
        assert answer.status_code == 201, answer.text
        leads[number] = answer.json()["lead"]
    number = (await company.record("numbers", {"number": "+12125550188"}))["number"]
    return Desk(company, await agent(company, user_email="ada@example.com"), number, leads)


def on_the_line(page: Page) -> Locator:
    """The card of the call that the page shows first."""
    return page.locator("#work > section.card").first


async def see(page: Page, person: str) -> None:
    """Wait until the page shows a person, with the script for that person."""
    await expect(on_the_line(page).get_by_role("heading", name=f"Call from {NAMES[person]}")).to_be_visible()
    await expect(on_the_line(page).get_by_text(f"Hello {NAMES[person].split()[0]},")).to_be_visible()


async def form_of(desk: Desk, page: Page, person: str) -> Locator:
    """The form of the call of a person, unfolded."""
    form = page.locator(f"#call-form-{(await desk.of(person))['id']}")
    fold = page.locator("#before-heading ~ details", has=form)
    if await fold.count() and await fold.get_attribute("open") is None:
        await fold.locator("summary").click()
    return form


async def type_of_grace(desk: Desk, page: Page) -> None:
    """Take the call of Grace, and type notes and a field of it."""
    await desk.call(GRACE, "connected")
    await see(page, GRACE)
    form = await form_of(desk, page, GRACE)
    await form.get_by_label("Notes").fill("wants a flat one")
    await form.get_by_label("roof").fill("steep")
    await form.get_by_label("Sold").check()


async def expect_typed(form: Locator) -> None:
    await expect(form.get_by_label("Notes")).to_have_value("wants a flat one")
    await expect(form.get_by_label("roof")).to_have_value("steep")
    await expect(form.get_by_label("Sold")).to_be_checked()


async def set_available(page: Page) -> None:
    await page.get_by_role("button", name="available").click()
    await expect(page.get_by_text("Your status is set.")).to_be_visible()


async def load_again(page: Page) -> None:
    await page.reload()


async def nothing(page: Page) -> None:
    """The next call comes while the form of the one before is open."""


@pytest.mark.parametrize("meanwhile", [set_available, load_again, nothing])
@pytest.mark.parametrize("ends", [True, False], ids=["ended", "still on the line"])
async def test_the_page_follows_the_next_call_and_keeps_what_was_typed_for_the_one_before(
    desk: Desk, windows: Windows, meanwhile: Any, ends: bool
) -> None:
    async with windows.of(desk.company) as window, following(window, AGENT) as page:
        await type_of_grace(desk, page)
        if ends:
            await desk.call(GRACE, "ended")
            await expect(on_the_line(page).get_by_text("ended", exact=True)).to_be_visible()
            await expect_typed(await form_of(desk, page, GRACE))
        await meanwhile(page)
        await see(page, GRACE)
        await expect_typed(await form_of(desk, page, GRACE))

        await desk.call(ALAN, "connected")
        await see(page, ALAN)
        alan = await form_of(desk, page, ALAN)
        await expect(alan.get_by_label("Notes")).to_have_value("")
        await alan.get_by_label("Notes").fill("of Alan")
        fold = page.locator("#before-heading ~ details")
        await expect(fold.get_by_text(f"Call from {NAMES[GRACE]}").first).to_be_visible()
        await expect_typed(await form_of(desk, page, GRACE))
        assert await window.axe() == []

        await (await form_of(desk, page, GRACE)).get_by_role("button", name="Save").click()
        await expect(page.get_by_text("What you said of the call is stored.")).to_be_visible()
        await see(page, ALAN)
        await expect((await form_of(desk, page, ALAN)).get_by_label("Notes")).to_have_value("of Alan")
    stored = await desk.of(GRACE)
    assert stored["agent_call_disposition_notes"] == "wants a flat one"
    assert stored["token_values"]["roof"] == "steep"
    assert stored["call_disposition_id"] is not None
    assert (await desk.of(ALAN))["agent_call_disposition_notes"] is None


async def test_what_was_typed_of_two_calls_is_below_the_third(desk: Desk, windows: Windows) -> None:
    async with windows.of(desk.company) as window, following(window, AGENT) as page:
        for person in (GRACE, ALAN):
            await desk.call(person, "connected")
            await see(page, person)
            await (await form_of(desk, page, person)).get_by_label("Notes").fill(f"of {NAMES[person]}")
            await desk.call(person, "ended")
        await desk.call(EDSGER, "connected")
        await see(page, EDSGER)
        for person in (GRACE, ALAN):
            form = await form_of(desk, page, person)
            await expect(form.get_by_label("Notes")).to_have_value(f"of {NAMES[person]}")
        await page.set_viewport_size(TELEPHONE)
        assert await window.axe() == []
        await page.reload()
        for person in (GRACE, ALAN):
            form = await form_of(desk, page, person)
            await expect(form.get_by_label("Notes")).to_have_value(f"of {NAMES[person]}")


async def test_an_unfolded_form_stays_unfolded_while_the_page_moves(desk: Desk, windows: Windows) -> None:
    async with windows.of(desk.company) as window, following(window, AGENT) as page:
        await type_of_grace(desk, page)
        await desk.call(GRACE, "ended")
        await desk.call(ALAN, "connected")
        await see(page, ALAN)
        notes = (await form_of(desk, page, GRACE)).get_by_label("Notes")
        await notes.press("End")
        await desk.call(ALAN, "ended")
        await expect(on_the_line(page).get_by_text("ended", exact=True)).to_be_visible()
        await expect(notes).to_be_focused()
        await page.keyboard.type(", soon")
        await expect(notes).to_have_value("wants a flat one, soon")


async def test_two_tabs_show_the_person_on_the_line(desk: Desk, windows: Windows) -> None:
    async with windows.of(desk.company) as window, following(window, AGENT) as first:
        other: Window = await window.tab()
        async with following(other, AGENT) as second:
            await type_of_grace(desk, first)
            await see(second, GRACE)
            await desk.call(GRACE, "ended")
            await desk.call(ALAN, "connected")
            for page in (first, second):
                await see(page, ALAN)
            await (await form_of(desk, first, GRACE)).get_by_role("button", name="Save").click()
            await expect(first.get_by_text("What you said of the call is stored.")).to_be_visible()
            await expect(second.locator("#before-heading")).to_have_count(0)
            await see(second, ALAN)


async def test_a_lead_that_changes_its_name_during_the_call_changes_on_the_page(desk: Desk, windows: Windows) -> None:
    async with windows.of(desk.company) as window, following(window, AGENT) as page:
        await type_of_grace(desk, page)
        changed = {"data": {"full_name": "Grace Murray", "first_name": "Gracie"}}
        path = f"/api/v1/leads/{desk.leads[GRACE]['id']}"
        assert (await desk.company.send("PATCH", path, json=changed)).is_success
        await expect(on_the_line(page).get_by_text("Hello Gracie,")).to_be_visible()
        await expect(on_the_line(page).get_by_role("heading", name="Call from Grace Murray")).to_be_visible()
        await expect_typed(await form_of(desk, page, GRACE))


async def test_what_somebody_typed_is_not_shown_to_who_signs_in_after_them(desk: Desk, windows: Windows) -> None:
    async with windows.of(desk.company) as window, following(window, AGENT) as page:
        await type_of_grace(desk, page)
        assert "wants a flat one" in await page.evaluate("sessionStorage.getItem('leadclock.drafts')")
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        assert await page.evaluate("sessionStorage.getItem('leadclock.drafts')") is None
