"""How does a company call by an Asterisk of its own? Entry point `asterisk`."""

from adapters.providers.asterisk.provider import AsteriskProvider

PROVIDER = AsteriskProvider()
