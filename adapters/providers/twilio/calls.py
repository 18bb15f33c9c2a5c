"""Whose call was recorded? Twilio's report of a recording names no numbers, so the URL that we give it does, sealed.

URLs are logged by vendors and proxies: the numbers in this one are read by us alone.
"""

from msgspec import Struct

from adapters.gateway.sealed_tokens import SealedTokens
from adapters.providers.ports import InboundCallReport

TOKEN_LENGTH_MAX = 300
"""In characters: Twilio's name of a call has 34, a number 16."""


class NamedCall(Struct, frozen=True):
    """The call of a person."""

    call_ref: str
    person: str
    number: str


class SealedCalls:
    """The tokens of one account."""

    def __init__(self, auth_token: str) -> None:
        self._tokens = SealedTokens(auth_token, b"twilio calls/v1", length_max=TOKEN_LENGTH_MAX)

    def seal(self, report: InboundCallReport) -> str:
        """Return the token of a call."""
        return self._tokens.seal(f"{report.call_ref}/{report.from_number}/{report.to_number}".encode())

    def open(self, token: str) -> NamedCall | None:
        """Return the call of a token, None for one that was not made here."""
        content = self._tokens.open(token)
        return None if content is None else NamedCall(*content.decode().split("/", 2))
