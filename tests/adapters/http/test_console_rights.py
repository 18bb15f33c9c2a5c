"""Does every page hold to what a team grants? A page, button or field that it lacks is not there, and is refused.

Each row of `PAGES` is asked for, and each button that a superuser sees is pressed, so that a new page needs no line here.
"""

from collections.abc import AsyncIterator, Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
import pytest_asyncio

from adapters.http.console.page_table import PAGES
from engine.account.teams import PERMISSIONS
from engine.views.hidden_fields import HIDEABLE
from tests.adapters.http.conftest import Company, Town
from tests.adapters.http.console_browser import Browser, invite, visitor
from tests.adapters.http.furnished import NUMBER, Furnished, furnish

pytestmark = pytest.mark.asyncio(loop_scope="session")

EVERYTHING: dict[str, dict[str, Any]] = {model: {"actions": list(actions)} for model, actions in PERMISSIONS.items()}
READING: dict[str, dict[str, Any]] = {
    model: {"actions": ["read"]} for model, actions in PERMISSIONS.items() if "read" in actions
}

SHOWN = frozenset({200, 422})
"""Of a page, and of a part that needs what a form sends."""
WITHHELD = frozenset({403, 404})

PERSONS = ("lead", "contact", "call", "conversion", "impression", "audit_log")
"""Models that name the person of a lead."""

SECRETS = ("Ada Lovelace", NUMBER, NUMBER.removeprefix("+1"), "(212) 555-0187", "slate")


class Forms(HTMLParser):
    """Collects what each button of a page would send."""

    def __init__(self) -> None:
        super().__init__()
        self.action = ""
        self.fields: dict[str, str] = {}
        self.sent: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.action, self.fields = (given.get("action", "") if given.get("method") == "post" else ""), {}
        elif tag in {"input", "textarea", "select"} and given.get("name", "csrf") != "csrf":
            self.fields[given["name"]] = given.get("value", "")
        elif tag == "button" and self.action and not self.action.endswith("/sign-out"):
            chosen = {given["name"]: given.get("value", "")} if "name" in given else {}
            self.sent.append((self.action, {**self.fields, **chosen}))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.action = ""


def buttons(text: str) -> list[tuple[str, dict[str, str]]]:
    """Return the path and the fields of each button of a page."""
    forms = Forms()
    forms.feed(text)
    return forms.sent


class Pages:
    """A company of which there is something on every page."""

    def __init__(self, town: Town, company: Company, made: Furnished) -> None:
        self.town, self.company, self.made = town, company, made

    def paths(self) -> Iterator[str]:
        for page in PAGES:
            if page.method == "GET" and page.access == "user":
                yield self.made.path(page.path)

    async def member(self, name: str, permissions: dict[str, dict[str, Any]]) -> "Member":
        """Return a new user of a team of its own."""
        email = f"{name}@example.com"
        await invite(self.company, email, permissions=permissions)
        found = await self.company.send("GET", "/api/v1/access_control_lists", params={"per_page": "100"})
        (team,) = [one for one in found.json()["access_control_lists"] if one["name"] == f"Team of {email}"]
        browser = Browser(self.town)
        assert (await browser.sign_in(self.company, email)).status_code == 303
        return Member(self, team["id"], browser)


class Member:
    """Somebody whose team changes."""

    def __init__(self, pages: Pages, team_id: int, browser: Browser) -> None:
        self.pages, self.team_id, self.browser = pages, team_id, browser

    async def grant(self, permissions: dict[str, dict[str, Any]]) -> None:
        path = f"/api/v1/access_control_lists/{self.team_id}"
        changed = await self.pages.company.send("PUT", path, json={"permissions": permissions})
        assert changed.status_code == 200, changed.text
        await self.pages.town.context.rules.refresh()

    async def texts(self) -> dict[str, tuple[int, str]]:
        """Return status and text of every page."""
        answers = {path: await self.browser.get(path) for path in self.pages.paths()}
        return {path: (answer.status_code, answer.text) for path, answer in answers.items()}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def pages(town: Town) -> AsyncIterator[Pages]:
    company = await town.company()
    yield Pages(town, company, await furnish(town, company))


async def test_each_button_that_a_reader_lacks_is_not_there_and_its_request_is_refused(pages: Pages) -> None:
    root = await visitor(pages.town, pages.company, "root@example.com")
    reader = await pages.member("reader", READING)
    offered = {path: buttons((await root.get(path)).text) for path in pages.paths()}
    assert len([button for found in offered.values() for button in found]) >= 5
    for path, found in offered.items():
        shown = await reader.browser.get(path)
        assert shown.status_code in SHOWN | WITHHELD, (path, shown.text)
        assert buttons(shown.text) == [], path
        for action, fields in found:
            refused = await reader.browser.post(action or path, fields)
            assert refused.status_code in WITHHELD, (action, fields, refused.status_code)
    assert {path: buttons((await root.get(path)).text) for path in pages.paths()} == offered, "nothing was changed"


async def test_a_page_of_which_a_team_lacks_something_is_not_in_the_menu_or_shows_the_rest(pages: Pages) -> None:
    member = await pages.member("lacking", EVERYTHING)
    for model in PERMISSIONS:
        await member.grant({name: given for name, given in EVERYTHING.items() if name != model})
        texts = await member.texts()
        menu = texts["/console"][1]
        for path, (status, text) in texts.items():
            assert status in SHOWN | WITHHELD, (model, path, text)
            assert status in SHOWN or f'<li><a href="{path}"' not in menu, (model, path, text)


async def test_every_page_is_shown_without_a_field_that_a_team_hides(pages: Pages) -> None:
    member = await pages.member("hiding", EVERYTHING)
    for model, columns in HIDEABLE.items():
        hidden = {"actions": list(PERMISSIONS[model]), "fields": dict.fromkeys(sorted(columns), "none")}
        await member.grant({**EVERYTHING, model: hidden})
        for path, (status, text) in (await member.texts()).items():
            assert status in SHOWN | WITHHELD, (model, path, text)


@pytest.mark.parametrize("model", ["lead", "contact", "call"])
async def test_every_page_is_shown_without_one_field_of_a_person(pages: Pages, model: str) -> None:
    member = await pages.member(f"without-{model}", EVERYTHING)
    for column in sorted(HIDEABLE[model]):
        await member.grant({**EVERYTHING, model: {"actions": list(PERMISSIONS[model]), "fields": {column: "none"}}})
        for path, (status, text) in (await member.texts()).items():
            assert status in SHOWN | WITHHELD, (column, path, text)


async def test_no_page_shows_who_the_person_is_to_a_team_that_hides_it(pages: Pages) -> None:
    hides = {
        model: {"actions": list(PERMISSIONS[model]), "fields": dict.fromkeys(sorted(HIDEABLE[model]), "none")}
        for model in PERSONS
        if model in HIDEABLE
    }
    sees = await visitor(pages.town, pages.company, "sees@example.com")
    whole = "".join([(await sees.get(path)).text for path in pages.paths()])
    assert all(secret in whole for secret in ("Ada Lovelace", NUMBER, "slate"))
    member = await pages.member("blind", {**EVERYTHING, **hides})
    for path, (_, text) in (await member.texts()).items():
        assert not [secret for secret in SECRETS if secret in text], path
