"""Can an operator verify and rebuild the projection on the Operations page, and nobody else?

On a whole deployment: its projector carries the jobs out.
"""

import asyncio
from typing import Any

import pytest
import pytest_asyncio

from tests.adapters.http.conftest import WAIT_SECONDS, Town
from tests.adapters.http.console_browser import Browser, visitor
from tests.adapters.http.test_console_pages import lead, operator_browser
from tests.adapters.http.test_operator import operator_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

PAGE = "/console/operations"
CONFLICT, UNPROCESSABLE = 409, 422


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def town(own_town: Town) -> Town:
    """Alone: the projection is verified and rebuilt as a whole."""
    return own_town


async def ended_page(browser: Browser) -> str:
    """Return the part of the page once its job has ended: it asks for itself no more then."""
    async with asyncio.timeout(WAIT_SECONDS):
        while "hx-get" in (part := (await browser.get(f"{PAGE}/projection")).text):
            await asyncio.sleep(0.05)
    return part


async def test_the_buttons_refuse_the_user_of_a_company(town: Any, company: Any) -> None:
    user = await visitor(town, company)
    before = (await (await operator_of(town)).get("projection/jobs"))["jobs"]
    for path in ("verify", "rebuild", "cancel"):
        answer = await user.post(f"{PAGE}/projection/{path}", {"confirm": path, "job": "1"})
        assert answer.status_code == 401, (path, answer.text)
    assert (await (await operator_of(town)).get("projection/jobs"))["jobs"] == before


async def test_the_page_names_a_row_that_differs_and_a_typed_rebuild_repairs_it_while_reads_go_on(
    town: Any, company: Any
) -> None:
    lead_id = (await lead(company, await company.schedule(), 2))["id"]
    browser = await operator_browser(town)
    await browser.get(PAGE)
    await town.pool.execute("UPDATE read.leads SET name = '<script>' WHERE id = $1", lead_id)
    asked = await browser.post(f"{PAGE}/projection/verify", {"confirm": "verify"})
    assert (asked.status_code, asked.headers["location"]) == (303, PAGE), asked.text
    whole = (await browser.get(PAGE)).text
    assert 'hx-get="/console/operations/projection"' in whole
    assert "Cancel" in whole
    part = await ended_page(browser)
    assert "Rows differ in 1 place." in part
    assert f"{company.id}/{lead_id}" in part
    assert ">leads<" in part

    wrong = await browser.post(f"{PAGE}/projection/rebuild", {"confirm": "Rebuild it", "accept": "true"})
    assert wrong.status_code == UNPROCESSABLE
    assert 'value="Rebuild it"' in wrong.text
    assert "must be rebuild" in wrong.text
    asked = await browser.post(f"{PAGE}/projection/rebuild", {"confirm": "rebuild", "accept": "true"})
    assert asked.status_code == 303, asked.text
    reading = asyncio.create_task(_read(company, lead_id))
    second = await browser.post(f"{PAGE}/projection/verify", {"confirm": "verify"})
    assert second.status_code == CONFLICT
    assert "has not ended: wait for it, or cancel it." in second.text
    part = await ended_page(browser)
    assert "The new projection is the one that is read now; rows differed before." in part
    reading.cancel()
    [end] = await asyncio.gather(reading, return_exceptions=True)
    assert isinstance(end, asyncio.CancelledError), end
    shown = await company.send("GET", f"/api/v1/leads/{lead_id}")
    assert shown.json()["lead"]["name"] != "<script>"
    assert "projection.rebuild_requested" in (await browser.get(PAGE)).text


async def _read(company: Any, lead_id: int) -> None:
    """Read until cancelled. Raises where a read fails."""
    while True:
        answer = await company.send("GET", f"/api/v1/leads/{lead_id}")
        assert answer.status_code == 200, answer.text
        await asyncio.sleep(0.02)


async def test_the_page_cancels_a_job(town: Any) -> None:
    browser, operator = await operator_browser(town), await operator_of(town)
    await browser.get(PAGE)
    await browser.post(f"{PAGE}/projection/verify", {"confirm": "verify"})
    job = (await operator.get("projection/jobs", limit=1))["jobs"][0]
    answer = await browser.post(f"{PAGE}/projection/cancel", {"job": str(job["id"])})
    assert answer.status_code == 303, answer.text
    assert "It was canceled" in await ended_page(browser)
    assert (await browser.post(f"{PAGE}/projection/cancel", {"job": ""})).status_code == 404
    forged = await browser.post(f"{PAGE}/projection/verify", {"confirm": "verify"}, headers={"X-CSRF-Token": ""})
    assert forged.status_code == 403
