"""Is a kept connection opened again when the server has hung up meanwhile?"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from deploy.bench.wire import KeptConnection, get

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
REQUEST = get("/", "key", "secret")


@asynccontextmanager
async def _answering(number: int) -> AsyncIterator[tuple[int, list[asyncio.StreamWriter]]]:
    """Yield the port of a server that hangs up instead of answering request `number` + 1, and its connections."""
    writers: list[asyncio.StreamWriter] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        left = number
        while await reader.readline():
            if left == 0:
                break
            await reader.readuntil(b"\r\n\r\n")
            writer.write(ANSWER)
            left -= 1
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1], writers


async def test_a_connection_is_kept_until_the_server_hangs_up() -> None:
    async with _answering(9) as (port, writers):
        kept = KeptConnection("127.0.0.1", port)
        assert [await kept.ask(REQUEST), await kept.ask(REQUEST), len(writers)] == [b"{}", b"{}", 1]
        writers[0].close()
        await asyncio.sleep(0.1)
        assert [await kept.ask(REQUEST), len(writers)] == [b"{}", 2]
        await kept.close()


async def test_a_request_that_crosses_the_server_hanging_up_is_sent_again() -> None:
    async with _answering(1) as (port, writers):
        kept = KeptConnection("127.0.0.1", port)
        assert [await kept.ask(REQUEST) for _ in range(3)] == [b"{}"] * 3
        assert len(writers) == 3
        await kept.close()


async def test_a_server_that_answers_nothing_is_asked_once() -> None:
    async with _answering(0) as (port, writers):
        kept = KeptConnection("127.0.0.1", port)
        with pytest.raises(ConnectionResetError):
            await kept.ask(REQUEST)
        assert len(writers) == 1
        await kept.close()
