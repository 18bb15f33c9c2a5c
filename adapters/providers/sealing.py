"""How are a provider's secrets kept? Encrypted with a key that is derived from the deployment's own (AES-256-GCM).

What is encrypted is bound to its company, provider and name: copied elsewhere it does not open.
"""

import base64
import hmac
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from schemas.errors import SenderError

VERSION = "v1"
"""First part of each encrypted secret: which key and cipher it was made with."""

NONCE_BYTES = 12
"""As NIST SP 800-38D has it for GCM; random, so a key must not encrypt more than 2^32 secrets."""


class UnreadableSecretError(SenderError):
    """A secret was encrypted with another key, or for another place; set it again."""


def seal(deployment_secret: str, text: str, *, company_id: int, provider: str, name: str) -> str:
    """Encrypt a secret."""
    nonce = os.urandom(NONCE_BYTES)
    sealed = _cipher(deployment_secret).encrypt(nonce, text.encode(), _place(company_id, provider, name))
    return f"{VERSION}.{base64.urlsafe_b64encode(nonce + sealed).decode()}"


def unseal(deployment_secret: str, sealed: str, *, company_id: int, provider: str, name: str) -> str:
    """Decrypt a secret. Raises `UnreadableSecretError`."""
    version, _, encoded = sealed.partition(".")
    try:
        found = base64.urlsafe_b64decode(encoded.encode()) if version == VERSION else b""
        place = _place(company_id, provider, name)
        return _cipher(deployment_secret).decrypt(found[:NONCE_BYTES], found[NONCE_BYTES:], place).decode()
    except (ValueError, InvalidTag) as error:
        raise UnreadableSecretError(
            f"the secret {name} was not encrypted with this deployment's LEADCLOCK_SECRET_KEY; set it again"
        ) from error


def _cipher(deployment_secret: str) -> AESGCM:
    return AESGCM(hmac.digest(deployment_secret.encode(), b"provider secrets/v1", "sha256"))


def _place(company_id: int, provider: str, name: str) -> bytes:
    return f"{company_id}/{provider}/{name}".encode()
