"""How does a JSON number keep its value and type in jsonb?

PostgreSQL stores numbers as decimals and writes them without an exponent: 1e20 comes back as 100000000000000000000, an
integer of more than 64 bits. Our integers have at most 64 bits (`engine.submission.fields`), so a longer one was a float;
a shorter float is written with `.0`, which a decimal keeps.
"""

import re
from typing import Any

import msgspec

WHOLE_MIN, WHOLE_MAX = -(2**63), 2**63 - 1

_LONG = re.compile(r"[0-9]{19}")
"""The digits of the smallest integer that may have more than 64 bits."""

_EXPONENT = re.compile(rb"[0-9]e[0-9]")
_TEXT_OR_EXPONENT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|-?[0-9]+(?:\.[0-9]+)?e[0-9]+')


def decode_jsonb(text: str) -> Any:
    """Return the value of a jsonb from its text."""
    value = msgspec.json.decode(text)
    return _with_floats(value) if _LONG.search(text) else value


def encode_for_jsonb(raw: bytes) -> bytes:
    """Return JSON whose floats stay floats in jsonb: those that would read as integers of 64 bits get `.0`."""
    return _TEXT_OR_EXPONENT.sub(_written_out, raw) if _EXPONENT.search(raw) else raw


def _written_out(found: re.Match[bytes]) -> bytes:
    text = found[0]
    if text.startswith(b'"'):
        return text
    value = float(text)
    # A longer one stays: `decode_jsonb` knows it by its length.
    return b"%.1f" % value if WHOLE_MIN <= value <= WHOLE_MAX else text


def _float(value: int) -> float | str:
    try:
        return float(value)
    except OverflowError:  # no sender's number: submission refuses it. Text, so that one such row does not break a list.
        return str(value)


def _with_floats(value: Any) -> Any:
    if isinstance(value, int):
        return value if WHOLE_MIN <= value <= WHOLE_MAX else _float(value)
    if isinstance(value, dict):
        return {name: _with_floats(part) for name, part in value.items()}
    return [_with_floats(part) for part in value] if isinstance(value, list) else value
