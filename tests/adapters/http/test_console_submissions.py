"""Does somebody see in the console what came without a key for stored leads, and decide about it there?"""

from typing import Any

import pytest

from tests.adapters.http.console_browser import visitor

pytestmark = pytest.mark.asyncio(loop_scope="session")

PAGE = "/console/submissions"
NUMBER = "+12125550142"


async def kept(town: Any, company: Any, *values: str) -> list[dict[str, Any]]:
    """Let strangers send values for a stored lead; return what waits, the newest first."""
    known = {"lead_token": (await company.schedule())["lead_token"], "caller_id": NUMBER}
    assert (await company.send("POST", "/api/v1/leads", json=known)).status_code == 201
    for value in values:
        assert (await town.client.post("/api/v1/leads", json={**known, "roof": value})).status_code == 201
    found: list[dict[str, Any]] = (await company.send("GET", "/api/v1/kept_submissions")).json()["kept_submissions"]
    return found


async def test_the_first_page_says_how_many_wait_and_each_is_accepted_or_discarded(town: Any, company: Any) -> None:
    newest, oldest = await kept(town, company, "flat", "<b>steep</b>")
    browser = await visitor(town, company)
    assert "2 submissions without a key wait beside stored leads" in (await browser.get("/console")).text
    page = await browser.get(PAGE)
    assert page.status_code == 200, page.text
    assert "&lt;b&gt;steep&lt;/b&gt;" in page.text
    await browser.post(f"{PAGE}/{newest['id']}", {"decision": "discard"})
    await browser.post(f"{PAGE}/{oldest['id']}", {"decision": "accept"})
    (lead,) = (await company.send("GET", "/api/v1/leads")).json()["leads"]
    assert lead["data"] == {"roof": "flat"}
    assert "No submission waits" in (await browser.get(PAGE)).text
    gone = await browser.post(f"{PAGE}/{oldest['id']}", {"decision": "accept"})
    assert gone.headers["location"] == f"{PAGE}?done=gone"
