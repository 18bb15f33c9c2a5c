"""What do agents fill in, and which values fit? Each field of a contact field type is a token of the call with a kind."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from engine.account.values import date_text
from engine.submission.fields import FieldError, is_blank, parse_boolean, parse_decimal, parse_text
from schemas.records import ContactField

FIELDS_MAX = 50
"""Fields of one type: more than an agent fills in while somebody is on the line."""

OPTIONS_MAX = 100
"""Choices of one field, of which an agent picks one."""

SCRIPT_LENGTH_MAX = 10_000
"""Ten minutes of speech."""

LABEL_LENGTH_MAX = 100

_KEY = re.compile(r"[a-z][a-z0-9_]{0,62}", re.ASCII)


def contact_fields(value: Any) -> tuple[ContactField, ...]:
    """Return the fields of a contact field type, each key once."""
    if is_blank(value):
        return ()
    if isinstance(value, str | bytes) or not isinstance(value, Sequence) or len(value) > FIELDS_MAX:
        raise FieldError(f"must be a list of at most {FIELDS_MAX} fields with a key each")
    found = tuple(_field(place, raw) for place, raw in enumerate(value))
    keys = [field.key for field in found]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise FieldError(f"must have each key once: {twice} is there twice")
    return found


def _field(place: int, raw: Any) -> ContactField:
    try:
        field = raw if isinstance(raw, ContactField) else msgspec.convert(raw, ContactField)
    except msgspec.ValidationError as error:
        raise FieldError(f"must have in [{place}] a field such as {_EXAMPLE}: {error}") from None
    if _KEY.fullmatch(field.key) is None:
        raise FieldError(f"must have in [{place}] a key of 1 to 63 lowercase letters, digits and _")
    texts = (*field.options, field.label or "x")
    if any(not text.strip() or len(text) > LABEL_LENGTH_MAX for text in texts) or len(field.options) > OPTIONS_MAX:
        limits = f"at most {OPTIONS_MAX} options; each, and the label, has 1 to {LABEL_LENGTH_MAX} characters"
        raise FieldError(f"must have in [{place}] {limits}")
    if (field.kind == "choice") != bool(field.options):
        raise FieldError(f"must have in [{place}] options with the kind choice, and only then")
    return field


_EXAMPLE = '{"key": "roof", "kind": "choice", "options": ["flat", "steep"]}'


def check_value(field: ContactField, value: Any) -> None:
    """Check the value of a token against its field; null and blank empty it. Raises `FieldError`."""
    if not is_blank(value):
        _CHECKS[field.kind](field, value)


def _check_by(parse: Callable[[Any], Any], field: ContactField, value: Any) -> None:
    del field
    parse(value)


def _check_choice(field: ContactField, value: Any) -> None:
    if value not in field.options:
        raise FieldError(f"must be one of {', '.join(field.options)}")


_CHECKS: Mapping[str, Callable[[ContactField, Any], None]] = {
    "text": partial(_check_by, parse_text),
    "number": partial(_check_by, parse_decimal),
    "boolean": partial(_check_by, parse_boolean),
    "date": partial(_check_by, lambda value: date_text(str(value))),
    "choice": _check_choice,
}
