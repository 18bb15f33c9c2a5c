"""Is a kept connection opened again when the server has hung up meanwhile?"""

import asyncio

from adapters.bench.wire import get, reuse_or_connect

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


async def test_a_connection_is_kept_until_the_server_hangs_up() -> None:
    writers: list[asyncio.StreamWriter] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        while not reader.at_eof():
            if await reader.readline() == b"\r\n":
                writer.write(ANSWER)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    first = await reuse_or_connect(None, "127.0.0.1", port)
    assert await first.ask(get("/", "key", "secret")) == b"{}"
    assert await reuse_or_connect(first, "127.0.0.1", port) is first
    writers[0].close()
    await asyncio.sleep(0.1)
    second = await reuse_or_connect(first, "127.0.0.1", port)
    assert second is not first
    assert await second.ask(get("/", "key", "secret")) == b"{}"
    for connection in (first, second):
        await connection.close()
    server.close()
