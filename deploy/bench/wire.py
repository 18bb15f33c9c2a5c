"""How are HTTP requests sent at little cost? Prepared bytes over persistent connections; only the status is parsed.

Run as a program it is a load generator of its own process. Arguments: host, port, file of the prepared requests,
requests, connections. Prints {"seconds": ...}.
"""

import asyncio
import base64
import json
import sys
import time
from contextlib import suppress
from itertools import cycle
from pathlib import Path

import msgspec

from deploy.bench.row import BenchError

OK_BELOW = 300


class HttpConnection:
    """One persistent connection; a request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @property
    def is_closed(self) -> bool:
        """Whether the server has closed it, as it does after a while without a request."""
        return self._reader.at_eof()

    async def ask(self, request: bytes) -> bytes:
        """Send a request and return the body of its answer. Raises `BenchError` where that is no success."""
        head, body = await self.exchange(request)
        if int(head.split(b" ", 2)[1]) >= OK_BELOW:
            raise BenchError(f"{head.decode()}{body.decode()}")
        return body

    async def exchange(self, request: bytes) -> tuple[bytes, bytes]:
        """Send a request and return head and body of its answer. Raises `OSError` or `IncompleteReadError` without one.

        Raises `ConnectionResetError` where nothing of an answer came.
        """
        self._writer.write(request)
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            if error.partial:
                raise
            raise ConnectionResetError("the server hung up without an answer") from error
        length = next(
            int(line.partition(b":")[2]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")
        )
        return head, await self._reader.readexactly(length)

    async def close(self) -> None:
        """Hang up."""
        self._writer.close()
        await self._writer.wait_closed()


async def connect(host: str, port: int, local_address: str | None = None) -> HttpConnection:
    """Return a new connection, from an address of this machine if it is given."""
    source = None if local_address is None else (local_address, 0)
    return HttpConnection(*await asyncio.open_connection(host, port, local_addr=source))


class KeptConnection:
    """A client with one connection, which it opens again where the server closed it meanwhile."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._connection: HttpConnection | None = None

    async def ask(self, request: bytes) -> bytes:
        """Send a request and return the body of its answer. Raises `BenchError` where that is no success."""
        if self._connection is not None:
            if not self._connection.is_closed:
                # A server closes what is idle for a while, perhaps just as a request is on its way, and does not read that.
                with suppress(ConnectionError):
                    return await self._connection.ask(request)
            await self.close()
        self._connection = await connect(self._host, self._port)
        return await self._connection.ask(request)

    async def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            with suppress(ConnectionError):
                await self._connection.close()
            self._connection = None


def get(path: str, user: str, password: str) -> bytes:
    """Return the bytes of a GET with HTTP Basic."""
    basic = base64.b64encode(f"{user}:{password}".encode()).decode()
    return f"GET {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Basic {basic}\r\n\r\n".encode()


def post(path: str, body: object, *headers: str) -> bytes:
    """Return the bytes of a POST of JSON."""
    data = msgspec.json.encode(body)
    lines = (f"POST {path} HTTP/1.1", "Host: bench", "Content-Type: application/json", *headers)
    return "\r\n".join((*lines, f"Content-Length: {len(data)}", "", "")).encode() + data


async def load(host: str, port: int, prepared: list[bytes], requests: int, connections: int) -> float:
    """Return the seconds in which so many requests were answered over so many connections."""
    left = iter(range(requests))
    asked = cycle(prepared)
    opened = [await connect(host, port) for _ in range(connections)]

    async def work(connection: HttpConnection) -> None:
        for _ in left:
            await connection.ask(next(asked))

    started = time.perf_counter()
    await asyncio.gather(*(work(connection) for connection in opened))
    seconds = time.perf_counter() - started
    await asyncio.gather(*(connection.close() for connection in opened))
    return seconds


def main(host: str, port: str, file: str, requests: str, connections: str) -> None:
    """Run as a program."""
    prepared = msgspec.msgpack.decode(Path(file).read_bytes(), type=list[bytes])
    seconds = asyncio.run(load(host, int(port), prepared, int(requests), int(connections)))
    sys.stdout.write(json.dumps({"seconds": seconds}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
