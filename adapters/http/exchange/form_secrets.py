"""How is the secret kept that signs the forms of a lead token? Encrypted, as the secrets of providers are."""

import secrets

from adapters.providers.sealing import seal, unseal

SECRET_BYTES = 32
"""As long as the digest that it keys (RFC 2104, 3)."""

_PREFIX = "fs_"
_PROVIDER = "signed-forms"
"""What it is bound to beside the company. No provider has a name with a hyphen."""


def new_form_secret() -> str:
    """Return a new secret, as its owner writes it into a program."""
    return f"{_PREFIX}{secrets.token_urlsafe(SECRET_BYTES)}"


def seal_form_secret(secret_key: str, company_id: int, record_type: str, text: str) -> str:
    """Encrypt the secret of an offer or a schedule."""
    return seal(secret_key, text, company_id=company_id, provider=_PROVIDER, name=record_type)


def unseal_form_secret(secret_key: str, company_id: int, record_type: str, sealed: str) -> str:
    """Return the secret of an offer or a schedule. Raises `UnreadableSecretError`."""
    return unseal(secret_key, sealed, company_id=company_id, provider=_PROVIDER, name=record_type)
