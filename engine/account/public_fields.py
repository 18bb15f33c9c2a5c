"""What may an offer let submissions without a key do? Some steering fields, blanks to fill, and more countries."""

from typing import Any

from engine.account.values import texts
from engine.submission.columns import parse_country
from engine.submission.consents import parse_consents
from engine.submission.fields import FieldError
from engine.submission.public_rights import PUBLIC_PARAMETERS, is_fillable

PUBLIC_UPDATES_MAX = 50
"""Fields that forms may fill: a form that corrects more asks the person to sign in."""

DIAL_COUNTRIES_MAX = 250
"""There are that many countries."""


def public_parameters(value: Any) -> tuple[str, ...]:
    """Return steering fields that act on the lead of a submission without a key. Raises `FieldError`."""
    names = _texts(value, len(PUBLIC_PARAMETERS))
    unknown = [name for name in names if name not in PUBLIC_PARAMETERS]
    if unknown:
        raise FieldError(f"names {unknown[0][:100]!r}; it may name {', '.join(PUBLIC_PARAMETERS)}")
    return names


def public_updates(value: Any) -> tuple[str, ...]:
    """Return fields that a submission without a key may fill where a stored lead has them blank. Raises `FieldError`."""
    names = _texts(value, PUBLIC_UPDATES_MAX)
    for name in names:
        if not is_fillable(name):
            raise FieldError(f"must not name {name!r}: number, e-mail, zone, place, consent and steering need a key")
    return names


def dial_countries(value: Any) -> tuple[str, ...]:
    """Return the countries whose numbers a submission without a key may bring. Raises `FieldError`."""
    return tuple(dict.fromkeys(parse_country(country) for country in _texts(value, DIAL_COUNTRIES_MAX)))


def consent_url(value: Any) -> str:
    """Return the address of the words that a form shows. Raises `FieldError`."""
    return parse_consents([{"url": value}])[0]["url"]


def _texts(value: Any, most: int) -> tuple[str, ...]:
    found = texts(value)
    if len(found) > most:
        raise FieldError(f"must have at most {most} entries")
    return found
