"""How are calls and texts carried by Telnyx? Entry point `telnyx`."""

from adapters.providers.telnyx.provider import TelnyxProvider

PROVIDER = TelnyxProvider()
