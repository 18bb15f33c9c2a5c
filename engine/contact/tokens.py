"""How many tokens may a lead and its calls carry? As many as leave room, in one record, for whatever is decided later."""

from collections.abc import Mapping
from typing import Any

from engine.partition.draft import RefusedError
from schemas.wire import to_json

TOKENS_MAX = 1_000
"""Of all that submissions, changes and gateways have told of one lead, or of one call."""

LEAD_BYTES_MAX = 256 * 1024
"""As JSON: as much as one body may hold. An opt-out above all must still fit beside them."""

CALL_BYTES_MAX = 384 * 1024
"""As JSON: those of its lead, and half as much again. A decision holds the call beside the lead."""


def check_tokens(tokens: Mapping[str, Any], whose: str, bytes_max: int, *, field: str = "data") -> None:
    """Refuse tokens of a lead or call (`whose`) that `field` has made too many. Raises `RefusedError` too_large."""
    if len(tokens) > TOKENS_MAX or len(to_json(tokens)) > bytes_max:
        problem = f"of one {whose} have at most {TOKENS_MAX} names and {bytes_max} bytes; take some away with null"
        raise RefusedError("too_large", f"The tokens {problem}.", {field: [problem]})
