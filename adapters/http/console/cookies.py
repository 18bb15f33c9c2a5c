"""What does a browser hold of a sign-in? The token of a session, or an operator key that is encrypted and ends by itself.

Both cookies are out of reach for scripts and are sent from our own pages only. The operations under `/api/v1` read neither.
A sign-in at an identity provider, as long as it is under way, has one of its own.
"""

import time
from http.cookies import CookieError, SimpleCookie

import msgspec
from msgspec import Struct

from adapters.http.console.origins import is_loopback
from adapters.http.exchange.exchange import HttpRequest
from adapters.providers.sealing import UnreadableSecretError, seal, unseal
from adapters.reads.ports import SESSION_LONGEST
from schemas.instant import SECOND

SESSION = "leadclock_session"
OPERATOR = "leadclock_operator"
FLOW = "leadclock_flow"
"""A sign-in at an identity provider that has begun: encrypted, for one browser and ten minutes."""

COOKIE_LENGTH_MAX = 2_000
"""Characters of a cookie that are read; ours have under 400."""

_ATTRIBUTES = "Path=/; HttpOnly"

_PLACE = {"company_id": 0, "provider": "console", "name": "operator key"}
"""What a sealed operator key is bound to: no company has the id 0."""


class _OperatorCookie(Struct, frozen=True):
    public: str
    private: str
    until: float


def read_cookie(request: HttpRequest, name: str) -> str:
    """Return the value of a cookie, or an empty string."""
    jar: SimpleCookie = SimpleCookie()
    try:
        jar.load(request.headers.get("cookie", ""))
    except CookieError:
        return ""
    found = jar.get(_name(request, name))
    return "" if found is None or len(found.value) > COOKIE_LENGTH_MAX else found.value


def write_cookie(request: HttpRequest, name: str, value: str) -> str:
    """Return the header that makes a browser hold a value until it is closed, or forget it where the value is empty."""
    return _cookie(request, name, value, "Strict", None if value else 0)


def write_flow_cookie(request: HttpRequest, value: str, seconds: int) -> str:
    """Return the header that makes a browser hold a flow for some seconds.

    The identity provider sends the browser back from another site, so `Strict` would keep the cookie from its answer.
    """
    return _cookie(request, FLOW, value, "Lax", seconds)


def _cookie(request: HttpRequest, name: str, value: str, same_site: str, seconds: int | None) -> str:
    age = "" if seconds is None else f"; Max-Age={seconds}"
    secure = "" if is_loopback(request) else "; Secure"
    return f"{_name(request, name)}={value}; {_ATTRIBUTES}; SameSite={same_site}{secure}{age}"


def seal_operator(secret_key: str, public: str, private: str) -> str:
    """Return an operator key as a cookie holds it."""
    until = time.time() + SESSION_LONGEST / SECOND
    text = msgspec.json.encode(_OperatorCookie(public, private, until)).decode()
    return seal(secret_key, text, **_PLACE)  # type: ignore[arg-type]


def unseal_operator(secret_key: str, value: str) -> tuple[str, str] | None:
    """Return the halves of the operator key in a cookie, or None where there is none any more."""
    try:
        text = unseal(secret_key, value, **_PLACE)  # type: ignore[arg-type]
    except UnreadableSecretError:
        return None
    found = msgspec.json.decode(text, type=_OperatorCookie)
    return (found.public, found.private) if time.time() < found.until else None


def _name(request: HttpRequest, name: str) -> str:
    """Return the name of a cookie. With `__Host-` no other host of the same domain can set it (RFC 6265bis, 4.1.3.2)."""
    return name if is_loopback(request) else f"__Host-{name}"
