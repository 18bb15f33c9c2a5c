"""Is a webhook Telnyx's? By Ed25519, with the public key of the account: over the time that it was signed at, and the body.

The URL is not signed. So what a webhook is about is read from its body alone.
https://developers.telnyx.com/development/api-fundamentals/webhooks/receiving-webhooks
"""

import base64
import binascii
from collections.abc import Mapping

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from schemas.instant import SECOND, Instant

SIGNATURE, TIMESTAMP = "telnyx-signature-ed25519", "telnyx-timestamp"

AGE_SECONDS_MAX = 300
"""Of a signature, and how far it may be ahead, as in Telnyx's own package: so long an intercepted one could be repeated."""


def read_key(text: str) -> Ed25519PublicKey:
    """Return a public key as the portal shows it. Raises `ValueError`."""
    return Ed25519PublicKey.from_public_bytes(base64.b64decode(text, validate=True))


def is_signed(key: Ed25519PublicKey, headers: Mapping[str, str], body: bytes, *, now: Instant) -> bool:
    """Return whether a body was signed with the key, a few minutes ago at most."""
    timestamp = headers.get(TIMESTAMP, "")
    if not (timestamp.isascii() and timestamp.isdigit()) or abs(now / SECOND - int(timestamp)) > AGE_SECONDS_MAX:
        return False
    try:
        key.verify(base64.b64decode(headers.get(SIGNATURE, ""), validate=True), f"{timestamp}|".encode() + body)
    except (InvalidSignature, binascii.Error, ValueError):
        return False
    return True
