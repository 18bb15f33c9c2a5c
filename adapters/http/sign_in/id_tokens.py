"""Who does an issuer say has signed in? What its ID token says, once signature, issuer, client, time and nonce are right.

PyJWT checks the signature and the registered claims; here stand the algorithms that are taken, and what OpenID Connect Core
1.0 (3.1.3.7) asks beside them.
"""

import hmac
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import jwt
from msgspec import Struct

from schemas.errors import SenderError

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures by a private key alone: `none` proves nothing, and HS256 would take a public key, which everybody knows."""

LEEWAY_SECONDS = 60
"""How far the clocks of an issuer and of this process may differ."""

SUBJECT_LENGTH_MAX = 255
"""In characters (OpenID Connect Core 1.0, 2)."""

TOKEN_LENGTH_MAX = 32_000
"""In characters: an ID token with the groups of a large directory has some thousand."""

_REQUIRED = ("iss", "sub", "aud", "exp", "iat", "nonce")


class BadIdTokenError(SenderError):
    """An ID token proves nothing; `str(error)` says why, for the log."""


class Identity(Struct, frozen=True, kw_only=True):
    """Whom an issuer names: the subject is its own and never given again. `email` is one that it vouches for, or empty."""

    issuer: str
    subject: str
    email: str = ""

    @property
    def sha256(self) -> str:
        """Return the digest by which a user is linked to the identity."""
        return sha256(f"{self.issuer}\0{self.subject}".encode()).hexdigest()


def key_id_of(token: str) -> str | None:
    """Return the id of the key by which a token says that it is signed. Raises `BadIdTokenError`."""
    if len(token) > TOKEN_LENGTH_MAX:
        raise BadIdTokenError("the ID token is too long")
    try:
        header = jwt.get_unverified_header(token)
    except jwt.PyJWTError as error:
        raise BadIdTokenError(f"no ID token: {error}") from error
    if header.get("alg") not in ALGORITHMS:
        raise BadIdTokenError("the ID token is signed by an algorithm that is not taken")
    key_id = header.get("kid")
    return key_id if isinstance(key_id, str) else None


def read_id_token(token: str, key: Mapping[str, Any] | None, *, issuer: str, client_id: str, nonce: str) -> Identity:
    """Return whom an ID token names; `key` is the one that the issuer publishes under its id. Raises `BadIdTokenError`."""
    if key is None:
        raise BadIdTokenError("the ID token is signed by a key that the issuer does not publish")
    claims = _verified(token, key, issuer, client_id)
    audience, authorised = claims["aud"], claims.get("azp")
    is_of_several = isinstance(audience, list) and len(audience) > 1
    if authorised != client_id and (is_of_several or authorised is not None):
        raise BadIdTokenError("the ID token was made for another client (azp)")
    if not isinstance(claims["nonce"], str) or not hmac.compare_digest(claims["nonce"].encode(), nonce.encode()):
        raise BadIdTokenError("the ID token answers another sign-in (nonce)")
    subject = claims["sub"]
    if not isinstance(subject, str) or not 0 < len(subject) <= SUBJECT_LENGTH_MAX:
        raise BadIdTokenError("the ID token names no subject")
    email = claims.get("email") if claims.get("email_verified") is True else ""
    return Identity(issuer=issuer, subject=subject, email=email if isinstance(email, str) else "")


def _verified(token: str, key: Mapping[str, Any], issuer: str, client_id: str) -> Mapping[str, Any]:
    """Return the claims of a token that the key has signed, for this client and of now."""
    try:
        algorithm = jwt.get_unverified_header(token).get("alg")
        if algorithm not in ALGORITHMS or key.get("alg", algorithm) != algorithm:
            raise BadIdTokenError("the ID token is signed by an algorithm that is not taken")
        claims: Mapping[str, Any] = jwt.decode(
            token,
            # Of the type that the key names: PyJWT refuses a key of another type than the algorithm's.
            jwt.PyJWK(dict(key), algorithm),
            algorithms=list(ALGORITHMS),
            audience=client_id,
            issuer=issuer,
            leeway=LEEWAY_SECONDS,
            options={"require": list(_REQUIRED), "enforce_minimum_key_length": True},
        )
    except jwt.PyJWTError as error:
        raise BadIdTokenError(f"the ID token is not valid: {type(error).__name__}: {error}"[:200]) from error
    return claims
