"""Can a person stop all contacting and let it go on, on purpose alone, and does every page say so meanwhile?"""

import re
from html import unescape
from typing import Any

import pytest

from tests.adapters.http.console_browser import visitor

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = "/console/hold"
PAGES = ("/console", "/console/leads", "/console/schedules", PATH)


async def holds_of(company: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await company.send("GET", "/api/v1/contact_holds")).json()["contact_holds"]
    return found


async def test_contacting_is_stopped_and_released_each_after_its_word_was_typed(town: Any, company: Any) -> None:
    browser = await visitor(town, company)
    for typed in ("", "stop", "STOP "):
        refused = await browser.post(PATH, {"reason": "Wrong <b>prices</b>", "confirm": typed})
        assert (refused.status_code, "Type STOP to confirm." in refused.text) == (422, True), typed
        assert 'value="Wrong &lt;b&gt;prices&lt;/b&gt;"' in refused.text
    assert await holds_of(company) == []

    made = await browser.post(PATH, {"reason": "Wrong <b>prices</b>", "channel": "sms", "confirm": "STOP"})
    assert made.headers["location"] == f"{PATH}?done=held"
    (hold,) = await holds_of(company)
    assert (hold["reason"], hold["channels"], hold["hang_up"]) == ("Wrong <b>prices</b>", ["sms"], False)
    for path in PAGES:
        text = unescape((await browser.get(path)).text)
        assert "Contacting is on hold since" in text, path
    page = (await browser.get(made.headers["location"])).text
    (release,) = re.findall(rf'action="({PATH}/\d+/release)"', page)

    refused = await browser.post(release, {"confirm": "STOP"})
    assert (refused.status_code, len(await holds_of(company))) == (422, 1)
    released = await browser.post(release, {"confirm": "GO ON"})
    assert released.headers["location"] == f"{PATH}?done=released"
    assert await holds_of(company) == []
    assert "Contacting is on hold" not in (await browser.get("/console")).text


async def test_a_hold_without_a_reason_is_refused_by_the_field(town: Any, company: Any) -> None:
    browser = await visitor(town, company)
    refused = await browser.post(PATH, {"reason": " ", "confirm": "STOP"})
    assert (refused.status_code, "<strong>reason</strong>" in refused.text) == (422, True)


async def test_a_company_neither_sees_nor_releases_the_hold_of_another_one(town: Any, company: Any, other: Any) -> None:
    made = await other.record("contact_holds", {"reason": "theirs", "channels": ["webhook"]})
    browser = await visitor(town, company)
    assert "Contacting is on hold" not in (await browser.get("/console")).text
    refused = await browser.post(f"{PATH}/{made['id']}/release", {"confirm": "GO ON"})
    assert refused.status_code == 404
    assert len(await holds_of(other)) == 1
