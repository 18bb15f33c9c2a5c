"""Can another process use the embedded log over its log server, and does it keep a log's promises there?"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack

import msgspec
import pytest

from adapters.embedded.log import EmbeddedLog
from adapters.embedded.log_server import HOST, Facts, serve_log, write_frame
from adapters.embedded.remote import RemoteLog
from engine.partition.ports import LogError, Ownership
from tests.adapters.log_contract import LogContract, World, outgoing, values
from tests.adapters.test_embedded_log import EmbeddedWorld, wall_ms

SECRET = "a secret of thirty-two characters"


class Both(RemoteLog):
    """Reads and appends from outside, owns inside: as commands and `up` do."""

    def __init__(self, port: int, inside: EmbeddedLog) -> None:
        super().__init__(port, SECRET)
        self._inside = inside

    async def own(self, input_topic: str, partition: int, *, writes: Sequence[str] = ()) -> Ownership:
        return await self._inside.own(input_topic, partition, writes=writes)


class LogServerWorld(EmbeddedWorld):
    def __init__(self, port: int, inside: EmbeddedLog) -> None:
        self._inside = inside
        self.log = Both(port, inside)  # type: ignore[assignment]

    async def create(self, *names: str, partitions: int = 2) -> list[str]:
        for name in names:
            await self._inside.create_topic(name, partitions)
        return list(names)

    async def delete(self, topic: str) -> None:
        await self._inside.delete_topic(topic)

    async def delete_records(self, topic: str, partition: int, before: int) -> None:
        await self._inside.delete_records(topic, partition, before)

    async def limit(self, topic: str, record_bytes_max: int) -> None:
        self._inside._topics[topic] = msgspec.structs.replace(self._inside._topics[topic], record_bytes_max=record_bytes_max)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    inside = EmbeddedLog(None, now=wall_ms)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(inside.close)
        made = LogServerWorld(await stack.enter_async_context(serve_log(inside, SECRET)), inside)
        stack.push_async_callback(made.log.close)
        yield made


class TestThroughTheServer(LogContract):
    pass


async def test_nobody_without_the_secret_is_let_in() -> None:
    inside = EmbeddedLog(None, now=wall_ms)
    await inside.create_topic("t", 1)
    async with serve_log(inside, SECRET) as port:
        stranger = RemoteLog(port, "another secret of some length")
        with pytest.raises(LogError, match="does not answer"):
            await stranger.partition_count("t")
        await stranger.close()
        reader, writer = await asyncio.open_connection(HOST, port)
        await write_frame(writer, Facts("t"))
        assert await reader.read() == b""
        writer.close()
    await inside.close()


async def test_only_the_process_that_holds_the_log_owns_partitions() -> None:
    with pytest.raises(LogError, match="only the `leadclock up`"):
        await RemoteLog(1, SECRET).own("t", 0)


async def test_a_poll_that_was_given_up_loses_no_record() -> None:
    inside = EmbeddedLog(None, now=wall_ms)
    await inside.create_topic("t", 1)
    async with serve_log(inside, SECRET) as port:
        log = RemoteLog(port, SECRET)
        reader = await log.reader("t", [0])
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await reader.poll(limit=10, timeout_seconds=1)
        appender = await log.appender()
        await appender.append(0, outgoing("t", "a"))
        assert values(await reader.poll(limit=10, timeout_seconds=1)) == ["a"]
        for opened in (reader, appender, log):
            await opened.close()
    await inside.close()


async def test_a_command_that_outlives_the_up_gets_an_error_that_says_so() -> None:
    inside = EmbeddedLog(None, now=wall_ms)
    await inside.create_topic("t", 1)
    async with serve_log(inside, SECRET) as port:
        log = RemoteLog(port, SECRET)
        assert await log.partition_count("t") == 1
    with pytest.raises(LogError, match="may have been stopped"):
        await log.partition_count("t")
    await log.close()
    await inside.close()
