"""Where do the webhooks of the two companies go? One receiver answers at once, the other never answers."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec

from adapters.local.process import LOCALHOST

HEAD_BYTES_MAX = 65_536
ANSWER = b"HTTP/1.1 204 No Content\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


@asynccontextmanager
async def good_receiver(arrived: Callable[[str], None]) -> AsyncIterator[int]:
    """Answer every request with 204 and report the lead's number; yield the port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.readexactly(content_length(head))
            writer.write(ANSWER)
            await writer.drain()
            arrived(str(msgspec.json.decode(body)["data"]["lead"]["caller_id"]))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the sender gave up; the probe counts the lead as missing
        finally:
            writer.close()

    async with await asyncio.start_server(serve, LOCALHOST, 0, limit=HEAD_BYTES_MAX) as server:
        yield server.sockets[0].getsockname()[1]


@asynccontextmanager
async def hanging_receiver() -> AsyncIterator[int]:
    """Accept connections and never answer; yield the port."""
    ended = asyncio.Event()

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await ended.wait()
        finally:
            writer.close()

    async with await asyncio.start_server(serve, LOCALHOST, 0) as server:
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            ended.set()


def content_length(head: bytes) -> int:
    """Return how many bytes of body follow the head of a request."""
    return int(header(head, b"content-length") or 0)


def header(head: bytes, wanted: bytes) -> str:
    """Return a header of a request, by its name in small letters; empty where it has none."""
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == wanted:
            return value.strip().decode("latin-1")
    return ""
