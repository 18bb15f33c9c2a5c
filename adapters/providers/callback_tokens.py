"""Whose callback is this? The token in its URL names a company and a provider configuration, and nobody can make one up.

The token alone proves little: URLs are logged by vendors and proxies. So a provider checks its vendor's signature besides.
"""

import hmac
import re
from hmac import compare_digest

from msgspec import Struct

from engine.rules import Rules
from schemas.records import ProviderConfiguration, Record

PATH = "/providers"

_TOKEN = re.compile(r"([1-9][0-9]{0,15})-([0-9a-f]{32})")


class NamedConfiguration(Struct, frozen=True):
    """A provider configuration with its record."""

    record: Record
    body: ProviderConfiguration


def callback_token(deployment_secret: str, company_id: int, configuration_id: int, generation: int) -> str:
    """Return the token of one generation of a provider configuration."""
    text = f"provider callback/{company_id}/{configuration_id}/{generation}"
    return f"{configuration_id}-{hmac.digest(deployment_secret.encode(), text.encode(), 'sha256').hex()[:32]}"


def callback_url(public_url: str, provider: str, token: str) -> str:
    """Return where a vendor calls us."""
    return f"{public_url.rstrip('/')}{PATH}/{provider}/callback/{token}"


def find_configuration(rules: Rules, deployment_secret: str, provider: str, token: str) -> NamedConfiguration | None:
    """Return the live configuration that a token of a URL names, or None where it names none of that provider."""
    match = _TOKEN.fullmatch(token)
    if match is None:
        return None
    configuration_id = int(match[1])
    body = rules.body(ProviderConfiguration, "provider_configuration", configuration_id)
    record = rules.record("provider_configuration", configuration_id)
    if body is None or record is None or body.provider != provider:
        return None
    expected = callback_token(deployment_secret, record.company_id, configuration_id, body.callback_generation)
    return NamedConfiguration(record, body) if compare_digest(expected, token) else None
