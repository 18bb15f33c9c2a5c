"""How is the secret kept by which an issuer knows a company's client? Encrypted, as the secrets of providers are."""

from adapters.providers.sealing import seal, unseal
from schemas.records import Company

_NAME = "client secret"
_PROVIDER = "sign-in"
"""What it is bound to beside the company. No provider has a name with a hyphen."""


def seal_client_secret(secret_key: str, company_id: int, text: str) -> str:
    """Encrypt the secret of a company's client."""
    return seal(secret_key, text, company_id=company_id, provider=_PROVIDER, name=_NAME)


def unseal_client_secret(secret_key: str, company_id: int, company: Company) -> str:
    """Return the secret of a company's client; empty: it has none. Raises `UnreadableSecretError`."""
    if company.sealed_sign_in_secret is None:
        return ""
    return unseal(secret_key, company.sealed_sign_in_secret, company_id=company_id, provider=_PROVIDER, name=_NAME)
