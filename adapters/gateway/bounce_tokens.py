"""Which e-mail does a bounce mean? That of the token in its headers, which nobody can make up and which shows nothing.

The token is the company, lead, command and contact, sealed. Mail servers return the headers of what they could not deliver
(RFC 3464, 2; RFC 6522, 3). Nothing is stored.
"""

import msgspec
from msgspec import Struct

from adapters.gateway.sealed_tokens import SealedTokens
from schemas.commands import SendEmail

HEADER = "X-Leadclock-Delivery"

TOKEN_LENGTH_MAX = 900
"""In characters, so that the header fits into one line (RFC 5322, 2.1.1); one for the longest address has about 600."""


class SentMail(Struct, frozen=True, kw_only=True):
    """What a token names."""

    company_id: int
    lead_id: int
    command_id: str
    contact_key: str


class BounceTokens:
    """The tokens of a deployment."""

    def __init__(self, deployment_secret: str) -> None:
        self._tokens = SealedTokens(deployment_secret, b"bounce tokens/v1", length_max=TOKEN_LENGTH_MAX)

    def token(self, command: SendEmail) -> str:
        """Return the token of an e-mail; the same e-mail sent again has the same one."""
        sent = SentMail(
            company_id=command.company_id,
            lead_id=command.lead_id,
            command_id=command.command_id,
            contact_key=command.contact_key,
        )
        return self._tokens.seal(msgspec.json.encode(sent))

    def read(self, token: str) -> SentMail | None:
        """Return what a token names; None for one that this deployment did not make."""
        content = self._tokens.open(token)
        try:
            return None if content is None else msgspec.json.decode(content, type=SentMail)
        except msgspec.DecodeError:
            return None
