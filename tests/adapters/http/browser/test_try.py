"""Can a visitor of the API's page send an operation with a key, and is the key nowhere but in that request?"""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import Locator, Page, Request, expect

from adapters.http.exchange.problems import DOCUMENTATION_PATH
from tests.adapters.http.browser.conftest import AXE, RULES, Window, Windows
from tests.adapters.http.browser.test_keyboard import tab_to

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.browser]

KEY = re.compile("^Key")

WHERE_A_PAGE_KEEPS_THINGS = (
    "() => JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href, history.state])"
)
OF_ELEMENT = "([element, rules]) => axe.run(element, {runOnly: rules, resultTypes: ['violations']})"


@asynccontextmanager
async def reference_page(windows: Windows) -> AsyncIterator[tuple[Window, list[Request]]]:
    """Open the API's page; yield its window and the requests of operations that it sends."""
    async with windows.new() as window:
        sent: list[Request] = []
        window.page.on("request", lambda request: sent.append(request) if "/api/v1/" in request.url else None)
        await window.open(DOCUMENTATION_PATH)
        yield window, sent


def _operation(page: Page, name: str) -> Locator:
    return page.locator("main details.op", has=page.locator(f"#{name}"))


async def _try(page: Page, name: str) -> Locator:
    """Open the form of an operation, and return it."""
    operation = _operation(page, name)
    await operation.locator(":scope > summary").click()
    await operation.get_by_role("button", name="Try it").click()
    form = page.get_by_role("region", name=f"Try {name}", exact=True)
    await expect(form.get_by_role("button", name="Send")).to_be_visible()
    return form


def _key(company: Any) -> str:
    return f"{company.public_key}:{company.private_key}"


async def test_a_list_is_read_without_a_mouse_and_the_key_stays_in_memory(company: Any, windows: Windows) -> None:
    made = await company.record("offers", {"name": "Solar roofs"})
    async with reference_page(windows) as (window, sent):
        page = window.page
        operation = _operation(page, "list_offers")
        await operation.locator(":scope > summary").focus()
        await page.keyboard.press("Enter")
        await tab_to(page, operation.get_by_role("button", name="Try it"))
        await page.keyboard.press("Enter")
        form = page.get_by_role("region", name="Try list_offers")
        await expect(form.get_by_label(KEY)).to_be_focused()
        await page.keyboard.type(_key(company))
        await tab_to(page, form.get_by_text("optional fields"))
        await page.keyboard.press("Enter")
        await tab_to(page, form.get_by_label(re.compile("^per_page")))
        await page.keyboard.type("1")
        await page.keyboard.press("Enter")
        await expect(form.get_by_role("status")).to_contain_text("200 OK")
        await expect(form.locator("pre")).to_contain_text(f'"id": {made["id"]}')

        [request] = sent
        assert request.url == f"{windows.base}/api/v1/offers?per_page=1"
        assert (await request.all_headers())["authorization"] == company.headers["Authorization"]
        assert company.private_key not in await page.evaluate(WHERE_A_PAGE_KEEPS_THINGS)
        assert company.private_key not in await page.content()
        await page.evaluate(AXE)
        found = await page.evaluate(OF_ELEMENT, [await form.element_handle(), RULES])
        assert [violation["id"] for violation in found["violations"]] == []
        other = await _try(page, "list_buyers")
        await expect(other.get_by_label(KEY)).to_have_value(_key(company))
        assert await window.violations() == []

        await page.reload(wait_until="load")
        again = await _try(page, "list_buyers")
        await expect(again.get_by_label(KEY)).to_have_value("")


async def test_what_changes_something_is_sent_once_for_each_time_that_its_name_is_typed(
    company: Any, windows: Windows
) -> None:
    async with reference_page(windows) as (window, sent):
        form = await _try(window.page, "create_offer")
        await form.get_by_label(KEY).fill(_key(company))
        await form.get_by_label("Body, as JSON").fill('{"name": "Tried"}')
        send, said = form.get_by_role("button", name="Send"), form.get_by_role("status")
        await send.click()
        await expect(said).to_have_text("Not sent: type create_offer to send it.")
        typed = form.get_by_label("Type create_offer")
        await expect(typed).to_be_focused()
        await typed.fill("create_offers")
        await send.click()
        await expect(said).to_have_text("Not sent: type create_offer to send it.")
        assert sent == []

        await typed.fill("create_offer")
        await send.click()
        await expect(said).to_contain_text("201 Created")
        await expect(typed).to_have_value("")
        await send.click()
        await expect(said).to_have_text("Not sent: type create_offer to send it.")
        assert len(sent) == 1
        assert await window.violations() == []
    listed = (await company.send("GET", "/api/v1/offers")).json()["offers"]
    assert [offer["name"] for offer in listed] == ["Tried"]


async def test_the_form_says_what_is_missing_and_shows_a_refusal(company: Any, windows: Windows) -> None:
    offer = await company.record("offers", {"name": "Solar roofs"})
    async with reference_page(windows) as (window, sent):
        form = await _try(window.page, "update_offer_put")
        send, said = form.get_by_role("button", name="Send"), form.get_by_role("status")
        await send.click()
        await expect(said).to_have_text("Fill in id.")
        await expect(form.get_by_label(re.compile(r"^id \(path"))).to_be_focused()
        await form.get_by_label(re.compile(r"^id \(path")).fill(str(offer["id"]))
        await form.get_by_label("Body, as JSON").fill("{name}")
        await send.click()
        await expect(said).to_contain_text("The body is no JSON")
        assert sent == []
        await form.get_by_label("Body, as JSON").fill('{"name": "Tried"}')
        await form.get_by_label(KEY).fill("pk_wrong:sk_wrong")
        await form.get_by_label("Type update_offer_put").fill("update_offer_put")
        await send.click()
        await expect(said).to_contain_text("401 ")
        await expect(form.locator("pre")).to_contain_text("unauthenticated")
        window.expected("401 ")
    assert (await company.send("GET", f"/api/v1/offers/{offer['id']}")).json()["offer"]["name"] == "Solar roofs"
