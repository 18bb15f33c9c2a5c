"""How can somebody without a key hear a recording for a while? By a link whose token names the call, its maker and its end.

The token is sealed with a key of this deployment. It grants nothing by itself: when it is used, its maker must still be
allowed to hear the recording. Nothing is stored.
"""

import msgspec
from msgspec import Struct

from adapters.gateway.sealed_tokens import SealedTokens
from schemas.instant import Instant

PATH = "/recordings"

TOKEN_LENGTH_MAX = 600
"""In characters; one of a maker with the longest address (254) has about 430."""


class RecordingLink(Struct, frozen=True, array_like=True):
    """What a token says. `key_id` None: a session of the user with that address made it."""

    company_id: int
    call_id: int
    expires_at: Instant
    key_id: int | None
    user_email: str | None


class RecordingLinks:
    """The links of a deployment. `public_url` is where its API is reached; where that is not set, a link is a path."""

    def __init__(self, deployment_secret: str, public_url: str) -> None:
        self._tokens = SealedTokens(deployment_secret, b"recording links/v1", length_max=TOKEN_LENGTH_MAX)
        self._public_url = public_url.rstrip("/")

    def url(self, link: RecordingLink) -> str:
        """Return the address of a link."""
        return f"{self._public_url}{PATH}/{self._tokens.seal(msgspec.msgpack.encode(link))}"

    def read(self, token: str) -> RecordingLink | None:
        """Return what a token says, None for one that this deployment did not make."""
        content = self._tokens.open(token)
        return None if content is None else msgspec.msgpack.decode(content, type=RecordingLink)
