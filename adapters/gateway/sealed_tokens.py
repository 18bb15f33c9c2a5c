"""How does a token carry what only we may read? Encrypted with a key that is derived from the deployment's own.

AES-SIV (RFC 5297): the same text gives the same token, and a token that was changed, or made for another purpose or by
another deployment, opens to nothing. Nothing is stored.
"""

import base64
import binascii
import hmac

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV


class SealedTokens:
    """The tokens of one purpose. None is longer than `length_max` characters."""

    def __init__(self, deployment_secret: str, purpose: bytes, *, length_max: int) -> None:
        self._cipher = AESSIV(hmac.digest(deployment_secret.encode(), purpose, "sha512"))
        self._length_max = length_max

    def seal(self, content: bytes) -> str:
        """Return the token of a content, in characters that a URL and a header may have."""
        return _encoded(self._cipher.encrypt(content, None))

    def open(self, token: str) -> bytes | None:
        """Return the content of a token; None for one that was not sealed here."""
        if not 0 < len(token) <= self._length_max or not token.isascii():
            return None
        try:
            sealed = base64.b64decode(f"{token}{'=' * (-len(token) % 4)}", altchars=b"-_", validate=True)
            content = self._cipher.decrypt(sealed, None)  # the library compares in constant time
        except (binascii.Error, InvalidTag, ValueError):
            return None
        return content if _encoded(sealed) == token else None  # the unused bits of its last character


def _encoded(sealed: bytes) -> str:
    return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()
