"""How does a command use the embedded log of a running `up`? Over its log server, as the `Log` port without ownership."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TypeVar

import msgspec

from adapters.embedded.log_server import (
    HOST,
    Append,
    Appended,
    Bounds,
    Facts,
    Found,
    Greeting,
    Held,
    OpenReader,
    Poll,
    Positions,
    Refused,
    Reply,
    Request,
    Seek,
    TopicFacts,
    read_frame,
    write_frame,
)
from engine.partition.ports import (
    Appender,
    LogError,
    LogRecord,
    Outgoing,
    Ownership,
    Reader,
    RecordRefusedError,
    topic_of,
)

EMBEDDED = "embedded:"
"""Prefix of the port in LEADCLOCK_KAFKA_BOOTSTRAP: `embedded:40123`."""

_REPLIES: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)

A = TypeVar("A", TopicFacts, Positions, Found, Held, Appended)


class LogConnection:
    """One connection. A cancelled request is still answered to the end, so that the next reply belongs to the next one."""

    def __init__(self, port: int, secret: str) -> None:
        self._port = port
        self._secret = secret
        self._turn = asyncio.Lock()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: Request, answer: type[A]) -> A:
        """Return the answer. Raises `LogError`."""
        reply = await asyncio.shield(asyncio.ensure_future(self._ask(request)))
        if isinstance(reply, Refused) and reply.is_record:
            raise RecordRefusedError(reply.message, index=reply.index, appended=reply.appended)
        if isinstance(reply, Refused):
            raise LogError(reply.message, retryable=reply.is_retryable)
        if not isinstance(reply, answer):
            raise LogError(f"the embedded log answered {type(reply).__name__} to {type(request).__name__}", retryable=False)
        return reply

    async def close(self) -> None:
        """Hang up. Never raises."""
        if self._streams is not None:
            writer = self._streams[1]
            self._streams = None
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _ask(self, request: Request) -> Reply:
        async with self._turn:
            try:
                reader, writer = await self._open()
                await write_frame(writer, request)
                return _REPLIES.decode(await read_frame(reader))
            except OSError as error:
                await self.close()
                raise LogError("the `leadclock up` with this log does not answer; it may have been stopped") from error

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(HOST, self._port)
            await write_frame(self._streams[1], Greeting(self._secret))
        return self._streams


class RemoteLog:
    """The `Log` port over the log server at `port` of this machine, without ownership."""

    def __init__(self, port: int, secret: str) -> None:
        self._port = port
        self._secret = secret
        self._lines: list[LogConnection] = []
        self._questions = self._line()

    async def own(self, input_topic: str, partition: int, *, writes: Sequence[str] = ()) -> Ownership:  # noqa: ARG002 - the port's
        """Refuse: partitions belong to the process that holds the log."""
        raise LogError("only the `leadclock up` that holds the embedded log decides", retryable=False)

    async def reader(self, topic: str, partitions: Sequence[int], *, start: int | None = 0) -> Reader:
        """Return a reader on a connection of its own; see the port."""
        line = self._line()
        opened = await line.ask(OpenReader(topic, list(partitions), start), Positions)
        return RemoteReader(line, opened.positions)

    async def appender(self) -> Appender:
        """Return an appender on a connection of its own."""
        return RemoteAppender(self._line())

    async def partition_count(self, topic: str) -> int:
        """Return the number of partitions; see the port."""
        return (await self._questions.ask(Facts(topic), TopicFacts)).partitions

    async def topic_id(self, topic: str) -> str:
        """Return the id of a topic; see the port."""
        return (await self._questions.ask(Facts(topic), TopicFacts)).topic_id

    async def close(self) -> None:
        """Hang up. Never raises."""
        for line in self._lines:
            await line.close()

    def _line(self) -> LogConnection:
        self._lines.append(LogConnection(self._port, self._secret))
        return self._lines[-1]


class RemoteReader:
    """A `Reader`; the records of a cancelled poll are what the next poll returns, so that none is lost."""

    def __init__(self, line: LogConnection, positions: dict[int, int]) -> None:
        self._line = line
        self._positions = positions
        self._polling: asyncio.Task[Found] | None = None

    async def poll(self, *, limit: int, timeout_seconds: float) -> list[LogRecord]:
        """Return up to `limit` records; see the port."""
        if self._polling is None:
            self._polling = asyncio.create_task(self._line.ask(Poll(limit, timeout_seconds), Found))
        task = self._polling
        found = await asyncio.shield(task)
        self._polling = None
        self._positions = found.positions
        return found.records

    async def end(self, partition: int) -> int:
        """Return the last stable offset."""
        self._check(partition)
        return (await self._line.ask(Bounds(partition, wants_end=True), Held)).offset

    async def start(self, partition: int) -> int:
        """Return the earliest offset held."""
        self._check(partition)
        return (await self._line.ask(Bounds(partition, wants_end=False), Held)).offset

    def position(self, partition: int) -> int:
        """Return the offset of the next record to read."""
        self._check(partition)
        return self._positions[partition]

    async def seek(self, partition: int, offset: int) -> None:
        """Read on from `offset`; see the port."""
        self._check(partition)
        self._positions = (await self._line.ask(Seek(partition, offset), Positions)).positions

    async def close(self) -> None:
        """Stop reading. Never raises."""
        if self._polling is not None:
            self._polling.cancel()
            await asyncio.gather(self._polling, return_exceptions=True)
        await self._line.close()

    def _check(self, partition: int) -> None:
        if partition not in self._positions:
            raise ValueError(f"this reader does not read partition {partition}")


class RemoteAppender:
    """Appends over the log server, in the order of the calls."""

    def __init__(self, line: LogConnection) -> None:
        self._line = line
        self._is_closed = False

    async def append(self, partition: int, records: Sequence[Outgoing]) -> list[int]:
        """Append in order and return the offsets; see the port."""
        if self._is_closed:
            raise LogError("the appender is closed", retryable=False)
        if not records:
            return []
        topic_of(records)  # refused here: nothing of it is sent
        return (await self._line.ask(Append(partition, list(records)), Appended)).offsets

    async def close(self) -> None:
        """Hang up. Never raises."""
        self._is_closed = True
        await self._line.close()
