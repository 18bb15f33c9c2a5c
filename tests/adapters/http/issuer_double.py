"""What does an issuer of the tests answer? As OpenID Connect asks, or wrong in one way that a test names.

tests/issuers does the same with a provider that others wrote, which says nothing wrong.
"""

import hmac
import json
import re
import secrets
import time
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from html import unescape
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from adapters.gateway.ports import NotPlacedError
from adapters.providers.ports import HttpAnswer
from tests.adapters.http.console_browser import Browser

SECRET = "the secret of a client: 100 %"
CLIENT = "leadclock"
PUBLIC = "https://leads.example.com"
"""Where the deployment of the tests of the HTTP interface is reached."""

BEGIN, CALLBACK = "/console/sign-in/issuer", "/console/sign-in/issuer/callback"

_LEADS_TO = re.compile(r'<meta http-equiv="refresh" content="0; url=([^"]+)">')


def new_key() -> RSAPrivateKey:
    return generate_private_key(65537, 2048)


def encoded(value: Any) -> str:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return urlsafe_b64encode(text).rstrip(b"=").decode()


class Issuer:
    """One issuer, with one client; `changes` of its next ID token are what a test names."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.keys = {"first": new_key()}
        self.signed_by = "first"
        self.published: list[str] | None = None
        self.changes: dict[str, Any] = {}
        self.header: dict[str, Any] = {}
        self.forge: Callable[[Issuer, dict[str, Any]], str] | None = None
        self.document: dict[str, Any] = {}
        self.token_answer: tuple[int, Any] | None = None
        self.asked: list[str] = []
        self.takes_codes_again = False
        self.posted: list[dict[str, list[str]]] = []
        """What was sent for codes: an issuer that is not honest keeps it."""
        self._codes: dict[str, tuple[dict[str, str], dict[str, Any]]] = {}

    def authorise(self, url: str, subject: str = "subject-1", **claims: Any) -> dict[str, str]:
        """Sign a person in, as the issuer's own pages do; return what its redirect says."""
        parts = urlsplit(url)
        asked = dict(parse_qsl(parts.query))
        assert url.startswith(f"{self.url}/authorize?")
        assert asked["client_id"] == CLIENT
        assert asked["redirect_uri"] == f"{PUBLIC}{CALLBACK}"
        assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
        code = secrets.token_urlsafe(8)
        self._codes[code] = (asked, {"sub": subject, **claims})
        return {"code": code, "state": asked["state"], "iss": self.url}

    def answer(self, method: str, path: str, headers: Mapping[str, str], content: bytes) -> tuple[int, Any]:
        """Return status and content of an answer."""
        self.asked.append(path)
        if (method, path) == ("GET", "/.well-known/openid-configuration"):
            return 200, {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/jwks",
                "authorization_response_iss_parameter_supported": True,
                **self.document,
            }
        if (method, path) == ("GET", "/jwks"):
            return 200, {"keys": [self.jwk(name) for name in self.published or self.keys]}
        assert (method, path) == ("POST", "/token"), (method, path)
        return self.token_answer or self._token(headers, parse_qs(content.decode()))

    def jwk(self, name: str) -> dict[str, Any]:
        found = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.keys[name].public_key()))
        return {**found, "kid": name, "use": "sig", "alg": "RS256", "key_ops": ["verify"]}

    def public_pem(self) -> bytes:
        return self.keys["first"].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def _token(self, headers: Mapping[str, str], form: dict[str, list[str]]) -> tuple[int, Any]:
        client, _, secret = b64decode(headers["authorization"].removeprefix("Basic ")).decode().partition(":")
        assert (client, secret) == (CLIENT, "the+secret+of+a+client%3A+100+%25")
        self.posted.append(form)
        known = self._codes.get(form["code"][0])
        if not self.takes_codes_again:
            self._codes.pop(form["code"][0], None)
        if known is None:
            return 400, {"error": "invalid_grant"}
        asked, claims = known
        challenge = urlsafe_b64encode(sha256(form["code_verifier"][0].encode()).digest()).rstrip(b"=").decode()
        assert form["redirect_uri"] == [asked["redirect_uri"]]
        if not hmac.compare_digest(challenge, asked["code_challenge"]):
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        whole = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": asked["nonce"], **claims}
        whole |= self.changes
        whole = {name: value for name, value in whole.items() if value is not None}
        return 200, {"token_type": "Bearer", "access_token": "unused", "id_token": self._signed(whole)}

    def _signed(self, claims: dict[str, Any]) -> str:
        if self.forge is not None:
            return self.forge(self, claims)
        header = {"kid": self.signed_by, **self.header}
        return jwt.encode(claims, self.keys[self.signed_by], algorithm="RS256", headers=header)


class IssuersHttp:
    """Implements `adapters.providers.ports.ProviderHttp` over issuers of tests."""

    def __init__(self) -> None:
        self.issuers: dict[str, Issuer] = {}
        self.is_away = False

    async def send(self, method: str, url: str, *, headers: Mapping[str, str], content: bytes = b"") -> HttpAnswer:
        parts = urlsplit(url)
        issuer = self.issuers.get(f"{parts.scheme}://{parts.netloc}")
        if self.is_away or issuer is None:
            raise NotPlacedError("the provider cannot be reached: ConnectError")
        status, found = issuer.answer(method, parts.path, headers, content)
        return HttpAnswer(status, found if isinstance(found, bytes) else json.dumps(found).encode())


def leads_to(answer: httpx.Response) -> str:
    """Return where the page of a sign-in leads."""
    assert answer.status_code == 200, answer.text
    found = _LEADS_TO.search(answer.text)
    assert found is not None, answer.text
    return unescape(found[1])


async def begin(browser: Browser, company: Any, **fields: Any) -> httpx.Response:
    """Press the button of the page to sign in on."""
    given = fields if "invitation" in fields else {"company_id": company.id, **fields}
    return await browser.post(BEGIN, given, headers={"Origin": PUBLIC})


async def come_back(browser: Browser, query: Mapping[str, str]) -> httpx.Response:
    """Follow the redirect of the issuer."""
    return await browser.client.get(CALLBACK, params=dict(query))
