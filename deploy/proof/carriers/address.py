"""Where do vendors report to? To one public address, which passes each connection to an API that runs: a load balancer."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Self
from urllib.parse import urlsplit

from adapters.local.process import LOCALHOST

READ_BYTES = 65_536


class PublicAddress:
    """A port in front of the APIs; `urls` are theirs. Where none takes a connection, it is reset."""

    def __init__(self, urls: Callable[[], Sequence[str]]) -> None:
        self._urls = urls
        self._server: asyncio.Server | None = None
        self._passing: set[asyncio.Task[None]] = set()
        self.url = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, LOCALHOST, 0)
        self.url = f"http://{LOCALHOST}:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None  # noqa: S101 - entered
        self._server.close()
        for task in self._passing:
            task.cancel()
        await asyncio.gather(*self._passing, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - the server makes one for each connection
        self._passing.add(task)
        try:
            await self._pass(reader, writer)
        finally:
            self._passing.discard(task)
            writer.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for url in self._urls():
            with contextlib.suppress(OSError):
                there, back = await asyncio.open_connection(LOCALHOST, urlsplit(url).port)
                break
        else:
            return
        copying = [asyncio.create_task(_copy(reader, back)), asyncio.create_task(_copy(there, writer))]
        try:
            await asyncio.wait(copying, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in copying:
                task.cancel()
            await asyncio.gather(*copying, return_exceptions=True)
            back.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass bytes on until one side ends."""
    with contextlib.suppress(OSError):
        while data := await reader.read(READ_BYTES):
            writer.write(data)
            await writer.drain()
