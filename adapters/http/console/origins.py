"""Does a browser send this request from our own page? The `Origin` says so, and a token that only our pages hold.

The cookie of a session goes with every request to this host, also with one that another site makes a browser send. So what
changes something needs both: the Origin of this host, and the token in a field or header, which no other site can read.

Pages are sent compressed, and the length of a compressed page says something of what is repeated in it (BREACH,
CVE-2013-3587). So a page never shows the token itself, but masked by random bytes, others each time.
"""

import hmac
import secrets
from urllib.parse import urlsplit

from adapters.http.exchange.exchange import HttpRequest
from adapters.http.exchange.problems import ProblemError

LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})

CSRF_FIELD = "csrf"
CSRF_HEADER = "x-csrf-token"

OTHER_ORIGIN = "This came from another site's page. Open the console at its own address and try again."
NO_TOKEN = "This page is too old or is not ours. Load it again and repeat what you did."  # noqa: S105 - a sentence
NOT_ENCRYPTED = "Open the console by https: a password would cross the network readable. (On this machine, 127.0.0.1 works.)"


def host_of(request: HttpRequest) -> str:
    """Return the host name of a request without its port, in small letters."""
    return (urlsplit(f"//{request.headers.get('host', '')}").hostname or "").lower()


def is_loopback(request: HttpRequest) -> bool:
    """Return whether the browser and this process are on one machine, by the Host header and by the connection."""
    client = request.scope["client"]
    return host_of(request) in LOOPBACK_HOSTS and client is not None and client[0] in LOOPBACK_HOSTS


def check_origin(request: HttpRequest, public_url: str) -> None:
    """Refuse a change that no page of this host sends. Raises `ProblemError` forbidden."""
    origin = urlsplit(request.headers.get("origin", ""))
    own = {request.headers.get("host", "").lower(), urlsplit(public_url).netloc.lower()} - {""}
    if origin.netloc.lower() not in own or request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
        raise ProblemError("forbidden", OTHER_ORIGIN)


def check_encrypted(request: HttpRequest) -> None:
    """Refuse a password that was sent without TLS to another machine. Raises `ProblemError` forbidden."""
    if urlsplit(request.headers.get("origin", "")).scheme != "https" and not is_loopback(request):
        raise ProblemError("forbidden", NOT_ENCRYPTED)


def csrf_token(secret_key: str, credential: str) -> bytes:
    """Return the token that goes with a session or an operator's cookie."""
    return hmac.digest(secret_key.encode(), f"console csrf/{credential}".encode(), "sha256")


def mask_token(token: bytes) -> str:
    """Return a token as a page shows it: a random mask, and the token under it."""
    mask = secrets.token_bytes(len(token))
    return (mask + _xor(mask, token)).hex()


def check_csrf(given: str, token: bytes) -> None:
    """Refuse a change without the masked token of its page. Raises `ProblemError` forbidden."""
    try:
        shown = bytes.fromhex(given)
    except ValueError:
        shown = b""
    mask, masked = shown[: len(token)], shown[len(token) :]
    if len(mask) != len(masked) or not hmac.compare_digest(_xor(mask, masked), token):
        raise ProblemError("forbidden", NO_TOKEN)


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(one ^ other for one, other in zip(left, right, strict=True))
