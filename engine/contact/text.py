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


_GSM = (
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿"
    "abcdefghijklmnopqrstuvwxyzäöñüà"
)
_GSM_ESCAPED = "^{}\\[~]|€\f"
"""Characters of 3GPP TS 23.038: a text of these has seven bits each (the second kind counts twice), any other sixteen."""

_IS_GSM = re.compile(f"[{re.escape(_GSM + _GSM_ESCAPED)}]*")
_ESCAPED = re.compile(f"[{re.escape(_GSM_ESCAPED)}]")

GSM_SEGMENT, GSM_PART = 160, 153
WIDE_SEGMENT, WIDE_PART = 70, 67
"""What one message holds, and what each of several does, whose heads say how they belong together."""


def segments(text: str) -> int:
    """Return of how many messages a text consists on its way: what carriers charge for."""
    if _IS_GSM.fullmatch(text):
        length = len(text) + len(_ESCAPED.findall(text))
        most, part = GSM_SEGMENT, GSM_PART
    else:
        length = len(text.encode("utf-16-le")) // 2
        most, part = WIDE_SEGMENT, WIDE_PART
    return 1 if length <= most else -(-length // part)
