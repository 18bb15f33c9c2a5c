"""How does the file of a recording come from its vendor? Through the address guard, bounded in size and time."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager

import httpx

from adapters.gateway.addresses import Network
from adapters.gateway.guarded_client import REFUSED_TARGETS, GuardedClient
from adapters.providers.ports import RecordingSource
from adapters.recordings.media_types import HEAD_BYTES, read_media_type
from schemas.errors import DependencyError

ANSWER_SECONDS = 30.0
"""Until the next part of a file comes: a vendor may read it from an archive first."""

DOWNLOAD_SECONDS_MAX = 900.0
"""Of a whole file: the largest one at 300 kB a second."""

BYTES_MAX = 268_435_456
"""Of a file: four hours, the longest call that is recorded, as WAV of a telephone (8,000 samples a second, 16 bits)."""

DOWNLOADS_MAX = 4
"""At once: beside calls and texts there must be room on the line."""

OK = 200

_HEADERS = {"user-agent": "leadclock", "accept": "audio/*", "accept-encoding": "identity"}


class NotFetchedError(DependencyError):
    """A file could not be fetched; it may be there later."""


class NeverFetchedError(NotFetchedError):
    """A file cannot be fetched, however often it is tried."""


class RecordingDownloads:
    """Fetches files. `allowed` are private networks that the operator has named; `own_ports` are closed there."""

    def __init__(
        self, *, allowed: Sequence[Network] = (), own_ports: Collection[int] = (), bytes_max: int = BYTES_MAX
    ) -> None:
        self._client = GuardedClient(
            allowed=allowed, own_ports=own_ports, answer_seconds=ANSWER_SECONDS, connections_max=DOWNLOADS_MAX
        )
        self._bytes_max = bytes_max

    async def close(self) -> None:
        """Close every connection."""
        await self._client.close()

    @asynccontextmanager
    async def open(self, source: RecordingSource) -> AsyncGenerator[tuple[str, AsyncIterator[bytes]]]:
        """Give the media type and the parts of a file. Raises `NotFetchedError` in both."""
        try:
            async with (
                asyncio.timeout(DOWNLOAD_SECONDS_MAX),
                self._client.stream("GET", source.url, headers={**_HEADERS, **source.headers}) as (status, parts),
            ):
                if status != OK:
                    raise NotFetchedError(f"the vendor answered {status}")
                head = await _read_head(parts)
                media_type = read_media_type(head)
                if media_type is None:
                    raise NotFetchedError("the vendor answered something that is no audio")
                yield media_type, self._bounded(head, parts)
        except REFUSED_TARGETS as error:
            raise NotFetchedError(f"the address is not allowed: {error}") from error
        except (httpx.HTTPError, TimeoutError) as error:
            raise NotFetchedError(f"the vendor did not answer: {type(error).__name__}: {error}") from error

    async def _bounded(self, head: bytes, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        size = 0
        async for part in _behind(head, parts):
            size += len(part)
            if size > self._bytes_max:
                raise NeverFetchedError(f"the file is larger than {self._bytes_max} bytes")
            yield part


async def _behind(head: bytes, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield head
    async for part in parts:
        yield part


async def _read_head(parts: AsyncIterator[bytes]) -> bytes:
    head = b""
    async for part in parts:
        head += part
        if len(head) >= HEAD_BYTES:
            break
    return head
