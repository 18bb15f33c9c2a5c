"""How does a provider send a request to its vendor? Through the address guard, in bounded time, while the lease runs."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from ssl import SSLContext

import httpx

from adapters.gateway.addresses import Network
from adapters.gateway.guarded_client import REFUSED_TARGETS, GuardedClient
from adapters.gateway.leases import check_lease
from adapters.gateway.ports import NotPlacedError
from adapters.gateway.resolver import Resolver
from adapters.providers.ports import HttpAnswer, ProviderFailedError

ANSWER_SECONDS = 15.0
"""For a request as a whole. Twilio gives up on its own side after 15 s."""

CONNECTIONS_MAX = 100
"""Vendors limit requests a second and account to about a hundred; one takes some tenths of a second."""

ANSWER_BYTES_MAX = 262_144
"""Of an answer: a page of 50 calls as JSON has some 100 kB."""

_HEADERS = {"user-agent": "leadclock", "accept-encoding": "identity"}

_NOTHING_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class GuardedProviderHttp:
    """A `ProviderHttp`. `allowed` are private networks that the operator has named; `own_ports` are closed there.

    Without `tls` it takes the certificates that the machine takes.
    """

    def __init__(
        self,
        *,
        allowed: Sequence[Network] = (),
        own_ports: Collection[int] = (),
        tls: SSLContext | None = None,
        resolver: Resolver | None = None,
    ) -> None:
        self._client = GuardedClient(
            allowed=allowed,
            own_ports=own_ports,
            answer_seconds=ANSWER_SECONDS,
            connections_max=CONNECTIONS_MAX,
            tls=tls,
            resolver=resolver,
        )

    async def close(self) -> None:
        """Close every connection."""
        await self._client.close()

    async def send(self, method: str, url: str, *, headers: Mapping[str, str], content: bytes = b"") -> HttpAnswer:
        """Return the answer to a request; see the port. Raises `LeaseLostError` where the lease has run out."""
        was_sent = False

        def begin() -> None:
            nonlocal was_sent
            check_lease()
            was_sent = True

        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                status, body = await self._client.fetch(
                    method, url, headers={**_HEADERS, **headers}, content=content, before=begin, bytes_max=ANSWER_BYTES_MAX
                )
        except (*REFUSED_TARGETS, *_NOTHING_SENT) as error:
            raise NotPlacedError(f"the provider cannot be reached: {type(error).__name__}: {error}") from error
        except (httpx.HTTPError, OSError) as error:  # a TimeoutError is an OSError
            if not was_sent:
                raise NotPlacedError(f"the provider cannot be reached: {type(error).__name__}: {error}") from error
            raise ProviderFailedError(f"the provider did not answer: {type(error).__name__}: {error}") from error
        return HttpAnswer(status, body)
