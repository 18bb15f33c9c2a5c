"""Can an operator stop all contacting of every company in the console, on purpose alone, and nobody else?

On a deployment of its own: everybody in it is held.
"""

import re
from typing import Any

import pytest
import pytest_asyncio

from adapters.operator import contact_holds
from tests.adapters.http.conftest import GATEWAY, Town, serve_every_channel
from tests.adapters.http.console_browser import visitor
from tests.adapters.http.test_console_pages import operator_browser
from tests.adapters.http.test_operator import obey_all_rules

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = "/console/operations/holds"
FORM = {"reason": "Wrong <b>prices</b>", "confirm": "STOP"}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def town(own_town: Town) -> Town:
    """Alone: everybody is held."""
    return own_town


async def test_every_company_is_held_and_released_each_after_its_word_was_typed(town: Any, company: Any) -> None:
    await obey_all_rules(town)
    browser = await operator_browser(town)
    await browser.get(PATH)
    for typed in ("", "stop", "GO ON"):
        refused = await browser.post(PATH, {**FORM, "confirm": typed})
        assert (refused.status_code, "Type STOP to confirm." in refused.text) == (422, True), typed
    made = await browser.post(PATH, FORM)
    assert (made.status_code, "Contacting is on hold." in made.text) == (200, True), made.text
    assert "every company" in made.text
    user = await visitor(town, company)
    assert "Contacting is on hold since" in (await user.get("/console")).text
    (release,) = re.findall(rf'action="({PATH}/\d+/release)"', made.text)

    refused = await browser.post(release, {"confirm": "STOP"})
    assert refused.status_code == 422
    released = await browser.post(release, {"confirm": "GO ON"})
    assert (released.status_code, "The hold is released." in released.text) == (200, True)
    assert "Nothing is on hold." in (await browser.get(PATH)).text
    assert "Contacting is on hold since" not in (await user.get("/console")).text


async def test_a_gateway_that_has_not_confirmed_is_named(town: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contact_holds, "CONFIRMED_WITHIN_SECONDS", 0.0)
    await serve_every_channel(town.pool)
    browser = await operator_browser(town)
    await browser.get(PATH)
    made = (await browser.post(PATH, FORM)).text

    assert re.search(rf"stop these gateways by hand: [^<]*{re.escape(GATEWAY)}", made)
    for release in re.findall(rf'action="({PATH}/\d+/release)"', made):
        await browser.post(release, {"confirm": "GO ON"})


async def test_the_user_of_a_company_is_refused(town: Any, company: Any) -> None:
    browser = await visitor(town, company)
    assert (await browser.post(PATH, FORM)).status_code == 401
    assert "Contacting is on hold since" not in (await browser.get("/console")).text
