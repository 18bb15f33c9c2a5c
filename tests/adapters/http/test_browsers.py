"""What may a browser do with an answer? Take no type for another, and run nothing but the page's own script."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from adapters.http.exchange.problems import DOCUMENTATION_PATH

pytestmark = pytest.mark.asyncio(loop_scope="session")

PAGES = (DOCUMENTATION_PATH, f"{DOCUMENTATION_PATH}/events")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/leads", 200),
        ("HEAD", "/api/v1/leads", 200),
        ("GET", "/api/v1/leads.csv", 200),  # a stream
        ("GET", "/api/v1/leads/4711", 404),
        ("GET", "/api/v1/leads?statuss=x", 422),
        ("POST", "/api/v1/leads", 422),
        ("GET", "/nowhere", 404),  # the framework's own
        ("DELETE", "/api/v1/leads", 405),
        ("OPTIONS", "/api/v1/leads", 204),
        ("HEAD", "/api/v1/leads/+13055550123/caller_opt_out", 204),
        ("GET", "/readyz", 200),
        *(("GET", path, 200) for path in PAGES),
    ],
)
async def test_no_answer_is_taken_for_another_type_than_it_says(company: Any, method: str, path: str, status: int) -> None:
    answer = await company.send(method, path)
    assert answer.status_code == status, answer.text
    assert answer.headers.get_list("x-content-type-options") == ["nosniff"]


async def test_an_answer_without_a_key_and_one_of_a_fault_have_it_too(
    town: Any, company: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await town.client.get("/api/v1/leads")).headers["x-content-type-options"] == "nosniff"

    async def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("adapters.postgres.reads.PostgresReads.leads", broken)
    answer = await company.send("GET", "/api/v1/leads")
    assert (answer.status_code, answer.headers["x-content-type-options"]) == (500, "nosniff")


class Page(HTMLParser):
    """What of a page is code or style in itself, and what it takes from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.inline: list[str] = []
        self.taken: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag if tag in {"script", "style"} else ""
        for name, value in attrs:
            if name == "style" or name.startswith("on") or (value or "").startswith("javascript:"):
                self.inline.append(f"<{tag} {name}={value}>")
            if name == "src" or (tag == "link" and name == "href"):
                self.taken.append(value or "")

    def handle_data(self, data: str) -> None:
        if self._inside and data.strip():
            self.inline.append(f"<{self._inside}>{data[:40]}")
        self._inside = ""


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_runs_nothing_but_its_own_scripts_and_stands_in_no_frame(town: Any, path: str) -> None:
    answer = await town.client.get(path, headers={"Accept": "text/html"})
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = {
        name: sources for name, *sources in (part.split() for part in answer.headers["content-security-policy"].split(";"))
    }
    assert policy == {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
        "frame-ancestors": ["'none'"],
        **({"connect-src": ["'self'"]} if path == DOCUMENTATION_PATH else {}),
    }
    assert answer.headers["referrer-policy"] == "no-referrer"
    page = Page()
    page.feed(answer.text)
    assert page.inline == [], "the policy would not let it run"
    taken = ("page.css", "page.js", "icon.svg", *(("try.js",) if path == DOCUMENTATION_PATH else ()))
    assert set(page.taken) == {f"{DOCUMENTATION_PATH}/{name}" for name in taken}


async def test_the_page_gets_its_style_and_script_under_their_own_types(town: Any) -> None:
    for name, media_type, part in (
        ("page.css", "text/css; charset=utf-8", "body{"),
        ("page.js", "text/javascript; charset=utf-8", "addEventListener"),
        ("try.js", "text/javascript; charset=utf-8", "addEventListener"),
    ):
        answer = await town.client.get(f"{DOCUMENTATION_PATH}/{name}")
        assert (answer.status_code, answer.headers["content-type"]) == (200, media_type)
        assert part in answer.text
        assert re.search(r"\.style\b|innerHTML|eval\(|cssText", answer.text) is None
