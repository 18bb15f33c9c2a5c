"""Which e-mail does a bounce mean? That of the token in its headers, which nobody can make up and which shows nothing.

The token is the company, lead, command and contact, encrypted with a key that is derived from the deployment's own (AES-SIV,
RFC 5297). Mail servers return the headers of what they could not deliver (RFC 3464, 2; RFC 6522, 3). Nothing is stored.
"""

import base64
import binascii
import hmac

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from msgspec import Struct

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
        self._cipher = AESSIV(hmac.digest(deployment_secret.encode(), b"bounce tokens/v1", "sha512"))

    def token(self, command: SendEmail) -> str:
        """Return the token of an e-mail; the same e-mail sent again has the same one."""
        sent = SentMail(
            company_id=command.company_id,
            lead_id=command.lead_id,
            command_id=command.command_id,
            contact_key=command.contact_key,
        )
        return _encoded(self._cipher.encrypt(msgspec.json.encode(sent), None))

    def read(self, token: str) -> SentMail | None:
        """Return what a token names; None for one that this deployment did not make."""
        if not 0 < len(token) <= TOKEN_LENGTH_MAX or not token.isascii():
            return None
        try:
            sealed = base64.b64decode(f"{token}{'=' * (-len(token) % 4)}", altchars=b"-_", validate=True)
            return msgspec.json.decode(self._cipher.decrypt(sealed, None), type=SentMail)
        except (binascii.Error, InvalidTag, ValueError):
            return None


def _encoded(sealed: bytes) -> str:
    return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()
