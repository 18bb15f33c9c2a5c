"""How does a person sign in by the company's own identity provider? By the code flow of OpenID Connect, with PKCE.

A sealed cookie binds the flow to the browser that began it: state, nonce and verifier are in it; a state is stored once it
was used. What comes back is an identity, issuer and subject; whose it is says the link that an invitation made.
"""

import hmac
import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec
import structlog
from msgspec import Struct

from adapters.http.exchange.client_secrets import unseal_client_secret
from adapters.http.exchange.exchange import Services
from adapters.http.exchange.hosts import base_of_company
from adapters.http.exchange.issuers import Code, IssuerDocument, IssuerFailedError, RefusedCodeError
from adapters.http.sign_in.id_tokens import BadIdTokenError, Identity, key_id_of, read_id_token
from adapters.providers.sealing import UnreadableSecretError, seal, unseal
from schemas.errors import SenderError
from schemas.records import Company
from schemas.wire import digest

CALLBACK_PATH = "/console/sign-in/issuer/callback"
"""Where issuers send browsers back to; with the company's base address it is what a provider must know."""

FLOW_SECONDS = 600
"""How long a person may take at the provider: a password, a second factor, and looking for the telephone."""

SCOPE = "openid email"

CODE_LENGTH_MAX = 4_000
"""In characters. RFC 6749 sets no bound; Entra's codes have over a thousand."""

NO_ISSUER = "This company has no identity provider to sign in with. Sign in with a password."
NOT_BEGUN = "This sign-in took too long, or began in another browser. Begin again."
NOT_REACHED = "The identity provider cannot be used at the moment. Try again, or tell a superuser of your company."
NOT_TAKEN = "The identity provider does not take this sign-in. Begin again; where it stays so, tell a superuser."
NOT_PROVED = "What the identity provider answered proves nothing, so you are not signed in. Begin again."
NOT_ALLOWED = "The identity provider did not let you in."
OTHER_DOMAIN = "Your e-mail address at the identity provider is not of this company, or the provider has not verified it."

_PLACE: dict[str, Any] = {"company_id": 0, "provider": "console", "name": "issuer sign-in"}
"""What a sealed flow is bound to: no company has the id 0."""

FLOW_SPACE = "issuer sign-in"
"""The first line under which flows that were used are stored."""

logger = structlog.get_logger(__name__)


class IssuerSignInError(SenderError):
    """A sign-in by an issuer is refused; `str(error)` is a sentence for the person."""


class Flow(Struct, frozen=True, kw_only=True):
    """A sign-in that has begun, as its browser holds it; `invitation` is a token that links the identity, or empty."""

    company_id: int
    issuer: str
    state: str
    nonce: str
    verifier: str
    until: float
    next_path: str
    invitation: str


class Begun(Struct, frozen=True, kw_only=True):
    """Where a browser goes, and what it holds meanwhile."""

    url: str
    cookie: str
    issuer_name: str


def company_with_issuer(services: Services, company_id: int) -> Company | None:
    """Return a live company that has an issuer and an address to come back to, or None."""
    company = services.source.rules.body(Company, "company", company_id)
    has_one = company is not None and company.sign_in_issuer is not None
    return company if has_one and base_of_company(services.settings, company_id) else None


def issuer_name_of(company: Company) -> str:
    """Return what people call the issuer of a company."""
    return company.sign_in_name or urlsplit(company.sign_in_issuer or "").hostname or ""


async def begin(services: Services, company_id: int, *, next_path: str, invitation: str = "") -> Begun:
    """Begin a sign-in. Raises `IssuerSignInError`."""
    company = company_with_issuer(services, company_id)
    if company is None:
        raise IssuerSignInError(NO_ISSUER)
    document = await _document(services, company_id, company)
    flow = Flow(
        company_id=company_id,
        issuer=document.issuer,
        state=secrets.token_urlsafe(32),
        nonce=secrets.token_urlsafe(32),
        verifier=secrets.token_urlsafe(48),
        until=time.time() + FLOW_SECONDS,
        next_path=next_path,
        invitation=invitation,
    )
    asked = {
        "response_type": "code",
        "client_id": company.sign_in_client_id or "",
        "redirect_uri": _redirect_uri(services, company_id),
        "scope": SCOPE,
        "state": flow.state,
        "nonce": flow.nonce,
        "code_challenge": _challenge(flow.verifier),
        "code_challenge_method": "S256",
    }
    beginning = document.authorization_endpoint
    url = f"{beginning}{'&' if '?' in beginning else '?'}{urlencode(asked)}"
    sealed = seal(services.settings.secret_key, msgspec.json.encode(flow).decode(), **_PLACE)
    return Begun(url=url, cookie=sealed, issuer_name=issuer_name_of(company))


def read_flow(secret_key: str, sealed: str, state: str) -> Flow:
    """Return the flow that a browser holds, if this is its answer and in time. Raises `IssuerSignInError`."""
    try:
        flow = msgspec.json.decode(unseal(secret_key, sealed, **_PLACE), type=Flow)
    except UnreadableSecretError:
        raise IssuerSignInError(NOT_BEGUN) from None
    if time.time() >= flow.until or not hmac.compare_digest(flow.state.encode(), state.encode()):
        raise IssuerSignInError(NOT_BEGUN)
    return flow


async def use_flow(services: Services, flow: Flow, request_id: str) -> None:
    """Use a flow for one answer: a copy of cookie and redirect signs nobody in, though an issuer took its code twice.

    The row stands beside those of Idempotency-Keys, so that of two processes one has it; a key has no line break, so no
    sender can name it. Raises `IssuerSignInError`.
    """
    name, hashed = f"{FLOW_SPACE}\n{flow.state}", digest(flow.state.encode())
    claim = await services.claims.claim(flow.company_id, name, hashed, request_id, now=services.now())
    if claim.request_id != request_id:
        raise _refused(flow.company_id, "the answer of the issuer was used", NOT_BEGUN)


async def finish(services: Services, flow: Flow, query: Mapping[str, Any]) -> Identity:
    """Return who has signed in, by what the issuer sent back with the browser. Raises `IssuerSignInError`."""
    company = company_with_issuer(services, flow.company_id)
    if company is None or company.sign_in_issuer != flow.issuer:
        raise IssuerSignInError(NO_ISSUER)
    document = await _document(services, flow.company_id, company)
    given = {name: str(query.get(name, "")) for name in ("code", "error", "iss")}
    names_itself = given["iss"] or document.authorization_response_iss_parameter_supported
    if names_itself and given["iss"] != flow.issuer:  # RFC 9207: another issuer's answer is no answer
        raise _refused(flow.company_id, "the answer is of another issuer (iss)", NOT_PROVED)
    if given["error"]:
        raise _refused(flow.company_id, "the issuer refuses", NOT_ALLOWED)
    if not 0 < len(given["code"]) <= CODE_LENGTH_MAX:
        raise _refused(flow.company_id, "the answer has no code", NOT_PROVED)
    identity = await _identity(services, flow, company, document, given["code"])
    domain = company.sign_in_email_domain
    if domain is not None and identity.email.lower().rpartition("@")[2] != domain:
        raise _refused(flow.company_id, "the e-mail address is of another domain", OTHER_DOMAIN)
    return identity


async def _document(services: Services, company_id: int, company: Company) -> IssuerDocument:
    try:
        async with services.issuers.turn(company_id):
            return await services.issuers.document(company.sign_in_issuer or "")
    except IssuerFailedError as error:
        raise _refused(company_id, str(error), NOT_REACHED) from error


async def _identity(services: Services, flow: Flow, company: Company, document: IssuerDocument, code: str) -> Identity:
    """Return whom the ID token names that the issuer gives for a code. Raises `IssuerSignInError`."""
    company_id, issuers = flow.company_id, services.issuers
    client_id = company.sign_in_client_id or ""
    try:
        given = Code(
            code=code,
            verifier=flow.verifier,
            redirect_uri=_redirect_uri(services, company_id),
            client_id=client_id,
            client_secret=unseal_client_secret(services.settings.secret_key, company_id, company),
        )
        async with issuers.turn(company_id):
            token = await issuers.redeem(document, given)
            key = await issuers.key(document, key_id_of(token))
        return read_id_token(token, key, issuer=flow.issuer, client_id=client_id, nonce=flow.nonce)
    except BadIdTokenError as error:
        raise _refused(company_id, str(error), NOT_PROVED) from error
    except (RefusedCodeError, UnreadableSecretError) as error:
        raise _refused(company_id, str(error), NOT_TAKEN) from error
    except IssuerFailedError as error:
        raise _refused(company_id, str(error), NOT_REACHED) from error


def _refused(company_id: int, reason: str, sentence: str) -> IssuerSignInError:
    """Return a refusal, and log why: the person reads what to do, the operator what was wrong."""
    logger.warning("issuer.sign_in_refused", company_id=company_id, error=reason)
    return IssuerSignInError(sentence)


def _redirect_uri(services: Services, company_id: int) -> str:
    return f"{base_of_company(services.settings, company_id)}{CALLBACK_PATH}"


def _challenge(verifier: str) -> str:
    """Return the challenge S256 of a verifier (RFC 7636, 4.2)."""
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
