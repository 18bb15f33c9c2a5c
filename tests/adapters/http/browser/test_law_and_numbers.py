"""Does a browser show when the law lets people be called, take the number of an unread opt-out, and show consents?"""

from typing import Any

import pytest
from playwright.async_api import expect

from tests.adapters.http.browser.conftest import TELEPHONE, Window, Windows
from tests.adapters.http.furnished import NUMBER, submit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.browser]

CHRISTMAS = "2026-12-25"
"""Pennsylvania lets nobody be called on a legal holiday (Act 73 of 2019); Kansas has no such rule."""

WORDS = "I agree to calls and texts about solar panels at the number above, also by an autodialer."
CERTIFICATE = "https://cert.trustedform.com/0000000000000000000000000000000000000000"


async def fits(window: Window) -> None:
    """Hold that a page is readable by everybody, also on a telephone."""
    assert await window.axe() == []
    await window.page.set_viewport_size(TELEPHONE)
    assert await window.axe() == []
    widths = await window.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert widths[0] <= widths[1], widths
    assert await window.violations() == []


async def test_the_map_of_law_shows_which_states_are_closed_on_a_day_that_is_chosen(company: Any, windows: Windows) -> None:
    async with windows.of(company) as window:
        page = await window.open("/console/compliance")
        picture = page.locator(".pic-on-wide svg").first
        await expect(picture).not_to_contain_text("closed all day")
        await page.get_by_label("Calling hours of").fill(CHRISTMAS)
        await page.get_by_label("Channel").select_option("calls")
        await page.get_by_role("button", name="Show").click()
        await page.wait_for_url(f"**day={CHRISTMAS}**")  # the answer is asked for first, and opened then
        await expect(page.get_by_label("Calling hours of")).to_have_value(CHRISTMAS)
        await expect(picture).to_contain_text("Calls allowed by law")
        await page.get_by_text("As a table").first.click()
        row = page.get_by_role("row").filter(has_text="Pennsylvania (PA)")
        await expect(row).to_contain_text("closed all day")
        await expect(row).to_contain_text("us-pa")
        await expect(page.get_by_role("row").filter(has_text="Kansas (KS)")).not_to_contain_text("closed all day")
        await expect(picture.locator("title", has_text="Pennsylvania: closed")).to_have_count(1)

        await page.get_by_label("Purpose").select_option("informational")
        await page.get_by_role("button", name="Show").click()
        await page.wait_for_url("**purpose=informational**")
        await page.get_by_text("As a table").first.click()
        await expect(row).not_to_contain_text("closed all day")
        await fits(window)


async def test_an_opt_out_that_nobody_could_read_is_settled_by_typing_the_number_that_was_meant(
    company: Any, windows: Windows
) -> None:
    lead = await submit(company, await company.schedule(), NUMBER, full_name="Ada Lovelace")
    for number in ("305-555-XXXX", "72345"):
        text = {"from": number, "to": "+12125550150", "text_ref": f"{company.id}/{number}", "body": "STOP"}
        assert (await company.send("POST", "/api/v1/texts/received", json=text)).status_code < 300
    async with windows.of(company) as window:
        page = await window.open("/console")
        await expect(
            page.get_by_text("2 texts, or opt-outs of numbers that cannot be read, wait for a decision")
        ).to_be_visible()
        await window.open("/console/compliance")
        await page.get_by_role("link", name="Review them").click()
        cards = page.locator("[data-review]")
        await expect(cards).to_have_count(2)
        unread = cards.filter(has_text="305-555-XXXX")
        await expect(unread).to_contain_text("An opt-out whose number cannot be read")
        await fits(window)

        await unread.get_by_label("Numbers").fill("no number")
        await unread.get_by_role("button", name="It is an opt-out").click()
        said = "has no telephone number in 'no number'; write it as +13055550123"
        await expect(page.locator("#refusal")).to_contain_text(said)
        window.expected("422")
        await window.open("/console/compliance/reviews")
        await unread.get_by_label("Numbers").fill(NUMBER)
        await unread.get_by_role("button", name="It is an opt-out").click()
        await expect(cards).to_have_count(1)
        await cards.get_by_role("button", name="It is not").click()
        await expect(page.get_by_text("No text waits.")).to_be_visible()
    shown = (await company.send("GET", f"/api/v1/leads/{lead['id']}")).json()["lead"]
    assert (shown["status"], shown["opt_out"]) == ("opt_out", True)


async def test_what_a_person_consented_to_is_on_the_page_of_the_lead(company: Any, windows: Windows) -> None:
    stated = [
        {"kind": "form", "text": WORDS, "certificate": CERTIFICATE, "at": "2026-06-16T15:30:00Z", "address": "192.0.2.7"},
        {"kind": "contract", "text": "Contract 4711 in progress"},
    ]
    lead = await submit(company, await company.schedule(), NUMBER, consent=stated, data={"roof": "slate"})
    async with windows.of(company) as window:
        page = await window.open(f"/console/leads/{lead['id']}")
        card = page.locator("#consents")
        await expect(card.get_by_text(WORDS)).to_be_visible()
        await expect(card.get_by_role("link", name=CERTIFICATE)).to_have_attribute("href", CERTIFICATE)
        await expect(card).to_contain_text("192.0.2.7")
        await expect(card.get_by_role("heading", level=3)).to_have_text(["form", "contract"])
        await page.get_by_text("Tokens", exact=True).click()
        await expect(page.get_by_text("roof", exact=True)).to_be_visible()
        await expect(page.get_by_text("{'kind'")).to_have_count(0)
        await fits(window)


async def test_further_numbers_are_shown_and_said_to_be_never_dialled(company: Any, windows: Windows) -> None:
    further = {"phone2": "+12125550199", "alternate_numbers": ["+12125550198", "212-555-0197"]}
    lead = await submit(company, await company.schedule(), NUMBER, **further)
    async with windows.of(company) as window:
        page = await window.open(f"/console/leads/{lead['id']}")
        numbers = page.get_by_text("+12125550199, +12125550198, 212-555-0197")
        await expect(numbers).to_be_visible()
        await expect(numbers).to_contain_text("never dialled")
        await fits(window)
    contacts = (await company.send("GET", "/api/v1/contacts")).json()["contacts"]
    assert [one["caller_id"] for one in contacts] == [NUMBER]
