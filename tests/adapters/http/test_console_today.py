"""Is Today there within a second, with what is known by then, and does it say that the rest comes?"""

import asyncio
from typing import Any

import pytest

from adapters.http.console import today_page
from adapters.http.console.today_page import find_answers
from tests.adapters.http.conftest import WAIT_SECONDS
from tests.adapters.http.console_browser import Browser, invite, visitor
from tests.adapters.http.test_console_pages import PART, lead

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def answer(value: Any, seconds: float = 0.0) -> Any:
    await asyncio.sleep(seconds)
    return value


async def refuse(seconds: float) -> Any:
    await asyncio.sleep(seconds)
    raise LookupError("no such answer")


async def test_what_is_not_answered_in_time_is_named_and_not_awaited() -> None:
    now = asyncio.get_running_loop().time()
    known, late = await find_answers({"soon": answer(1), "never": answer(2, 3_600)}, now + 0.05)
    assert known == {"soon": 1, "never": None}
    assert late == {"never"}
    assert await find_answers({"soon": answer(1), "later": answer(2, 0.05)}, None) == (
        {"soon": 1, "later": 2},
        frozenset[str](),
    )


async def test_a_question_that_fails_in_time_fails_the_page() -> None:
    now = asyncio.get_running_loop().time()
    with pytest.raises(LookupError):
        await find_answers({"wrong": refuse(0.0), "never": answer(2, 3_600)}, now + 3_600)


async def test_a_page_that_is_not_counted_yet_says_so_and_asks_for_the_rest(
    town: Any, company: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await lead(company, await company.schedule(name="Winter"), 1301)
    monkeypatch.setattr(today_page, "LOAD_SECONDS", 0.0)
    await invite(company, "ada@example.com", superuser=True)
    browser = Browser(town)
    assert (await browser.sign_in(company, "ada@example.com")).status_code == 303
    page = await browser.get("/console")  # the first one: nobody has asked for an answer that is shared
    assert page.status_code == 200
    assert 'hx-get="/console/today" hx-trigger="load, renew"' in page.text
    assert "Counting … What is not here yet appears by itself." in page.text
    for verdict in ("Nothing needs you", "Nothing here yet", "Nothing is shown to you yet"):
        assert verdict not in page.text, "nobody knows that yet"
    part = await browser.get("/console/today", headers=PART)
    assert "Counting" not in part.text
    assert "submitted in an hour" in part.text
    monkeypatch.setattr(today_page, "LOAD_SECONDS", WAIT_SECONDS)
    whole = await browser.get("/console")
    assert 'hx-get="/console/today" hx-trigger="renew"' in whole.text
    assert "Counting" not in whole.text


async def test_a_page_of_whom_nothing_is_granted_says_so_once_that_is_known(town: Any, company: Any) -> None:
    nobody = await visitor(town, company, permissions={"offer": {"actions": ["read"]}})
    assert "Nothing is shown to you yet" in (await nobody.get("/console")).text
