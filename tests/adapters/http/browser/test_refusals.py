"""Does a person see each refusal, on every page: at the button that was pressed and at the field, until the next action?

Each button of each page is pressed after its person has lost every right, so that a new one is held without a line here.
The table below has what a person can type wrongly.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, expect

from adapters.http.console.page_table import PAGES
from adapters.http.console.visits import ConsolePage
from adapters.postgres.operators import PostgresOperators
from engine.calendar import local_datetime
from schemas.instant import DAY, Instant
from tests.adapters.http.browser.conftest import Window, Windows
from tests.adapters.http.browser.test_actions import ENDED
from tests.adapters.http.browser.test_agent_calls import GRACE, Desk, desk, form_of, see
from tests.adapters.http.browser.test_every_page import show_all
from tests.adapters.http.browser.test_live_pages import following
from tests.adapters.http.conftest import Company, Town
from tests.adapters.http.console_browser import PASSWORD
from tests.adapters.http.furnished import NUMBER, Furnished, furnish, submit
from tests.adapters.http.test_agents import agent, message, status

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.browser]

__all__ = ["desk"]

ADA = "ada@example.com"
OPENED = sorted({page.path: page for page in PAGES if page.method == "GET"}.items())
NEAR_PIXELS = 400
"""Between a button and what is said of it: both are in view on a desk."""

BUTTONS = """() => [...document.querySelectorAll("main form button:not([data-nothing]), main button[hx-post]")].map((one) =>
  [(one.form || one).getAttribute(one.form ? "action" : "hx-post") || "", one.name, one.value.split(":")[0]].join(" "))"""
"""The buttons of a page, by what each does; those of one row of a list do what those of the next one do."""

RENEW = """() => Promise.all([...document.querySelectorAll("[data-live]")].map((one) => new Promise((done) => {
  one.addEventListener("htmx:afterRequest", done, { once: true });
  window.htmx.trigger(one, "renew");
})))"""
"""What a page asks for by itself, answered."""


def nth_button(page: Page, place: int) -> Locator:
    return page.locator("main form button:not([data-nothing]), main button[hx-post]").nth(place)


async def expect_refusal(page: Page, button: Locator, text: str, field: Locator | None = None) -> None:
    """Hold that a refusal is at its button and its field, has the focus, and stays while the page asks for its parts."""
    box = page.locator("#refusal")
    for _ in range(2):
        await expect(box).to_contain_text(text)
        await expect(box).to_be_focused()
        await expect(box).to_be_in_viewport()
        places = [await one.bounding_box() for one in (box, button)]
        assert all(places), "both are visible"
        above, below = sorted((one["y"], one["y"] + one["height"]) for one in places if one is not None)
        assert below[0] - above[1] < NEAR_PIXELS, places
        if field is not None:
            await expect(field).to_have_attribute("aria-invalid", "true")
            described = str(await field.get_attribute("aria-describedby")).split()[-1]
            await expect(page.locator(f'[id="{described}"]')).not_to_be_empty()
        await page.evaluate(RENEW)
    assert await page.locator("#refusal").count() == 1


class Office:
    """Somebody who may see everything, and whose rights come and go."""

    def __init__(self, town: Town, company: Company, window: Window, made: Furnished, team: int) -> None:
        self.town = town
        self.company = company
        self.window = window
        self.made = made
        self.team = team

    async def grant(self, *, everything: bool) -> None:
        """Give the person every right, or none."""
        fields = {"superuser": everything, "permissions": {}}
        answer = await self.company.send("PATCH", f"/api/v1/access_control_lists/{self.team}", json=fields)
        assert answer.is_success, answer.text


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def office(town: Any, windows: Windows) -> AsyncIterator[Office]:
    company = await town.company()
    made = await furnish(town, company)
    await company.record("users", {"name": "Root", "email": "root@example.com", "password": PASSWORD})
    await company.record("access_control_lists", {"name": "Root", "users_emails": ["root@example.com"], "superuser": True})
    await status(company)
    await message(company, content="Lunch at noon")
    await agent(company, user_email=ADA)
    async with windows.of(company) as window:
        teams = (await company.send("GET", "/api/v1/access_control_lists")).json()["access_control_lists"]
        (team,) = [one["id"] for one in teams if ADA in one["users_emails"]]
        yield Office(town, company, window, made, team)


@pytest.mark.parametrize("row", [row for _, row in OPENED if row.access == "user"], ids=lambda row: row.path)
async def test_each_button_of_each_page_says_at_itself_that_it_was_refused(office: Office, row: ConsolePage) -> None:
    window, page = office.window, office.window.page
    answer = await window.context.request.get(window.base + office.made.path(row.path), headers={"HX-Request": "true"})
    if not (await answer.text()).startswith("<!doctype html>"):
        return
    await window.open(office.made.path(row.path))
    await show_all(page)
    await page.evaluate("for (const one of document.querySelectorAll('main form')) one.noValidate = true")
    buttons = dict(reversed([(key, place) for place, key in enumerate(await page.evaluate(BUTTONS))]))
    await office.grant(everything=False)
    try:
        for place in buttons.values():
            button = nth_button(page, place)
            await button.click()
            await expect_refusal(page, button, "no team of yours grants")
        if buttons:
            assert await window.axe() == []
    finally:
        await office.grant(everything=True)
        window.faults.clear()


@pytest.mark.parametrize("row", [row for _, row in OPENED if row.access == "operator"], ids=lambda row: row.path)
async def test_each_button_of_an_operator_says_at_itself_that_it_was_refused(
    town: Any, company: Any, office: Office, windows: Windows, row: ConsolePage
) -> None:
    async with windows.of(company) as window:
        key = await window.sign_in_as_operator(town)
        page = await window.open(office.made.path(row.path))
        if not await page.locator("nav.menu").count():
            return
        await show_all(page)
        await page.evaluate("for (const one of document.querySelectorAll('main form')) one.noValidate = true")
        buttons = dict(reversed([(name, place) for place, name in enumerate(await page.evaluate(BUTTONS))]))
        await PostgresOperators(town.pool).revoke(key)
        for place in buttons.values():
            button = nth_button(page, place)
            await button.click()
            await expect_refusal(page, button, ENDED)
        window.faults.clear()


Typed = Callable[[Office, Page], Awaitable[tuple[Locator, str, Locator | None]]]
"""Opens a page, types what is wrong and presses a button; returns the button, what is said, and the field that it names."""


async def call_without_a_number(office: Office, page: Page) -> tuple[Locator, str, Locator | None]:
    schedule = await office.company.schedule()
    given = {"lead_token": schedule["lead_token"], "email": "ann@example.com"}
    lead = (await office.company.send("POST", "/api/v1/leads", json=given)).json()["lead"]
    await office.window.open(f"/console/leads/{lead['id']}")
    return page.get_by_role("button", name="Call now"), "number", None


async def publish_what_is_gone(office: Office, page: Page) -> tuple[Locator, str, Locator | None]:
    group = await office.company.record("buyer_groups", {"name": "Short-lived"})
    call = {"id": "call-1", "kind": "call", "connect": {"buyer_group_id": group["id"]}}
    steps = [{"id": f"wait-{place}", "kind": "wait", "duration": "2h"} for place in range(40)]
    made = await office.company.schedule(steps=steps)
    path = f"/api/v1/schedules/{made['id']}"
    drafted = await office.company.send("PUT", path, json={"steps": [call, *steps], "draft": True})
    assert drafted.status_code == 200, drafted.text
    assert (await office.company.send("DELETE", f"/api/v1/buyer_groups/{group['id']}")).is_success
    await office.window.open(f"/console/schedules/{made['id']}/edit")
    await expect(page.get_by_text("No fault is found.")).to_be_visible()
    await page.get_by_label("name", exact=True).fill("Spring")
    return page.get_by_role("button", name="Publish"), "buyer group", None


async def publish_nothing(office: Office, page: Page) -> tuple[Locator, str, Locator | None]:
    made = await office.company.schedule()
    await office.window.open(f"/console/schedules/{made['id']}/edit")
    return page.get_by_role("button", name="Publish"), "Nothing is changed yet", None


async def take_wrong_json(office: Office, page: Page) -> tuple[Locator, str, Locator | None]:
    made = await office.company.schedule()
    await office.window.open(f"/console/schedules/{made['id']}/edit")
    await page.locator("#as-json summary").click()
    await page.locator("#json").fill("{")
    return page.get_by_role("button", name="Take this JSON"), "Correct the JSON", page.locator("#json")


async def count_wrongly(office: Office, page: Page) -> tuple[Locator, str, Locator | None]:
    await office.window.open(f"/console/bulk-jobs/new?schedule_id={office.made.ids['schedules']}")
    await page.get_by_label("Stop: end their schedule").check()
    field = page.get_by_label("Type the number of leads")
    await field.fill("0")
    return page.locator("form button.danger"), "leads max", field


async def type_another_word(office: Office, page: Page) -> tuple[Locator, str, Locator | None]:
    await office.window.open("/console/hold")
    await page.get_by_label("Why:").fill("a drill")
    field = page.get_by_label("Type STOP")
    await field.fill("stop")
    return page.get_by_role("button", name="Stop contacting"), "must be STOP", field


async def suppress_nobody(office: Office, page: Page) -> tuple[Locator, str, Locator | None]:
    await office.window.open(f"/console/compliance/lists/{office.made.ids['lists']}")
    field = page.get_by_label("Telephone numbers or e-mail addresses")
    await field.fill("nobody")
    return page.get_by_role("button", name="Add", exact=True), "telephone number", field


async def name_a_view_with_nothing(office: Office, page: Page) -> tuple[Locator, str, Locator | None]:
    await office.window.open("/console/leads?status=removed")
    await page.get_by_text("Save this view").click()
    field = page.get_by_label("Name", exact=True)
    await field.fill("   ")
    return page.get_by_role("button", name="Save", exact=True), "name", field


async def ask_for_no_lead(office: Office, page: Page) -> tuple[Locator, str, Locator | None]:
    await office.window.open("/console/buyers")
    await page.get_by_label("Lead, by its id").fill("4711")
    return page.locator("form.filters button.primary"), "There is no lead", None


async def preview_no_time(office: Office, page: Page) -> tuple[Locator, str, Locator | None]:
    await office.window.open(f"/console/schedules/{office.made.ids['schedules']}")
    field = page.get_by_label("Submitted at")
    await field.fill("soon")
    return page.get_by_role("button", name="Show"), "at", field


async def filter_by_no_lead(office: Office, page: Page) -> tuple[Locator, str, Locator | None]:
    await office.window.open("/console/deliveries")
    field = page.get_by_label("Lead, by its id")
    await field.fill("none")
    return page.get_by_role("button", name="Show"), "lead id", field


async def change_to_no_number(office: Office, page: Page) -> tuple[Locator, str, Locator | None]:
    await office.window.open("/console/forecast/what-if")
    await page.get_by_label("Schedule").select_option(office.made.ids["schedules"])
    field = page.get_by_label("Attempts at most")
    await field.fill("many")
    return page.get_by_role("button", name="What would change?"), "max contact attempts", field


TYPED: tuple[Typed, ...] = (
    call_without_a_number,
    publish_what_is_gone,
    publish_nothing,
    take_wrong_json,
    count_wrongly,
    type_another_word,
    suppress_nobody,
    name_a_view_with_nothing,
    ask_for_no_lead,
    preview_no_time,
    filter_by_no_lead,
    change_to_no_number,
)


@pytest.mark.parametrize("case", TYPED, ids=lambda case: case.__name__)
async def test_what_was_typed_wrongly_is_said_at_the_button_and_at_the_field(office: Office, case: Typed) -> None:
    page = office.window.page
    button, text, field = await case(office, page)
    typed = None if field is None else await field.input_value()
    await button.click()
    await expect_refusal(page, button, text, field)
    await expect(page.get_by_text("No fault is found.")).to_have_count(0)
    assert await office.window.axe() == []
    if field is not None:
        await expect(field).to_have_value(str(typed))
        await field.press("End")
        await field.press_sequentially("1")
        await expect(page.locator("#refusal")).to_be_visible()
    office.window.faults.clear()


async def test_a_refused_call_now_stays_while_the_page_of_the_lead_moves(office: Office) -> None:
    company, page = office.company, office.window.page
    button, text, _ = await call_without_a_number(office, page)
    lead = page.url.rpartition("/")[2]
    await button.click()
    await expect_refusal(page, button, text)
    changed = await company.send("PATCH", f"/api/v1/leads/{lead}", json={"data": {"first_name": "Barbara"}})
    assert changed.is_success, changed.text
    await expect(page.locator("#live dd", has_text="Barbara")).to_have_count(1)
    await expect_refusal(page, button, text)
    await page.get_by_role("button", name="Stop", exact=True).click()
    await expect(page.get_by_text("The lead is stopped.")).to_be_visible()
    await expect(page.locator("#refusal")).to_have_count(0)
    office.window.faults.clear()


async def test_a_refused_publish_is_corrected_in_the_same_form(office: Office) -> None:
    page = office.window.page
    button, text, _ = await publish_what_is_gone(office, page)
    await button.click()
    await expect_refusal(page, button, text)
    step = page.get_by_role("button", name="Take away call-1")
    await step.click()
    await expect(step).to_have_count(0)
    await expect(page.locator("#refusal")).to_have_count(0)
    await page.get_by_role("button", name="Publish").click()
    await expect(page.get_by_text("Published.")).to_be_visible()
    await expect(page.get_by_role("heading", name="Spring")).to_be_visible()
    office.window.faults.clear()


async def test_a_callback_without_a_time_is_refused_at_its_field(town: Any, desk: Desk, windows: Windows) -> None:
    await desk.company.record("call_dispositions", {"name": "Call back later", "requires_callback_time": True})
    async with windows.of(desk.company) as window, following(window, "/console/agent") as page:
        await desk.call(GRACE, "connected")
        await see(page, GRACE)
        form = await form_of(desk, page, GRACE)
        await form.get_by_label("Call back later").check()
        await form.get_by_label("Notes").fill("tomorrow")
        save, field = form.get_by_role("button", name="Save"), form.get_by_label("Call back at")
        await save.click()
        await expect_refusal(page, save, "needs a time to call back", field)
        await desk.call(GRACE, "ended")
        await expect(page.get_by_text("ended", exact=True).first).to_be_visible()
        await expect_refusal(page, save, "needs a time to call back", field)
        soon = local_datetime(Instant(town.context.clock.now() + DAY), "UTC")
        await field.fill(f"{soon:%Y-%m-%dT12:00}")
        await expect(field).not_to_have_attribute("aria-invalid", "true")
        await expect(page.locator("#refusal")).to_be_visible()
        await save.click()
        await expect(page.get_by_text("What you said of the call is stored.")).to_be_visible()
        window.expected("422")
    assert (await desk.of(GRACE))["agent_call_disposition_notes"] == "tomorrow"


async def test_an_action_that_the_server_does_not_answer_is_said_at_its_button(office: Office) -> None:
    company, page = office.company, office.window.page
    lead = await submit(company, await company.schedule(), NUMBER)
    await office.window.open(f"/console/leads/{lead['id']}")
    button = page.get_by_role("button", name="Call now")
    for topics, text in (({"contacts.requests"}, "The database or the broker is away."),):
        office.town.outage.topics = topics
        try:
            await button.click()
            await expect_refusal(page, button, text)
        finally:
            office.town.outage.topics = set()
    office.window.faults.clear()


async def test_a_wrong_password_is_said_in_the_form_and_has_the_focus(windows: Windows) -> None:
    async with windows.new() as window:
        page = await window.open("/console/sign-in")
        await page.get_by_label("Company number").fill("1")
        await page.get_by_label("E-mail address").fill(ADA)
        await page.get_by_label("Password").fill("wrong")
        await page.get_by_role("button", name="Sign in", exact=True).click()
        await expect(page.get_by_role("alert")).to_be_focused()
        window.faults.clear()
