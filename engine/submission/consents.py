"""What did a person consent to, when, and what proves it? Facts that a sender states, kept as a token of the lead.

Several may be stated. A rule of law that asks for consent first (`requires_consent`) is satisfied by one of them, or by the
token `opt_in`. No certificate is fetched: it is kept for who must show it.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from engine.submission.fields import FieldError, is_blank, parse_address, parse_moment, parse_text
from schemas.instant import to_rfc3339
from schemas.records import Offer, TrafficSource

CONSENT = "consent"

CONTRACT = "contract"
"""The kind of a consent that says that the person is a customer with a contract in progress."""

CONSENTS_MAX = 10
"""Of one lead: a form, a call, a renewal each year."""

TEXT_LENGTH_MAX = 4_000
"""Of the words of a form: the longest in use have some 2,000 characters."""

URL_LENGTH_MAX = 2_000


def parse_form_url(value: Any) -> str:
    """Return the address of a form. Raises `FieldError`."""
    text = parse_text(value, most=URL_LENGTH_MAX)
    if not text.startswith(("https://", "http://")):
        raise FieldError("must be an address that begins with https://")
    return text


def _at(value: Any) -> str:
    return to_rfc3339(parse_moment(value))


_FIELDS: Mapping[str, Callable[[Any], str]] = {
    "kind": parse_text,
    "text": partial(parse_text, most=TEXT_LENGTH_MAX),
    "url": parse_form_url,
    "certificate": partial(parse_text, most=URL_LENGTH_MAX),
    "at": _at,
    "address": parse_address,
    "page": partial(parse_text, most=URL_LENGTH_MAX),
}
"""Field of a consent -> its parser: its kind, the words of the form or where they are, what proves it, when, from where."""

_PROOFS = ("text", "url", "certificate")


def parse_consents(value: Any) -> list[dict[str, str]]:
    """Return the consents of a field: one object, a list of them, or the JSON of either. Raises `FieldError`."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            raise FieldError(_SHAPE) from None
    found = value if isinstance(value, list | tuple) else [value]
    if not 1 <= len(found) <= CONSENTS_MAX or not all(isinstance(one, Mapping) for one in found):
        raise FieldError(_SHAPE)
    return [_consent(one) for one in found]


_SHAPE = f"must be one object of {', '.join(_FIELDS)}, or 1 to {CONSENTS_MAX} of them"


def stated_consent(stater: Offer | TrafficSource | None, kind: str) -> list[dict[str, str]]:
    """Return the consent that an offer or a source states for the leads of its forms; none where it states nothing.

    It has no time of its own: the lead's is when it came, and a form that is sent twice says nothing new.
    """
    if stater is None:
        return []
    stated = {"text": stater.consent_text, "url": stater.consent_url}
    said = {name: value for name, value in stated.items() if value}
    return [{"kind": kind, **said}] if said else []


def has_consent(value: Any) -> bool:
    """Return whether a token holds a consent: as text in its field it was refused, and as nothing it says nothing.

    A contract in progress is none: whether it does in the place of one, the law of a country says.
    """
    return any(one.get("kind") != CONTRACT for one in _stated(value))


def has_contract(value: Any) -> bool:
    """Return whether a token holds a contract in progress, which is stated as a consent of that kind."""
    return any(one.get("kind") == CONTRACT for one in _stated(value))


def _stated(value: Any) -> list[Mapping[str, Any]]:
    found = value if isinstance(value, list | tuple) else ()
    return [one for one in found if isinstance(one, Mapping) and one]


def _consent(given: Mapping[Any, Any]) -> dict[str, str]:
    read: dict[str, str] = {}
    for name, value in given.items():
        parse = _FIELDS.get(name) if isinstance(name, str) else None
        if parse is None:
            raise FieldError(f"has the field {str(name)[:50]!r}, which no consent has; it has {', '.join(_FIELDS)}")
        if is_blank(value):
            continue
        try:
            read[name] = parse(value)
        except FieldError as error:
            raise FieldError(f"has a field {name} that {error}") from None
    if not any(name in read for name in _PROOFS):
        raise FieldError(f"must say what was consented to, by {', '.join(_PROOFS[:-1])} or {_PROOFS[-1]}")
    return read
