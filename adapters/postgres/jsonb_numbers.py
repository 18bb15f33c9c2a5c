"""How does a number of JSON live through jsonb with its value and its type?

PostgreSQL keeps numbers as decimals and writes them out without an exponent: 1e20 comes back as 100000000000000000000, which
reads as a whole number, and of more than 64 bits at that. Our whole numbers have at most 64 bits
(`engine.submission.fields`), so that a longer one was a float; a shorter float is written with `.0`, which a decimal keeps.
"""

import re
from typing import Any

import msgspec

WHOLE_MIN, WHOLE_MAX = -(2**63), 2**63 - 1

_LONG = re.compile(r"[0-9]{19}")
"""The digits of the smallest whole number that may have more than 64 bits."""

_EXPONENT = re.compile(rb"[0-9]e[0-9]")
_TEXT_OR_EXPONENT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|-?[0-9]+(?:\.[0-9]+)?e[0-9]+')


def decode_jsonb(text: str) -> Any:
    """Return the value of a jsonb, which PostgreSQL wrote out as text."""
    value = msgspec.json.decode(text)
    return _with_floats(value) if _LONG.search(text) else value


def encode_for_jsonb(raw: bytes) -> bytes:
    """Return JSON of ours whose floats stay floats in jsonb: those that would read as whole numbers of 64 bits get `.0`."""
    return _TEXT_OR_EXPONENT.sub(_written_out, raw) if _EXPONENT.search(raw) else raw


def _written_out(found: re.Match[bytes]) -> bytes:
    text = found[0]
    if text.startswith(b'"'):
        return text
    value = float(text)
    # A longer one stays as it is: it is known by its length, and would be larger written out.
    return b"%.1f" % value if WHOLE_MIN <= value <= WHOLE_MAX else text


def _float(value: int) -> float | str:
    try:
        return float(value)
    except OverflowError:  # no sender's number: the door refuses it. As text it does not keep a list from its other rows.
        return str(value)


def _with_floats(value: Any) -> Any:
    if isinstance(value, int):
        return value if WHOLE_MIN <= value <= WHOLE_MAX else _float(value)
    if isinstance(value, dict):
        return {name: _with_floats(part) for name, part in value.items()}
    return [_with_floats(part) for part in value] if isinstance(value, list) else value
