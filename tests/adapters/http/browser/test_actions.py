"""Do buttons do what they say, once and only where somebody agrees, also in two tabs and after the session has ended?"""

from typing import Any

import pytest
from playwright.async_api import Page, expect

from adapters.postgres.operators import PostgresOperators
from tests.adapters.http.browser.conftest import Window, Windows
from tests.adapters.http.console_browser import PASSWORD
from tests.adapters.http.furnished import NUMBER, submit
from tests.adapters.http.test_operator import dead_letter

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.browser]

ADA = "ada@example.com"
ENDED = "Your session has ended. What you typed is kept."
AGAIN = "You have signed in again since. What you typed is kept: send it once more."


async def end_sessions(town: Any, company: Any) -> None:
    """Let the sessions of a company be unused for longer than they live."""
    aged = "UPDATE work.sessions SET seen_at = seen_at - interval '2 hours' WHERE company_id = $1"
    await town.pool.execute(aged, company.id)
    town.app._services.authenticator._session_reads._held.clear()  # as after the seconds for which open pages share a read


async def sign_in_again(window: Window, company: Any, email: str = ADA) -> None:
    """Follow the notice to the sign-in in another tab, and sign in there."""
    async with window.context.expect_page() as opened:
        await window.page.get_by_role("link", name="Sign in in another tab").click()
    other = await opened.value
    await other.get_by_label("Company number").fill(str(company.id))
    await other.get_by_label("E-mail address").fill(email)
    await other.get_by_label("Password").fill(PASSWORD)
    await other.get_by_role("button", name="Sign in").click()
    await expect(other.get_by_role("button", name="Sign out")).to_be_visible()
    await other.close()


async def opened_lead(company: Any, window: Window) -> tuple[Page, dict[str, Any]]:
    lead = await submit(company, await company.schedule(), NUMBER, full_name="Ada Lovelace")
    return await window.open(f"/console/leads/{lead['id']}"), lead


async def is_live(company: Any, lead: dict[str, Any]) -> Any:
    return (await company.send("GET", f"/api/v1/leads/{lead['id']}")).json()["lead"]["is_live"]


async def test_a_person_is_opted_out_only_after_somebody_has_agreed(company: Any, windows: Windows) -> None:
    async with windows.of(company) as window:
        page, lead = await opened_lead(company, window)
        window.agrees = False
        await page.get_by_role("button", name="Opt out").click()
        assert window.dialogs == ["Opt this person out? Every lead of the number is stopped."]
        assert await is_live(company, lead) is True

        window.agrees = True
        await page.get_by_role("button", name="Opt out").click()
        await expect(page.get_by_text("The person is opted out.")).to_be_visible()
        await expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
        contact = (await company.send("GET", f"/api/v1/contacts/{NUMBER}")).json()["contact"]
        assert contact["opted_out"] is True
        assert await is_live(company, lead) is False


async def test_a_schedule_is_paused_and_resumed(company: Any, windows: Windows) -> None:
    made = await company.schedule(name="Winter")
    async with windows.of(company) as window:
        page = await window.open(f"/console/schedules/{made['id']}")
        for button, mark in (("Pause", "paused"), ("Resume", "active")):
            await page.get_by_role("button", name=button).click()
            await expect(page.get_by_text(f"Done: {button}.")).to_be_visible()
            await expect(page.get_by_text(mark, exact=True)).to_be_visible()
        assert len(window.dialogs) == 1, "what can be taken back at once is not asked about"


async def test_a_dead_letter_is_edited_and_sent_again(town: Any, company: Any, windows: Windows) -> None:
    letter = await dead_letter(town)
    async with windows.of(company) as window:
        await window.sign_in_as_operator(town)
        page = await window.open("/console/operations")
        await page.get_by_role("link", name=letter["id"], exact=True).click()
        await page.get_by_label("Value").fill("[1]")
        await page.get_by_role("button", name="Send again").click()
        await expect(page.get_by_role("alert")).to_be_visible()
        await expect(page.get_by_label("Value")).to_have_value("[1]")
        window.expected("422")
        await page.get_by_label("Value").fill('{"corrected": true}')
        await page.get_by_role("button", name="Send again").click()
        await expect(page.get_by_text("Sent to contacts.requests at offset")).to_be_visible()
        assert window.dialogs == ["Send this record again?"] * 2


async def test_a_second_tab_sees_what_the_first_one_did(company: Any, windows: Windows) -> None:
    async with windows.of(company) as window:
        first, lead = await opened_lead(company, window)
        tab = await window.tab()
        second = await tab.open(f"/console/leads/{lead['id']}")
        await second.get_by_label("Why then?").focus()
        await first.get_by_role("button", name="Opt out").click()
        await expect(first.get_by_text("The person is opted out.")).to_be_visible()

        await expect(second.get_by_role("definition").filter(has_text="yes")).to_be_visible()  # without a reload
        await expect(second.get_by_label("Why then?")).to_be_focused()
        await second.get_by_role("button", name="Stop", exact=True).click()
        await expect(second.locator("#notice, .says").filter(has_text="stopped")).not_to_have_count(0)
        assert await is_live(company, lead) is False


async def test_signing_out_in_one_tab_ends_the_other_one(company: Any, windows: Windows) -> None:
    async with windows.of(company) as window:
        first, lead = await opened_lead(company, window)
        second = await (await window.tab()).open("/console")
        await second.get_by_role("button", name="Sign out").click()
        await expect(second.get_by_role("heading", name="Sign in")).to_be_visible()
        await first.get_by_role("button", name="Stop", exact=True).click()
        await expect(first.get_by_text(ENDED)).to_be_visible()
        assert await is_live(company, lead) is True
        window.expected("401")


async def test_a_page_whose_session_has_ended_leads_to_the_sign_in_and_back(
    town: Any, company: Any, windows: Windows
) -> None:
    made = await company.schedule(name="Winter")
    async with windows.of(company) as window:
        page = await window.open("/console/schedules")
        await end_sessions(town, company)
        await page.get_by_role("link", name="Winter").click()
        await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        await window.sign_in(company, ADA)
        assert page.url.endswith(f"/console/schedules/{made['id']}")


async def test_what_was_typed_is_kept_and_sent_after_a_new_sign_in(town: Any, company: Any, windows: Windows) -> None:
    made = await company.schedule(name="Winter")
    async with windows.of(company) as window:
        page = await window.open(f"/console/schedules/{made['id']}")
        await end_sessions(town, company)
        await page.get_by_label("Number").fill("+13055550142")
        await page.get_by_role("button", name="Show").click()
        await expect(page.get_by_text(ENDED)).to_be_visible()
        await page.get_by_role("button", name="Pause").click()
        await expect(page.get_by_text(ENDED)).to_be_visible()
        await expect(page.get_by_label("Number")).to_have_value("+13055550142")
        window.expected("401")

        await sign_in_again(window, company)
        await page.get_by_role("button", name="Pause").click()
        await expect(page.get_by_text(AGAIN)).to_be_visible()
        assert (await company.send("GET", f"/api/v1/schedules/{made['id']}")).json()["schedule"]["paused"] is False
        window.expected("403")
        await page.get_by_role("button", name="Show").click()
        await expect(page.locator("#preview").get_by_text("As a table").first).to_be_visible()
        await expect(page.get_by_text(AGAIN)).to_have_count(0)
        await page.get_by_role("button", name="Pause").click()
        await expect(page.get_by_text("Done: Pause.")).to_be_visible()


async def test_a_dead_letter_is_not_lost_where_the_operators_key_is_revoked_meanwhile(
    town: Any, company: Any, windows: Windows
) -> None:
    letter = await dead_letter(town)
    async with windows.of(company) as window:
        key = await window.sign_in_as_operator(town)
        page = await window.open(f"/console/operations/dead_letters/{letter['id']}")
        await page.get_by_label("Value").fill('{"long": "work"}')
        await PostgresOperators(town.pool).revoke(key)
        await page.get_by_role("button", name="Send again").click()
        await expect(page.get_by_text(ENDED)).to_be_visible()
        await expect(page.get_by_label("Value")).to_have_value('{"long": "work"}')
        window.expected("401")
        await (await window.tab()).sign_in_as_operator(town)
        await page.get_by_role("button", name="Send again").click()
        await expect(page.get_by_text("Sent to contacts.requests at offset")).to_be_visible()


async def test_a_user_who_is_removed_meanwhile_changes_nothing_and_does_not_come_back(
    company: Any, windows: Windows
) -> None:
    await company.record("users", {"name": "Root", "email": "root@example.com", "password": PASSWORD})
    await company.record("access_control_lists", {"name": "Root", "users_emails": ["root@example.com"], "superuser": True})
    async with windows.of(company) as window:
        page, lead = await opened_lead(company, window)
        (user,) = [one for one in (await company.send("GET", "/api/v1/users")).json()["users"] if one["email"] == ADA]
        assert (await company.send("DELETE", f"/api/v1/users/{user['id']}")).status_code < 300
        await page.get_by_role("button", name="Stop", exact=True).click()
        await expect(page.get_by_text(ENDED)).to_be_visible()
        assert await is_live(company, lead) is True
        await page.reload()
        await page.get_by_label("Company number").fill(str(company.id))
        await page.get_by_label("E-mail address").fill(ADA)
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("alert")).to_be_visible()
        await expect(page.get_by_label("E-mail address")).to_have_value(ADA)
        window.expected("401")


async def test_an_editor_who_is_removed_meanwhile_publishes_nothing_and_loses_nothing_typed(
    company: Any, windows: Windows
) -> None:
    await company.record("users", {"name": "Root", "email": "root@example.com", "password": PASSWORD})
    await company.record("access_control_lists", {"name": "Root", "users_emails": ["root@example.com"], "superuser": True})
    made = await company.schedule(name="Winter")
    async with windows.of(company) as window:
        page = await window.open(f"/console/schedules/{made['id']}/edit")
        async with page.expect_response(lambda answer: answer.request.method == "POST"):  # what is typed is judged
            await page.get_by_label("name", exact=True).fill("An hour of work")
        (user,) = [one for one in (await company.send("GET", "/api/v1/users")).json()["users"] if one["email"] == ADA]
        assert (await company.send("DELETE", f"/api/v1/users/{user['id']}")).status_code < 300
        await page.get_by_role("button", name="Publish").click()
        await expect(page.get_by_text(ENDED)).to_be_visible()
        await expect(page.get_by_label("name", exact=True)).to_have_value("An hour of work")
        assert (await company.send("GET", f"/api/v1/schedules/{made['id']}")).json()["schedule"]["name"] == "Winter"
        window.expected("401")


async def test_a_button_that_is_clicked_twice_acts_once(company: Any, windows: Windows) -> None:
    made = await company.schedule(name="Winter")
    async with windows.of(company) as window:
        page = await window.open(f"/console/schedules/{made['id']}")
        posted: list[str] = []
        page.on("request", lambda request: posted.append(request.url) if request.method == "POST" else None)
        await page.get_by_role("button", name="Pause").dblclick()
        await expect(page.get_by_text("Done: Pause.")).to_be_visible()
        assert len(posted) == 1
