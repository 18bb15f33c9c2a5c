"""A company whose calls go by an Asterisk, a fake or a real one, which a gateway listens to; and the API between."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from adapters.clock import wall_now
from adapters.gateway.addresses import networks
from adapters.postgres.stream_leases import PostgresStreamLeases
from adapters.providers.connections import Connections
from adapters.providers.provider_http import GuardedProviderHttp
from adapters.providers.provider_sockets import GuardedProviderSockets
from adapters.providers.streams import VendorStreams
from tests.adapters.http.carrier import PUBLIC, Carrier
from tests.adapters.http.conftest import SECRET_KEY


class AsteriskCarrier(Carrier):
    """The company, and the gateway's side of it."""

    provider_name = "asterisk"

    def __init__(self, town: Any, company: Any, http: GuardedProviderHttp, url: str, password: str) -> None:
        super().__init__(town, company, None, http)  # type: ignore[arg-type]
        self.url, self.password = url, password
        self.connections = Connections(
            http=http,
            deployment_secret=SECRET_KEY,
            public_url=PUBLIC,
            now=wall_now,
            sockets=GuardedProviderSockets(allowed=networks(["127.0.0.1"])),
        )

    async def configure(self, channel: str = "call", **more: Any) -> dict[str, Any]:
        settings = {
            "url": self.url,
            "user": "leadclock",
            "endpoint": "PJSIP/{number}@carrier",
            "agent_number": "+12125550177",
        }
        fields = {
            "name": "Asterisk",
            "channel": channel,
            "provider": "asterisk",
            "settings": {**settings, **more.pop("settings", {})},
            "secrets": {"password": self.password},
            **more,
        }
        found: dict[str, Any] = await self.company.record("provider_configurations", fields)
        return found

    @asynccontextmanager
    async def listened(self) -> AsyncIterator[None]:
        """A gateway listens meanwhile, for this company as for all."""
        async with self.streams(f"gateway of {self.company.id}").running():
            yield

    def streams(self, holder: str) -> VendorStreams:
        """What a gateway listens with."""
        return VendorStreams(
            ("asterisk",),
            holder=holder,
            leases=PostgresStreamLeases(self.town.pool),
            connections=self.connections,
            rules=self.town.context.rules,
            client=self.town.client,
        )
