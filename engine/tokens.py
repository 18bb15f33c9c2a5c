"""How many tokens may a lead and its calls have? As many as leave room in one record for later decisions."""

import re
from collections.abc import Mapping
from typing import Any

from engine.partition.draft import RefusedError
from schemas.wire import to_json

_EXPONENT = re.compile(rb"[0-9]e-?[0-9]")
_TEXT_OR_EXPONENT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[0-9]e(-?[0-9]+)')

TOKENS_MAX = 1_000
"""Of one lead, or of one call, over all submissions, changes and reports."""

LEAD_BYTES_MAX = 256 * 1024
"""As JSON, the larger of the two forms in which they are stored (a number such as `1e15` is 3.8 times as long there as in a
body), and with numbers written out: a database has 309 digits for `1e308` in each row that it returns. New and changed leads
have the same bound, at intake and again in the decision."""

WRITTEN_OUT_MAX = 80
"""How many times as long JSON is at most with its numbers written out: `1e308,` has 309 digits."""

CALL_BYTES_MAX = 384 * 1024
"""As JSON: those of its lead, and half as much again. A decision holds the call beside the lead."""


FEW_TOKENS = 32
"""The API or intake has measured the tokens of one submission. Deciding a new lead takes some 15 us, so it measures again
only above this number of tokens."""


def fits(tokens: Mapping[str, Any], bytes_max: int) -> bool:
    """Return whether the tokens of one lead or call stay within its bounds."""
    if len(tokens) > TOKENS_MAX:
        return False
    stored = to_json(tokens)
    if len(stored) * WRITTEN_OUT_MAX <= bytes_max:
        return True
    return len(stored) <= bytes_max and len(stored) + _digits_written_out(stored) <= bytes_max


def _digits_written_out(stored: bytes) -> int:
    """Return how many digits the numbers with an exponent are longer without it."""
    if not _EXPONENT.search(stored):
        return 0
    return sum(abs(int(found[1])) for found in _TEXT_OR_EXPONENT.finditer(stored) if found[1])


def check_tokens(tokens: Mapping[str, Any], whose: str, bytes_max: int, *, field: str = "data") -> None:
    """Refuse tokens of a lead or call (`whose`) that `field` has made too many. Raises `RefusedError` too_large."""
    if not fits(tokens, bytes_max):
        problem = f"of one {whose} have at most {TOKENS_MAX} names and {bytes_max} bytes; take some away with null"
        raise RefusedError("too_large", f"The tokens {problem}.", {field: [problem]})
