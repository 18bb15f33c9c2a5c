"""What does a person see who follows a link of a message? A page of one heading and some lines, which runs no script."""

import base64
from functools import cache
from hashlib import sha256
from importlib.resources import files
from string import Template

from adapters.http.exchange.exchange import Reply

_STYLE = (
    ":root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif } "
    "main { max-width: 26rem; margin: 4rem auto; padding: 0 1rem } button { font: inherit; padding: 0.5rem 1rem }"
)

PAGE_HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{base64.b64encode(sha256(_STYLE.encode()).digest()).decode()}'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
"""It runs no script, sends to this server alone, is in no frame, and passes its address on to nobody."""


def public_page(title: str, content: str) -> Reply:
    """Return a page; `content` is HTML, with what others wrote escaped."""
    text = _template().substitute(title=title, style=_STYLE, content=content)
    return Reply(content=text.encode(), media_type="text/html; charset=utf-8", headers=PAGE_HEADERS)


@cache
def _template() -> Template:
    return Template(files("adapters.http.exchange").joinpath("public_page.html").read_text())
