"""What does a template say to one person? `{{token}}` is looked up; what is missing reads as nothing and is reported."""

import re
from collections.abc import Callable
from typing import Any

from schemas.wire import to_json

TOKEN = re.compile(r"\{\{\s*([\w.-]{1,100})\s*\}\}")

Lookup = Callable[[str], Any]


def render(template: str, lookup: Lookup) -> tuple[str, tuple[str, ...]]:
    """Return the text, and the tokens that had no value, each once, in order."""
    missing: dict[str, None] = {}

    def value_of(match: re.Match[str]) -> str:
        value = lookup(match[1])
        if value is None:
            missing[match[1]] = None
        return _as_text(value)

    return TOKEN.sub(value_of, template), tuple(missing)


def _as_text(value: Any) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case float() if value.is_integer():
            return str(int(value))
        case _:
            return to_json(value).decode()
