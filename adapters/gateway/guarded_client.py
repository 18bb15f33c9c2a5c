"""How is something sent to a URL that a company chose? To a checked address, without redirects or proxies, in bounded time.

The name is resolved first, and the checked address connected to (`addresses`); the name goes into `Host` and TLS.
"""

import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager

import httpx
from msgspec import Struct

from adapters.gateway.addresses import ForbiddenAddressError, Network, resolve
from adapters.gateway.resolver import Resolver
from adapters.gateway.targets import DEFAULT_PORTS, check_own_port

RESPONSE_BYTES_MAX = 16_384
"""Read and discarded; a longer answer is cut off."""

EXCERPT_BYTES_MAX = 200
"""Of an answer, for people to read."""

REFUSED_TARGETS = (ForbiddenAddressError, httpx.InvalidURL, httpx.UnsupportedProtocol)
"""What `send` raises before anything is sent; a retry does not help."""


class _Target(Struct, frozen=True, kw_only=True):
    """Where a request goes: the URL with the checked address in it, and the name for `Host` and TLS."""

    url: httpx.URL
    host_header: str
    server_name: str


class GuardedClient:
    """An HTTP client for addresses of companies.

    `allowed` are the private networks that the operator has named; `own_ports` are closed there.
    """

    def __init__(
        self,
        *,
        allowed: Sequence[Network],
        own_ports: Collection[int],
        answer_seconds: float,
        connections_max: int,
        tls: ssl.SSLContext | None = None,
        resolver: Resolver | None = None,
    ) -> None:
        self._allowed = tuple(allowed)
        self._own_ports = own_ports
        self._resolver = resolver or Resolver()
        self._client = httpx.AsyncClient(
            verify=tls or ssl.create_default_context(),
            follow_redirects=False,
            trust_env=False,  # a proxy of the environment would connect to an unchecked address
            limits=httpx.Limits(max_connections=connections_max, max_keepalive_connections=0),
            timeout=answer_seconds,
        )

    async def close(self) -> None:
        """Close every connection."""
        await self._client.aclose()
        await self._resolver.close()

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        content: bytes,
        before: Callable[[], None] = lambda: None,
        excerpt_bytes: int = EXCERPT_BYTES_MAX,
    ) -> tuple[int, str]:
        """Send a request and return the status and the start of the answer; `before` is called right before it leaves.

        Raises one of `REFUSED_TARGETS`, `httpx.HTTPError` or `OSError`; the caller sets the timeout of the whole.
        """
        status, body = await self.fetch(
            method, url, headers=headers, content=content, before=before, bytes_max=RESPONSE_BYTES_MAX
        )
        return status, _excerpt(body, excerpt_bytes)

    async def fetch(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        content: bytes | AsyncIterator[bytes],
        bytes_max: int,
        before: Callable[[], None] = lambda: None,
    ) -> tuple[int, bytes]:
        """Send a request as `send` does; return the status and the answer, cut off once it has `bytes_max` bytes."""
        async with self.stream(method, url, headers=headers, content=content, before=before) as (status, parts):
            return status, await _read(parts, bytes_max)

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        content: bytes | AsyncIterator[bytes] = b"",
        before: Callable[[], None] = lambda: None,
    ) -> AsyncGenerator[tuple[int, AsyncIterator[bytes]]]:
        """Send a request as `send` does; give the status, and the answer part by part. The caller bounds its size."""
        target = await self._target(url)
        request = self._client.build_request(
            method,
            target.url,
            content=content,
            headers={**headers, "host": target.host_header},
            extensions={"sni_hostname": target.server_name},
        )
        before()
        response = await self._client.send(request, stream=True)
        try:
            yield response.status_code, response.aiter_raw()
        finally:
            await response.aclose()

    async def _target(self, text: str) -> _Target:
        url = httpx.URL(text)
        if url.scheme not in {"http", "https"} or not url.host:
            raise httpx.UnsupportedProtocol(f"the URL has no http or https host: {url.scheme or 'no scheme'}")
        name = url.raw_host.decode("ascii")
        address = await resolve(name, self._resolver, self._allowed)
        check_own_port(address, url.port or DEFAULT_PORTS[url.scheme], self._own_ports)
        return _Target(url=url.copy_with(host=str(address)), host_header=url.netloc.decode("ascii"), server_name=name)


async def _read(parts: AsyncIterator[bytes], bytes_max: int) -> bytes:
    read = bytearray()
    async for chunk in parts:
        read += chunk
        if len(read) >= bytes_max:
            break
    return bytes(read[:bytes_max])


def _excerpt(body: bytes, excerpt_bytes: int) -> str:
    """Return the start of an answer, for people to read."""
    return " ".join(body[:excerpt_bytes].decode("utf-8", "replace").split())
