"""How are the guides read beside the reference? As pages of the same server, made from the Markdown of `deploy/docs`.

They are what people read in the repository; `guide_texts` leads to them, also in a wheel. A link between guides leads to the
page; one to a file of the repository that is no guide is its text alone.
"""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from html import escape
from importlib.resources import files
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from adapters.http.exchange.problems import DOCUMENTATION_PATH

GUIDES_PATH = f"{DOCUMENTATION_PATH}/guides"

GUIDES: Mapping[str, tuple[str, ...]] = {
    "Begin": ("first-campaign", "architecture"),
    "Send and read": ("producers", "legal-hours", "contacts", "problems", "subscriptions"),
    "Work with leads": ("console", "agents", "people"),
    "Prove": ("auditors",),
    "Operate": (
        *("operators", "deploying", "settings", "providers", "tls", "capacity"),
        *("metrics", "traces", "alerts", "backup", "upgrading"),
    ),
}
"""Whom a guide is for -> the guides."""

NAMES = tuple(name for names in GUIDES.values() for name in names)

_COMMENT = re.compile(r"^<!--.*?-->\n", re.MULTILINE | re.DOTALL)
"""What a generated page says to developers."""

_NO_ANCHOR = re.compile(r"[^\w\- ]")
"""What GitHub leaves out of the anchor of a heading."""

_MENU_LEVEL = "h2"
"""Headings that the menu of a guide lists."""


@cache
def title_of(name: str) -> str:
    """Return the title of a guide: its first line."""
    return _text_of(name).partition("\n")[0].removeprefix("# ")


def show_list() -> str:
    """Return the list of all guides."""
    sections = (
        f"<h2>{escape(group)}</h2><ul>{''.join(f'<li>{_link(name)}</li>' for name in names)}</ul>"
        for group, names in GUIDES.items()
    )
    return f"<h1>Guides</h1>{''.join(sections)}<p>Every operation: <a href='{DOCUMENTATION_PATH}'>the reference</a>.</p>"


def show_menu(name: str = "") -> str:
    """Return the menu of a guide: its sections, and the other guides."""
    sections = "" if not name else f"<details open><summary>{escape(title_of(name))}</summary>{_sections(name)}</details>"
    others = "".join(
        f"<details open><summary>{escape(group)}</summary>{''.join(map(_link, names))}</details>"
        for group, names in GUIDES.items()
    )
    return f"{sections}{others}<a href='{DOCUMENTATION_PATH}'>The reference</a>"


def show_guide(name: str) -> str:
    """Return a guide as HTML; markup in its Markdown is text."""
    return str(_MARKDOWN.renderer.render(_tokens(name), _MARKDOWN.options, {}))


def _link(name: str) -> str:
    return f"<a href='{GUIDES_PATH}/{name}'>{escape(title_of(name))}</a>"


def _text_of(name: str) -> str:
    return _COMMENT.sub("", files(__package__).joinpath("guide_texts", f"{name}.md").read_text("utf-8"))


_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


@lru_cache(maxsize=1)  # only while its page is made: the tokens take far more memory than the page
def _tokens(name: str) -> list[Token]:
    tokens = _MARKDOWN.parse(_text_of(name))
    taken: dict[str, int] = {}
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            opening.attrSet("id", _anchor(inline.content, taken))
        opening.attrs.pop("style", None)  # the policy of the page forbids it
    for token in tokens:
        for child in token.children or ():
            if child.type == "link_open":
                _lead(child, str(child.attrGet("href") or ""))
    return tokens


def _anchor(heading: str, taken: dict[str, int]) -> str:
    """Return the anchor that GitHub gives a heading; the second of the same words has a number."""
    anchor = _NO_ANCHOR.sub("", heading.lower()).replace(" ", "-")
    count = taken.get(anchor, 0)
    taken[anchor] = count + 1
    return f"{anchor}-{count}" if count else anchor


def _lead(link: Token, address: str) -> None:
    """Let a link lead to the page of a guide; one to another file of the repository leads nowhere."""
    path, _, anchor = address.partition("#")
    name = path.removesuffix(".md")
    if name in NAMES:
        link.attrSet("href", f"{GUIDES_PATH}/{name}{'#' if anchor else ''}{anchor}")
    elif path and not path.startswith(("https://", "http://", "/")):
        del link.attrs["href"]


def _sections(name: str) -> str:
    return "".join(
        f"<a href='#{opening.attrGet('id')}'>{escape(inline.content.replace('`', ''))}</a>"
        for opening, inline in pairwise(_tokens(name))
        if opening.type == "heading_open" and opening.tag == _MENU_LEVEL
    )
