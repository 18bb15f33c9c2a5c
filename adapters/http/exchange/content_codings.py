"""In which coding may an answer be sent? In the first that we offer and the client takes, else plain."""

import re
from collections.abc import Sequence

PLAIN = "identity"

_REFUSED = re.compile(r"q=0(\.0*)?")


def choose_coding(accepted: str, offered: Sequence[str]) -> str:
    """Return the coding for an Accept-Encoding header (RFC 9110 12.5.3). A weight of zero refuses it; others say no more."""
    parts = [part.lower().replace(" ", "").split(";") for part in accepted.split(",")]
    taken = {name for name, *weights in parts if not any(map(_REFUSED.fullmatch, weights))}
    return next((coding for coding in offered if coding in taken), PLAIN)
