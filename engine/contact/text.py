"""What does a template say to one person? `{{token}}` is looked up; what is missing reads as nothing and is reported."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from schemas.wire import to_json

TOKEN = re.compile(r"\{\{\s*([\w.-]{1,100})\s*\}\}")

Lookup = Callable[[str], Any]


TEMPLATES_MAX = 1_024
"""Templates kept taken apart: a campaign says the same to everybody."""


def render(template: str, lookup: Lookup) -> tuple[str, tuple[str, ...]]:
    """Return the text, and the tokens that had no value, each once, in order."""
    parts = list(_parts(template))
    missing: dict[str, None] = {}
    for place in range(1, len(parts), 2):
        value = lookup(parts[place])
        if value is None:
            missing[parts[place]] = None
        parts[place] = _as_text(value)
    return "".join(parts), tuple(missing)


@lru_cache(maxsize=TEMPLATES_MAX)
def _parts(template: str) -> tuple[str, ...]:
    """Return a template's own words and the names of its tokens, in turn; words come first and last."""
    return tuple(TOKEN.split(template))


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
