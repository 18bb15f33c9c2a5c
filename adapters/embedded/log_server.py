"""How do other processes reach the embedded log? Over a server on this machine: they read and append, and never own.

One connection carries one request at a time, so a reply belongs to the last request. Frames are msgpack after their length.
The first one must show the folder's secret; a connection without it is closed.
"""

import asyncio
import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from struct import Struct as Layout

import msgspec

from engine.partition.ports import Appender, Log, LogError, LogRecord, Outgoing, Reader, RecordRefusedError

HOST = "127.0.0.1"

FRAME_BYTES_MAX = 256 * 1024 * 1024
"""A larger length is refused: an append is one batch, a poll a few thousand records."""

GREETING_SECONDS = 5.0
POLL_SECONDS_MAX = 60.0
"""Longest wait of one poll; a client that waits longer polls again."""

_LENGTH = Layout(">I")


class Greeting(msgspec.Struct, frozen=True, tag=True):
    """The first frame."""

    secret: str


class Facts(msgspec.Struct, frozen=True, tag=True):
    """How many partitions has a topic, and which id? Answered with `TopicFacts`."""

    topic: str


class OpenReader(msgspec.Struct, frozen=True, tag=True):
    """Read partitions of a topic on this connection. Answered with `Positions`."""

    topic: str
    partitions: list[int]
    start: int | None


class Poll(msgspec.Struct, frozen=True, tag=True):
    """Answered with `Found`."""

    limit: int
    timeout_seconds: float


class Bounds(msgspec.Struct, frozen=True, tag=True):
    """Where does a partition start and end? Answered with `Held`; the end is one that was asked for."""

    partition: int
    wants_end: bool


class Seek(msgspec.Struct, frozen=True, tag=True):
    """Answered with `Positions`."""

    partition: int
    offset: int


class Append(msgspec.Struct, frozen=True, tag=True):
    """Answered with `Appended`."""

    partition: int
    records: list[Outgoing]


class TopicFacts(msgspec.Struct, frozen=True, tag=True):
    """What a topic keeps for life."""

    partitions: int
    topic_id: str


class Positions(msgspec.Struct, frozen=True, tag=True):
    """The offset of the next record to read, by partition."""

    positions: dict[int, int]


class Found(msgspec.Struct, frozen=True, tag=True):
    """Records, and where reading goes on."""

    records: list[LogRecord]
    positions: dict[int, int]


class Held(msgspec.Struct, frozen=True, tag=True):
    """An offset: the start, or the end."""

    offset: int


class Appended(msgspec.Struct, frozen=True, tag=True):
    """Offsets of what was appended."""

    offsets: list[int]


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The log refused the request."""

    message: str
    is_retryable: bool
    is_record: bool = False
    """One record was refused for its size; `index` and `appended` are those of `RecordRefusedError`."""
    index: int | None = None
    appended: int = 0


Request = Greeting | Facts | OpenReader | Poll | Bounds | Seek | Append
Reply = TopicFacts | Positions | Found | Held | Appended | Refused

_ENCODER = msgspec.msgpack.Encoder()
_REQUESTS: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    """Return the next frame. Raises `ConnectionError` at the end of the connection, or where it is none of ours."""
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        if length > FRAME_BYTES_MAX:
            raise ConnectionError(f"a frame of {length} bytes")
        return await reader.readexactly(length)
    except asyncio.IncompleteReadError as error:
        raise ConnectionError("the connection ended") from error


async def write_frame(writer: asyncio.StreamWriter, message: Request | Reply) -> None:
    """Send a frame. Raises `ConnectionError`."""
    body = _ENCODER.encode(message)
    writer.write(_LENGTH.pack(len(body)) + body)
    await writer.drain()


class Session:
    """One connection: what it reads and appends with."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._reader: Reader | None = None
        self._partitions: list[int] = []
        self._appender: Appender | None = None

    async def answer(self, request: Request) -> Reply:
        """Return the answer to a request, also where it is a refusal."""
        try:
            return await self._answer(request)
        except RecordRefusedError as error:
            return Refused(str(error), is_retryable=False, is_record=True, index=error.index, appended=error.appended)
        except LogError as error:
            return Refused(str(error), error.retryable)
        except ValueError as error:
            return Refused(str(error), is_retryable=False)

    async def close(self) -> None:
        """Close the reader and the appender."""
        for opened in (self._reader, self._appender):
            if opened is not None:
                await opened.close()

    async def _answer(self, request: Request) -> Reply:
        match request:
            case Facts(topic):
                return TopicFacts(await self._log.partition_count(topic), await self._log.topic_id(topic))
            case OpenReader(topic, partitions, start):
                await self.close()
                self._partitions = partitions
                self._reader = await self._log.reader(topic, partitions, start=start)
                return Positions(self._positions(self._reader))
            case Poll(limit, timeout_seconds):
                reader = self._opened()
                seconds = min(timeout_seconds, POLL_SECONDS_MAX)
                return Found(await reader.poll(limit=limit, timeout_seconds=seconds), self._positions(reader))
            case Bounds(partition, wants_end):
                reader = self._opened()
                return Held(await (reader.end(partition) if wants_end else reader.start(partition)))
            case Seek(partition, offset):
                reader = self._opened()
                await reader.seek(partition, offset)
                return Positions(self._positions(reader))
            case Append(partition, records):
                if self._appender is None:
                    self._appender = await self._log.appender()
                return Appended(await self._appender.append(partition, records))
            case Greeting():
                raise ValueError("the secret was shown already")

    def _opened(self) -> Reader:
        if self._reader is None:
            raise ValueError("nothing is read on this connection")
        return self._reader

    def _positions(self, reader: Reader) -> dict[int, int]:
        return {partition: reader.position(partition) for partition in self._partitions}


@asynccontextmanager
async def serve_log(log: Log, secret: str) -> AsyncIterator[int]:
    """Let other processes of this machine read and append to a log while the context is open; gives the port."""
    sessions: set[asyncio.Task[None]] = set()

    async def serve_session(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            sessions.add(task)
            task.add_done_callback(sessions.discard)
        session = Session(log)
        try:
            if await _is_known(reader, secret):
                while True:
                    await write_frame(writer, await session.answer(_REQUESTS.decode(await read_frame(reader))))
        except (ConnectionError, msgspec.DecodeError):
            pass  # the client is gone, or speaks another protocol
        finally:
            await session.close()
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    server = await asyncio.start_server(serve_session, HOST, 0)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
        for task in list(sessions):
            task.cancel()
        await asyncio.gather(*sessions, return_exceptions=True)
        await server.wait_closed()


async def _is_known(reader: asyncio.StreamReader, secret: str) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(GREETING_SECONDS):
            greeting = _REQUESTS.decode(await read_frame(reader))
            return isinstance(greeting, Greeting) and hmac.compare_digest(greeting.secret.encode(), secret.encode())
    return False
