"""What does an issuer say of itself, and what does it give for a code? Asked through the address guard, bounded and cached.

An issuer is named by companies, so nothing that it says is trusted before it is checked: its document must be of the issuer
that was asked, and its addresses must be https. Each request passes the guard again, whatever a name resolved to before.
"""

import asyncio
from base64 import b64encode
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from urllib.parse import quote_plus, urlencode

import msgspec
from msgspec import Struct, field

from adapters.gateway.ports import NotPlacedError
from adapters.providers.ports import HttpAnswer, ProviderFailedError, ProviderHttp
from schemas.errors import DependencyError

ASK_SECONDS = 5.0
"""For one answer of an issuer: a person waits, and signing in takes three of them."""

CACHED_SECONDS = 900.0
"""How long a document and keys are taken as they were: a key that an issuer withdraws is taken a quarter of an hour more."""

KEYS_AGAIN_SECONDS = 10.0
"""How often keys are read again at most because a token names an unknown one: anybody can make up such a token."""

ISSUERS_MAX = 1_000
"""Issuers in memory. The one unused for longest is dropped, and asked again."""

AT_ONCE_MAX = 8
"""Sign-ins of one company that ask its issuer at the same time; a slow issuer of one keeps no others waiting."""

KEYS_MAX = 100
"""Keys of one issuer; the large ones publish two to ten."""

SUCCESS = 200

_WELL_KNOWN = "/.well-known/openid-configuration"
_HEADERS = {"accept": "application/json"}
_FORM = {**_HEADERS, "content-type": "application/x-www-form-urlencoded"}

T = TypeVar("T")


class IssuerFailedError(DependencyError):
    """An issuer cannot be used now; `str(error)` says why, for the log."""


class RefusedCodeError(IssuerFailedError):
    """An issuer does not take a code: it was used, has expired, or the client is not the one that asked for it."""


class IssuerDocument(Struct, frozen=True, kw_only=True):
    """What is used of the document of an issuer (OpenID Connect Discovery 1.0, 3)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    authorization_response_iss_parameter_supported: bool = False


class Code(Struct, frozen=True, kw_only=True):
    """A code, and what the issuer gives a token for it with. `client_secret`: empty: the client has none."""

    code: str
    verifier: str
    redirect_uri: str
    client_id: str
    client_secret: str


class _Keys(Struct):
    keys: list[dict[str, Any]]


class _Tokens(Struct):
    id_token: str


class _Known(Struct):
    """What is known of an issuer, and when it was read; `lock` lets one sign-in ask for all."""

    document: IssuerDocument | None = None
    document_at: float = 0.0
    keys: Sequence[Mapping[str, Any]] = ()
    keys_at: float = float("-inf")
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Issuers:
    """The issuers of all companies, as this process knows them."""

    def __init__(self, http: ProviderHttp, monotonic: Callable[[], float]) -> None:
        self._http = http
        self._monotonic = monotonic
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._open: dict[int, int] = {}

    @asynccontextmanager
    async def turn(self, company_id: int) -> AsyncIterator[None]:
        """Let one sign-in of a company ask. Raises `IssuerFailedError` where too many ask at once."""
        if self._open.get(company_id, 0) >= AT_ONCE_MAX:
            raise IssuerFailedError("too many sign-ins of the company wait for its issuer")
        self._open[company_id] = self._open.get(company_id, 0) + 1
        try:
            yield
        finally:
            self._open[company_id] -= 1
            if self._open[company_id] == 0:
                del self._open[company_id]

    async def document(self, issuer: str) -> IssuerDocument:
        """Return the document of an issuer. Raises `IssuerFailedError`."""
        known = self._of(issuer)
        async with known.lock:
            if known.document is None or self._monotonic() - known.document_at >= CACHED_SECONDS:
                known.document = await self._read_document(issuer)
                known.document_at = self._monotonic()
            return known.document

    async def key(self, document: IssuerDocument, key_id: str | None) -> Mapping[str, Any] | None:
        """Return the key of an id, read again where it is not known; else None. Raises `IssuerFailedError`."""
        known = self._of(document.issuer)
        async with known.lock:
            age = self._monotonic() - known.keys_at
            found = _find_key(known.keys, key_id)
            if age >= CACHED_SECONDS or (found is None and age >= KEYS_AGAIN_SECONDS):
                answer = await self._ask("GET", document.jwks_uri, _HEADERS)
                known.keys = _read(_succeeded(answer), _Keys).keys[:KEYS_MAX]
                known.keys_at = self._monotonic()
                found = _find_key(known.keys, key_id)
            return found

    async def redeem(self, document: IssuerDocument, code: Code) -> str:
        """Return the ID token that an issuer gives for a code. Raises `IssuerFailedError`."""
        form = {
            "grant_type": "authorization_code",
            "code": code.code,
            "redirect_uri": code.redirect_uri,
            "code_verifier": code.verifier,
        }
        headers, methods = dict(_FORM), document.token_endpoint_auth_methods_supported
        if code.client_secret and ("client_secret_basic" in methods or "client_secret_post" not in methods):
            pair = f"{quote_plus(code.client_id)}:{quote_plus(code.client_secret)}"  # RFC 6749, 2.3.1
            headers["authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        else:
            form["client_id"] = code.client_id
            form |= {"client_secret": code.client_secret} if code.client_secret else {}
        answer = await self._ask("POST", document.token_endpoint, headers, urlencode(form).encode())
        if 400 <= answer.status < 500:  # noqa: PLR2004 - the faults of a client
            raise RefusedCodeError(f"the issuer does not take the code: {_excerpt(answer)}")
        return _read(_succeeded(answer), _Tokens).id_token

    async def _read_document(self, issuer: str) -> IssuerDocument:
        answer = await self._ask("GET", issuer.removesuffix("/") + _WELL_KNOWN, _HEADERS)
        document = _read(_succeeded(answer), IssuerDocument)
        if document.issuer != issuer:
            raise IssuerFailedError("its document is of another issuer: set sign_in_issuer to what the document says")
        for url in (document.authorization_endpoint, document.token_endpoint, document.jwks_uri):
            if not url.startswith("https://"):
                raise IssuerFailedError("its document names an address that is not https")
        return document

    async def _ask(self, method: str, url: str, headers: Mapping[str, str], content: bytes = b"") -> HttpAnswer:
        try:
            async with asyncio.timeout(ASK_SECONDS):
                return await self._http.send(method, url, headers=headers, content=content)
        except (NotPlacedError, ProviderFailedError, TimeoutError) as error:
            raise IssuerFailedError(str(error) or "it did not answer in time") from error

    def _of(self, issuer: str) -> _Known:
        """Return what is known of an issuer, and forget those that were not used for longest."""
        known = self._known.setdefault(issuer, _Known())
        self._known.move_to_end(issuer)
        while len(self._known) > ISSUERS_MAX:
            self._known.popitem(last=False)
        return known


def _succeeded(answer: HttpAnswer) -> HttpAnswer:
    if answer.status != SUCCESS:
        raise IssuerFailedError(f"it answers with status {answer.status}")
    return answer


def _read(answer: HttpAnswer, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(answer.body, type=kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise IssuerFailedError(f"it answers with something else than expected: {error}"[:200]) from error


def _excerpt(answer: HttpAnswer) -> str:
    """Return the code of an OAuth error (RFC 6749, 5.2); nothing else that an issuer says gets into the log."""
    try:
        error = msgspec.json.decode(answer.body, type=dict[str, Any]).get("error")
    except msgspec.MsgspecError:
        error = None
    return error[:60] if isinstance(error, str) and error.isascii() and error.isprintable() else f"status {answer.status}"


def _find_key(keys: Sequence[Mapping[str, Any]], key_id: str | None) -> Mapping[str, Any] | None:
    """Return the key of an id; without an id the only one. None where there is none."""
    signing = [key for key in keys if key.get("use", "sig") == "sig"]
    if key_id is None:
        return signing[0] if len(signing) == 1 else None
    return next((key for key in signing if key.get("kid") == key_id), None)
