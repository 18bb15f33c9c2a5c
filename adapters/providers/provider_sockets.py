"""How does a provider connect to a server that speaks no HTTP? Through the guard, to the address that was checked."""

import asyncio
import socket
import ssl
from collections.abc import Collection, Sequence
from typing import Annotated

from msgspec import Meta

from adapters.gateway.addresses import ForbiddenAddressError, Network, resolve
from adapters.gateway.ports import NotPlacedError
from adapters.gateway.resolver import Resolver
from adapters.gateway.targets import check_own_port
from adapters.providers.ports import ProviderAccount, ProviderSockets

HostName = Annotated[
    str, Meta(pattern=r"^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$", description="a host such as smtp.example.com")
]

CONNECT_SECONDS = 10.0
"""To an address that was found. A server that is up accepts in a second; a lost packet is sent again after 1 s and 3 s."""


def sockets_of(account: ProviderAccount) -> ProviderSockets:
    """Return what an account connects by. Raises `ValueError` where this process makes no such connections."""
    if account.sockets is None:
        raise ValueError("this process makes no connections but HTTP")
    return account.sockets


class GuardedProviderSockets:
    """A `ProviderSockets`. `allowed` are private networks that the operator has named; `own_ports` are closed there."""

    def __init__(
        self,
        *,
        allowed: Sequence[Network] = (),
        own_ports: Collection[int] = (),
        tls: ssl.SSLContext | None = None,
        resolver: Resolver | None = None,
    ) -> None:
        self._allowed = tuple(allowed)
        self._own_ports = own_ports
        self._resolver = resolver or Resolver()
        self._tls = tls

    @property
    def tls(self) -> ssl.SSLContext:
        """Return how certificates are verified: by the roots of this machine."""
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls

    async def connect(self, host: str, port: int) -> socket.socket:
        """Return a connected socket; see the port."""
        try:
            address = await resolve(host, self._resolver, self._allowed)
            check_own_port(address, port, self._own_ports)
        except (ForbiddenAddressError, OSError) as error:
            raise NotPlacedError(f"{host} cannot be reached: {error}") from error
        family = socket.AF_INET if address.version == 4 else socket.AF_INET6  # noqa: PLR2004 - the version of IP
        connection = socket.socket(family, socket.SOCK_STREAM)
        connection.setblocking(False)
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await asyncio.get_running_loop().sock_connect(connection, (str(address), port))
        except OSError as error:  # a TimeoutError is one
            connection.close()
            raise NotPlacedError(f"{host}:{port} cannot be reached: {error or 'no answer in time'}") from error
        except BaseException:
            connection.close()
            raise
        return connection
