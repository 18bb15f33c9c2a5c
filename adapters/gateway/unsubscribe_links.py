"""Where does a person unsubscribe? At an address of their own, whose token nobody can make up and which shows nothing.

The token is the company, lead, channel and contact, sealed. Nothing is stored: a link is good for as long as the deployment
keeps its key. The same e-mail sent again has the same link.
"""

from email.message import EmailMessage
from email.policy import Policy
from typing import Literal, Self, cast

from msgspec import Struct

from adapters.gateway.sealed_tokens import SealedTokens
from schemas.commands import SendEmail

PATH = "/unsubscribe"

TOKEN_LENGTH_MAX = 600
"""In characters; one for the longest address (254) has about 420."""

ONE_CLICK = "List-Unsubscribe=One-Click"
"""What a mail program posts (RFC 8058, 3.2)."""


class UnsubscribeTarget(Struct, frozen=True, kw_only=True):
    """What a token names. `contact_key` is the contact of the address, `lead_id` the lead that the e-mail was for."""

    company_id: int
    lead_id: int
    channel: Literal["email"]
    contact_key: str


class UnsubscribeLinks:
    """The links of a deployment. `public_url` is where its API is reached; by HTTPS alone a mail program may post there."""

    def __init__(self, deployment_secret: str, public_url: str) -> None:
        self._tokens = _tokens(deployment_secret)
        self._public_url = public_url.rstrip("/")

    def add_to(self, message: EmailMessage, command: SendEmail) -> None:
        """Add the headers that say how to unsubscribe (RFC 2369, 3.2; RFC 8058, 3.1)."""
        message["List-Unsubscribe"] = OneLineHeader("List-Unsubscribe", f"<{self.url(command)}>")
        if self._public_url.startswith("https://"):
            message["List-Unsubscribe-Post"] = ONE_CLICK

    def url(self, command: SendEmail) -> str:
        """Return the address at which the recipient of a command unsubscribes."""
        text = f"{command.company_id}/{command.lead_id}/email/{command.contact_key}"
        return f"{self._public_url}{PATH}/{self._tokens.seal(text.encode())}"


class OneLineHeader(str):
    """A header that is written on one line: the library breaks a long word by encoding it, and no mail program decodes that.

    A line may have 998 characters (RFC 5322, 2.1.1).
    """

    __slots__ = ("name",)

    name: str

    def __new__(cls, name: str, text: str) -> Self:
        """Return the header of a name."""
        made = super().__new__(cls, text)
        made.name = name
        return made

    def fold(self, *, policy: Policy) -> str:
        """Return the header as it is sent; the library calls this."""
        return f"{self.name}: {self}{policy.linesep}"


def read_token(deployment_secret: str, token: str) -> UnsubscribeTarget | None:
    """Return what a token of a link names; None for one that this deployment did not make."""
    content = _tokens(deployment_secret).open(token)
    if content is None:
        return None
    company_id, lead_id, channel, contact_key = content.decode().split("/", 3)
    return UnsubscribeTarget(
        company_id=int(company_id),
        lead_id=int(lead_id),
        channel=cast("Literal['email']", channel),
        contact_key=contact_key,
    )


def _tokens(deployment_secret: str) -> SealedTokens:
    return SealedTokens(deployment_secret, b"unsubscribe links/v1", length_max=TOKEN_LENGTH_MAX)
