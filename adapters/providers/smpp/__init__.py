"""How are texts carried by a carrier's own SMPP 3.4? Entry point `smpp`."""

from adapters.providers.smpp.provider import SmppProvider

PROVIDER = SmppProvider()
