"""By which identity provider may the users of a company sign in? By one OpenID Connect issuer, as a client that it knows.

Without an issuer the other fields have no effect: they are emptied with it. Another issuer or client does not get the secret
that was stored for the one before.
"""

import re
from collections.abc import Mapping
from typing import Any

from msgspec import structs

from engine.account.plans import Errors
from engine.account.provider_configurations import SEALED_LENGTH_MAX
from engine.account.values import url
from engine.submission.fields import FieldError, parse_text
from schemas.records import Body, Company

ISSUER_LENGTH_MAX = 255
"""In characters: those of the known providers have under 100, and the browser holds it in a cookie."""

CLIENT_ID_LENGTH_MAX = 255
"""In characters: RFC 6749 sets no bound, and the longest of the known providers (Google's) have 73."""

NAME_LENGTH_MAX = 60
"""In characters: the text of a button."""

ISSUER = "sign_in_issuer"
_BESIDE = ("sign_in_client_id", "sealed_sign_in_secret", "sign_in_name", "sign_in_email_domain", "sign_in_required")

_CLIENT_ID = re.compile(r"[\x21-\x7e]+(?: [\x21-\x7e]+)*", re.ASCII)
_DOMAIN = re.compile(r"(?=.{4,253}\Z)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]", re.ASCII)


def issuer(value: Any) -> str:
    """Return the identifier of an issuer: an https address without query and fragment (OpenID Connect Discovery 1.0, 3)."""
    text = url(value)
    if len(text) > ISSUER_LENGTH_MAX or not text.startswith("https://") or "?" in text or "#" in text:
        raise FieldError("must be the issuer as its provider writes it, such as https://accounts.google.com")
    return text


def client_id(value: Any) -> str:
    """Return the name by which an issuer knows this deployment (RFC 6749, appendix A.1)."""
    text = parse_text(value, most=CLIENT_ID_LENGTH_MAX)
    if _CLIENT_ID.fullmatch(text) is None:
        raise FieldError("must have letters, digits and signs of ASCII alone")
    return text


def sealed_secret(value: Any) -> str:
    """Return an encrypted secret."""
    return parse_text(value, most=SEALED_LENGTH_MAX)


def issuer_name(value: Any) -> str:
    """Return what people call an issuer."""
    return parse_text(value, most=NAME_LENGTH_MAX)


def email_domain(value: Any) -> str:
    """Return a domain of e-mail addresses, in small letters."""
    text = parse_text(value, most=253).lower().removeprefix("@")
    if _DOMAIN.fullmatch(text) is None:
        raise FieldError("must be a domain such as example.com")
    return text


def check_issuer(given: Mapping[str, Any], values: dict[str, Any], errors: Errors) -> None:
    """Check the fields of an issuer together; empty them where there is none any more."""
    if ISSUER in errors:
        return
    if values.get(ISSUER) is not None:
        if values.get("sign_in_client_id") is None and "sign_in_client_id" not in errors:
            errors["sign_in_client_id"] = ["must be given: the client as which the issuer knows this deployment"]
        return
    for name in _BESIDE:
        if name in given and values.get(name) not in {None, False}:
            errors.setdefault(name, []).append(f"has no effect without {ISSUER}")
        else:
            values.pop(name, None)


def without_former_secret(before: Body, body: Body) -> Body:
    """Return a changed company without a secret that was given for another issuer or client."""
    if not isinstance(before, Company) or not isinstance(body, Company):
        return body
    is_same = (before.sign_in_issuer, before.sign_in_client_id) == (body.sign_in_issuer, body.sign_in_client_id)
    if is_same or body.sealed_sign_in_secret != before.sealed_sign_in_secret:
        return body
    return structs.replace(body, sealed_sign_in_secret=None)
