"""Where does the link of an invitation lead? To a page that asks for a password and loads nothing from other sites.

The token is behind the # of the address: the page's own script reads it there, and no server sees it before it is used.
Where the company has an identity provider, the page leads there as well, or alone.
"""

from functools import cache
from importlib.resources import files

from adapters.http.exchange.exchange import Exchange, Operation, Reply

PAGE_PATH = "/invitation"
SCRIPT_PATH = f"{PAGE_PATH}/page.js"
STYLE_PATH = f"{PAGE_PATH}/page.css"

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""It runs its own script alone, sends to this server alone, and is in no frame: none lays itself over the password.

With `no-referrer` a browser would send `Origin: null` with the form to the identity provider, and it would be refused."""


async def show_page(_exchange: Exchange) -> Reply:
    """Answer with the page."""
    return Reply(content=_asset("invitation.html"), media_type="text/html; charset=utf-8", headers=_HEADERS)


async def show_script(_exchange: Exchange) -> Reply:
    """Answer with its script."""
    return Reply(content=_asset("invitation.js"), media_type="text/javascript; charset=utf-8")


async def show_style(_exchange: Exchange) -> Reply:
    """Answer with its stylesheet."""
    return Reply(content=_asset("invitation.css"), media_type="text/css; charset=utf-8")


@cache
def _asset(name: str) -> bytes:
    return files("adapters.http.sign_in").joinpath(name).read_bytes()


OPERATIONS: tuple[Operation, ...] = tuple(
    Operation(
        name=name, methods=("GET",), path=path, summary=summary, handler=handler, access="open", rate=None, extra="ignored"
    )
    for name, path, summary, handler in (
        ("invitation_page", PAGE_PATH, "The page of an invitation", show_page),
        ("invitation_script", SCRIPT_PATH, "Its script", show_script),
        ("invitation_style", STYLE_PATH, "Its stylesheet", show_style),
    )
)
