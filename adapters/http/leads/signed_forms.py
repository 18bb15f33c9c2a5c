"""What did a form sign? The fields that it names, if its signature is right, fresh, and used for the first time.

The signature is HMAC-SHA256 (RFC 2104) by the signing secret of the lead token, over netstrings, so that no two lists of
parts look alike. `tests/adapters/http/signed_forms.json` has test vectors, and the page for producers two examples.
"""

import hmac
from collections.abc import Iterable, Mapping
from typing import Any

import structlog
from msgspec import Struct

from adapters.body_fields import Fields
from adapters.http.exchange.access import TokenTarget
from adapters.http.exchange.exchange import Exchange
from adapters.http.exchange.form_secrets import unseal_form_secret
from adapters.http.exchange.problems import ProblemError
from adapters.providers.sealing import UnreadableSecretError
from engine.submission.fields import is_blank
from engine.submission.public_rights import SIGNING_FIELDS
from schemas.instant import HOUR, MINUTE, SECOND, Instant, to_rfc3339
from schemas.records import Offer, Schedule

VERSION = "leadclock-form-1"
"""First part of what is signed: a signature for another purpose, or of a later framing, is another one."""

GOOD_FOR = HOUR
"""How long a form may be filled in. Its nonce is held for longer than that (`adapters.postgres.idempotency`)."""

AHEAD_MAX = 5 * MINUTE
"""How far the clock of the signer may be ahead: an hour of skew would double the life of a signature."""

NONCE_LENGTHS = range(16, 101)
"""16 letters hold 96 bits, which nobody draws twice; longer ones would fill the table of Idempotency-Keys."""

SIGNED_FIELDS_MAX = 100
"""More than any form has; each costs a digest nothing, and an answer a line."""

ALWAYS_SIGNED = ("lead_token", "caller_id")

SIGNATURE, SIGNED_AT, NONCE, SIGNED_FIELDS = SIGNING_FIELDS

logger = structlog.get_logger(__name__)


class SignedForm(Struct, frozen=True):
    """What a form signed: its fields as a submission has them, and the nonce, which is good once."""

    fields: Mapping[str, Any]
    nonce: str


def is_signed(fields: Fields) -> bool:
    """Return whether a submission says that it is a signed form."""
    return any(not is_blank(fields.get(name)) for name in SIGNING_FIELDS)


def signed_bytes(parts: Iterable[str]) -> bytes:
    """Return the parts as netstrings: length in bytes, colon, the bytes in UTF-8, comma."""
    encoded = (part.encode() for part in parts)
    return b"".join(b"%d:%s," % (len(part), part) for part in encoded)


def signature_of(secret: str, parts: Iterable[str]) -> str:
    """Return the signature of the parts, as a form has it."""
    return hmac.digest(secret.encode(), signed_bytes(parts), "sha256").hex()


def read_signed_form(exchange: Exchange, target: TokenTarget) -> SignedForm:
    """Return what the form signed.

    Raises `ProblemError`: validation_failed where a field of the signature cannot be read, invalid_signature, and
    stale_signature, each by what was sent alone. Whether the nonce was used is decided where the request is sent.
    """
    sent = exchange.fields
    errors: dict[str, list[str]] = {}
    names = _names(sent, errors)
    values = {name: _value(sent, name, errors) for name in (*ALWAYS_SIGNED, SIGNED_AT, NONCE, SIGNATURE, *names)}
    _check_form(values, errors)
    if errors:
        raise ProblemError("validation_failed", "Correct the signature of the form and sign it again.", errors)
    # The path as well: it says what becomes of a lead that is stored.
    parts = [VERSION, exchange.operation.path, *(values[name] for name in (*ALWAYS_SIGNED, SIGNED_AT, NONCE))]
    parts += [part for name in names for part in (name, values[name])]
    if not hmac.compare_digest(signature_of(_secret(exchange, target), parts), values[SIGNATURE]):
        raise _invalid("The signature does not fit what was sent: sign the text of each field, in the order of its names.")
    _check_age(exchange.now, Instant(int(values[SIGNED_AT]) * SECOND))
    return SignedForm(_fields_of(values, names), values[NONCE])


def _names(sent: Fields, errors: dict[str, list[str]]) -> list[str]:
    """Return the names of the signed fields, in their order."""
    listed = sent.get(SIGNED_FIELDS)
    text = "" if listed is None else listed
    if not isinstance(text, str):
        errors[SIGNED_FIELDS] = ["must be names with commas between them, as text"]
        return []
    names = [name.strip() for name in text.split(",") if name.strip()]
    wrong = [name for name in names if name in (*ALWAYS_SIGNED, *SIGNING_FIELDS, "auth_token") or not _is_name(name)]
    if len(names) > SIGNED_FIELDS_MAX or len(set(names)) < len(names):
        errors[SIGNED_FIELDS] = [f"must name at most {SIGNED_FIELDS_MAX} fields, each once"]
        return []
    if wrong:
        errors[SIGNED_FIELDS] = [f"must not name {wrong[0][:100]!r}: fields, or data[field], but for those that always are"]
        return []
    return names


def _is_name(name: str) -> bool:
    inner = name.removeprefix("data[").removesuffix("]") if name.startswith("data[") and name.endswith("]") else name
    return inner != "" and not {"[", "]"} & set(inner)


def _value(sent: Fields, name: str, errors: dict[str, list[str]]) -> str:
    """Return the text of a field as it was sent; a number that was left out is an empty one."""
    holder, inner = (sent.get("data"), name[len("data[") : -1]) if name.startswith("data[") else (sent, name)
    value = holder.get(inner) if isinstance(holder, Mapping) else None
    if value is None and name == "caller_id":
        return ""
    if value is None:
        errors[name] = ["was not sent, and the form signs it"]
    elif not isinstance(value, str):
        errors[name] = ["must be text: a form signs the text that is sent"]
    else:
        return value
    return ""


def _check_form(values: Mapping[str, str], errors: dict[str, list[str]]) -> None:
    signed_at, nonce, signature = values[SIGNED_AT], values[NONCE], values[SIGNATURE]
    if not (signed_at.isascii() and signed_at.isdigit() and len(signed_at) <= len("9999999999")):
        errors.setdefault(SIGNED_AT, ["must be the seconds since 1970 (Unix time) as digits"])
    if len(nonce) not in NONCE_LENGTHS or not (nonce.isascii() and nonce.replace("-", "").replace("_", "").isalnum()):
        least, most = NONCE_LENGTHS[0], NONCE_LENGTHS[-1]
        errors.setdefault(NONCE, [f"must have {least} to {most} letters, digits, - and _, drawn again for each form"])
    if not signature.isascii():
        errors.setdefault(SIGNATURE, ["must be hexadecimal digits"])


def _secret(exchange: Exchange, target: TokenTarget) -> str:
    """Return the signing secret of a lead token. Raises `ProblemError` invalid_signature."""
    rules = exchange.services.source.rules
    kind: type[Offer | Schedule] = Offer if target.kind == "offer" else Schedule
    body = rules.body(kind, target.kind, target.id)
    if body is None or body.sealed_signing_secret is None:
        raise _invalid("This lead token has no signing secret: make one with rotate_signing_secret, or send no signature.")
    key = exchange.services.settings.secret_key
    try:
        return unseal_form_secret(key, target.company_id, target.kind, body.sealed_signing_secret)
    except UnreadableSecretError:
        logger.exception("signed_form.unreadable_secret", company_id=target.company_id, type=target.kind, id=target.id)
        raise _invalid("The signing secret of this lead token cannot be read any more: make another one.") from None


def _invalid(detail: str) -> ProblemError:
    return ProblemError("invalid_signature", f"{detail} Nothing was stored.")


def _check_age(now: Instant, signed_at: Instant) -> None:
    if now - signed_at > GOOD_FOR:
        raise _stale("A signature is good for an hour: sign the form again.", now)
    if signed_at - now > AHEAD_MAX:
        raise _stale("The form was signed in the future: set the clock of its signer.", now)


def _stale(detail: str, now: Instant) -> ProblemError:
    return ProblemError("stale_signature", f"{detail} It is {to_rfc3339(now)} here. Nothing was stored.")


def _fields_of(values: Mapping[str, str], names: Iterable[str]) -> dict[str, Any]:
    """Return the signed fields as a submission has them."""
    found: dict[str, Any] = {name: values[name] for name in ALWAYS_SIGNED}
    for name in names:
        if name.startswith("data["):
            data = found.setdefault("data", {})
            if isinstance(data, dict):
                data[name[len("data[") : -1]] = values[name]
        else:
            found[name] = values[name]
    return found
