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

    @property
    def is_deleted(self) -> bool:
        """Return whether it serves no more than the orders that it was given."""
        return self.record.deleted_at is not None


def last_configuration(rules: Rules, configuration_id: int) -> NamedConfiguration | None:
    """Return a provider configuration, deleted or not: its orders outlive it."""
    record = rules.record("provider_configuration", configuration_id)
    body = rules.last_body(ProviderConfiguration, "provider_configuration", configuration_id)
    return None if record is None or body is None else NamedConfiguration(record, body)


def callback_token(deployment_secret: str, company_id: int, configuration_id: int, generation: int) -> str:
    """Return the token of one generation of a provider configuration."""
    text = f"provider callback/{company_id}/{configuration_id}/{generation}"
    return f"{configuration_id}-{hmac.digest(deployment_secret.encode(), text.encode(), 'sha256').hex()[:32]}"


def callback_url(public_url: str, provider: str, token: str) -> str:
    """Return where a vendor calls us."""
    return f"{public_url.rstrip('/')}{PATH}/{provider}/callback/{token}"


def find_configuration(rules: Rules, deployment_secret: str, provider: str, token: str) -> NamedConfiguration | None:
    """Return the configuration that a token of a URL names, deleted or not; None where it names none of that provider."""
    match = _TOKEN.fullmatch(token)
    if match is None:
        return None
    found = last_configuration(rules, int(match[1]))
    if found is None or found.body.provider != provider:
        return None
    record, body = found.record, found.body
    expected = callback_token(deployment_secret, record.company_id, record.id, body.callback_generation)
    return found if compare_digest(expected, token) else None
