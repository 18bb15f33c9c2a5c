"""Does a person sign in by an identity provider that others wrote (npm `oidc-provider`), in a real browser?"""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from adapters.http.console.issuer_pages import UNKNOWN
from adapters.http.exchange.issuers import KEYS_AGAIN_SECONDS
from adapters.http.sign_in.issuer_sign_in import NOT_REACHED
from tests.adapters.http.browser.conftest import WAIT_MILLISECONDS
from tests.adapters.http.test_sign_in import superusers
from tests.issuers.conftest import CLIENT, SECRET, Place, Provider

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.browser]

BUTTON = "Sign in with Acme ID"


@asynccontextmanager
async def tab(chromium: Browser) -> AsyncIterator[Page]:
    """A page of a person who is signed in nowhere. The issuer's certificate is signed by itself."""
    context = await chromium.new_context(ignore_https_errors=True)
    context.set_default_timeout(WAIT_MILLISECONDS)
    # The provider's pages ask for a font of another site.
    await context.route("**/*", lambda route: route.continue_() if _is_ours(route.request.url) else route.abort())
    yield await context.new_page()
    await context.close()


def _is_ours(url: str) -> bool:
    return "127.0.0.1" in url or "id.test" in url


async def set_up(company: Any, provider: Provider, *people: str, **fields: Any) -> list[str]:
    """Give a company the issuer; return the links of invitations."""
    given = {
        "sign_in_issuer": provider.issuer,
        "sign_in_client_id": CLIENT,
        "sign_in_client_secret": SECRET,
        "sign_in_name": "Acme ID",
        **fields,
    }
    answer = await company.send("PUT", "/api/v1/company", json=given)
    assert answer.status_code == 200, answer.text
    found = []
    for email in people:
        invitation = await company.send("POST", "/api/v1/invitations", json={"email": email})
        found.append(invitation.json()["invitation"]["url"])
    return found


async def sign_in_there(page: Page, subject: str) -> None:
    """Sign in on the provider's own pages, and agree to what it asks."""
    await page.locator("input[name=login]").fill(subject)
    await page.locator("input[name=password]").fill("whatever")
    await page.locator("button[type=submit]").click()
    await page.get_by_role("button", name="Continue").click()


async def test_a_person_is_invited_links_an_identity_signs_out_and_signs_in_with_it(
    place: Place, company: Any, provider: Provider, chromium: Browser
) -> None:
    await superusers(company, "ada@example.com")
    (link,) = await set_up(company, provider, "ada@example.com", sign_in_email_domain="example.com")
    async with tab(chromium) as page:
        await page.goto(link)
        await expect(page.get_by_label("Password, of at least 12 characters")).to_be_visible()
        await page.get_by_role("button", name=BUTTON).click()
        await sign_in_there(page, "ada")
        await expect(page.get_by_role("button", name="Sign out")).to_be_visible()
        await expect(page.get_by_text("ada@example.com").first).to_be_visible()
        assert page.url == f"{place.base}/console"

        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_label("Password")).to_be_visible()
        await page.goto(f"{place.base}/console/sign-in?company_id={company.id}")
        await page.get_by_role("button", name=BUTTON).click()  # the provider knows the browser
        await expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    async with tab(chromium) as page:  # in a browser that neither side knows
        await page.goto(f"{place.base}/console/leads")
        await page.get_by_label("Your company number").fill(str(company.id))
        await page.get_by_role("button", name="Sign in with it").click()
        await sign_in_there(page, "ada")
        await expect(page.get_by_role("heading", name="Leads", exact=True)).to_be_visible()
    (user,) = (await company.send("GET", "/api/v1/users")).json()["users"]
    assert (user["state"], user["has_password"], user["identity_issuer"]) == ("active", False, provider.issuer)


async def test_strangers_rotated_keys_and_an_issuer_that_moves_to_a_private_address(
    place: Place, company: Any, provider: Provider, chromium: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    (link,) = await set_up(company, provider, "grace@example.com")
    page_of_company = f"{place.base}/console/sign-in?company_id={company.id}"
    async with tab(chromium) as page:
        await page.goto(link)
        await page.get_by_role("button", name=BUTTON).click()
        await sign_in_there(page, "grace")
        await expect(page.get_by_role("button", name="Sign out")).to_be_visible()

    async def signs_in(subject: str, sees: str) -> None:
        async with tab(chromium) as page:
            await page.goto(page_of_company)
            await page.get_by_role("button", name=BUTTON).click()
            await sign_in_there(page, subject)
            await expect(page.get_by_text(sees).first).to_be_visible()

    await signs_in("stranger", UNKNOWN)
    await provider.rotate()
    later = time.monotonic() + KEYS_AGAIN_SECONDS
    monkeypatch.setattr(place.town.issuers, "_monotonic", lambda: later)
    await signs_in("grace", "Sign out")
    place.names.found = ["10.0.0.1", "169.254.169.254"]
    try:
        await signs_in("grace", NOT_REACHED)
    finally:
        place.names.found = ["127.0.0.1"]
    await signs_in("grace", "Sign out")
