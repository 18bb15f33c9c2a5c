"""Are the guides pages beside the reference? Each is served, each link on it leads somewhere, and nothing on it runs."""

import re
from pathlib import Path
from typing import Any

import pytest

from adapters.http.document.guides import GUIDES_PATH, NAMES, show_guide, show_list, title_of
from adapters.http.exchange.problems import DOCUMENTATION_PATH

DOCS = Path(__file__).parents[3] / "deploy/docs"


def _ids(page: str) -> set[str]:
    return set(re.findall(r' id="([^"]+)"', page))


def test_every_guide_of_the_repository_is_listed_once_by_its_title() -> None:
    assert sorted(NAMES) == sorted(path.stem for path in DOCS.glob("*.md"))
    for name in NAMES:
        assert (DOCS / f"{name}.md").read_text().startswith(f"# {title_of(name)}\n")
        assert show_list().count(f"href='{GUIDES_PATH}/{name}'") == 1


@pytest.mark.parametrize("name", NAMES)
def test_every_link_of_a_guide_leads_somewhere(name: str) -> None:
    page = show_guide(name)
    for target in re.findall(r'href="([^"]*)"', page):
        path, _, anchor = target.partition("#")
        if path.startswith(("https://", "http://")):  # statutes are cited as they were read
            continue
        other = path.removeprefix(f"{GUIDES_PATH}/") if path else name
        assert other in NAMES, target
        assert not anchor or anchor in _ids(show_guide(other)), target


@pytest.mark.parametrize("name", NAMES)
def test_the_markup_of_a_guide_is_text(name: str) -> None:
    page = show_guide(name)
    assert re.search(r"<(script|style|img|iframe)\b| style=| on\w+=|<!--", page) is None


@pytest.mark.asyncio(loop_scope="session")
async def test_guides_are_found_from_the_start_page_and_the_reference(town: Any) -> None:
    html = {"Accept": "text/html"}
    for path in ("/", DOCUMENTATION_PATH, f"{DOCUMENTATION_PATH}/events"):
        assert GUIDES_PATH in (await town.client.get(path, headers=html)).text, path
    for path in (GUIDES_PATH, *(f"{GUIDES_PATH}/{name}" for name in ("producers", "operators", "auditors"))):
        answer = await town.client.get(path, headers=html)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert DOCUMENTATION_PATH in answer.text
        again = await town.client.get(path, headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("name", ["nothing", "README", "..%2F..%2FREADME", "decisions"])
async def test_a_guide_that_is_not_there_is_a_problem(town: Any, name: str) -> None:
    answer = await town.client.get(f"{GUIDES_PATH}/{name}")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
