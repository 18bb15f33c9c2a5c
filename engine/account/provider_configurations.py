"""What may a provider configuration say? A provider by name, plain settings of its kind, and secrets that are encrypted.

Which providers and settings there are depends on what is installed: the API checks that before it asks the account.
"""

import re
from collections.abc import Mapping
from typing import Any

from engine.account.plans import Errors
from engine.submission.fields import INTEGER_MAX, FieldError, is_blank, parse_text, sound_text

SETTINGS_MAX = 50
"""More settings than any kind of provider has."""

SETTING_LENGTH_MAX = 1_000
"""In characters, of one setting: an address with its path."""

SECRETS_MAX = 20
SEALED_LENGTH_MAX = 12_000
"""In characters, of one encrypted secret: a private key with its certificates."""

FALLBACK_ORDER_MAX = 1_000_000

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


def provider_name(value: Any) -> str:
    """Return the name of a provider."""
    text = parse_text(value, most=64)
    if _NAME.fullmatch(text) is None:
        raise FieldError("must be the name of a provider: small letters, digits and _, beginning with a letter")
    return text


def provider_settings(value: Any) -> dict[str, Any]:
    """Return settings: names with texts, numbers, true or false."""
    if is_blank(value):
        return {}
    if not isinstance(value, Mapping):
        raise FieldError('must be an object such as {"account_sid": "AC…"}')
    if len(value) > SETTINGS_MAX:
        raise FieldError(f"must have at most {SETTINGS_MAX} settings")
    return {_named(name): _plain(name, one) for name, one in value.items()}


def _named(name: Any) -> str:
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise FieldError("must have names of small letters, digits and _")
    return name


def _plain(name: str, value: Any) -> Any:
    if not isinstance(value, str | int | float | bool | None):
        raise FieldError(f"{name} must be text, a number, true or false")
    if isinstance(value, str):
        if len(value) > SETTING_LENGTH_MAX:
            raise FieldError(f"{name} must have at most {SETTING_LENGTH_MAX} characters")
        return sound_text(value)
    if isinstance(value, int | float) and abs(value) > INTEGER_MAX:
        raise FieldError(f"{name} is too large a number")
    return value


def merge_secrets(given: Mapping[str, Any], values: dict[str, Any], errors: Errors) -> None:
    """Set the given encrypted secrets, and remove those that are null; others keep their values."""
    sent = given.get("sealed_secrets")
    if is_blank(sent):
        return
    try:
        merged = {**values.get("sealed_secrets", {}), **_sealed(sent)}
    except FieldError as error:
        errors.setdefault("sealed_secrets", []).append(str(error))
        return
    found = {name: text for name, text in merged.items() if text is not None}
    if len(found) > SECRETS_MAX:
        errors.setdefault("sealed_secrets", []).append(f"must have at most {SECRETS_MAX} secrets")
    else:
        values["sealed_secrets"] = found


def _sealed(value: Any) -> dict[str, str | None]:
    if not isinstance(value, Mapping):
        raise FieldError("must be an object of names and encrypted secrets")
    return {_named(name): None if text is None else parse_text(text, most=SEALED_LENGTH_MAX) for name, text in value.items()}
