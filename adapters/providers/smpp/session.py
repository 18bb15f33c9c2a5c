"""How are requests made over one connection to a carrier? A window of them at once; answers come in any sequence.

A request that was not written was certainly not carried out. From its first octet on nobody knows until its answer is there:
an end of the connection, or silence, leaves that open, and the request is never written again.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import smpp34
import structlog
from msgspec import Struct

from adapters.gateway.leases import check_lease
from adapters.gateway.ports import NotPlacedError
from adapters.providers.ports import ProviderFailedError, ProviderSockets
from adapters.providers.smpp import pdus
from schemas.errors import DependencyError

ANSWER_SECONDS = 20.0
"""For a carrier's answer; one that is busy takes some seconds."""

WINDOW_WAIT_SECONDS = 60.0
"""For one of the requests before to be answered: the person has not got the text, and another account may send it."""

ENQUIRE_SECONDS = 30.0
"""How long a connection may be silent before the carrier is asked whether it is there: firewalls forget it after minutes."""

CLOSE_SECONDS = 5.0
"""For what is under way, when a session is closed."""

DELIVERING_MAX = 100
"""Receipts and texts of people that are being stored at once; the carrier sends again what is refused beyond that."""

Deliver = Callable[[smpp34.DeliverSm], Awaitable[None]]
"""Stores what the carrier delivered. Raises `DependencyError` where that fails: the carrier sends it again."""

logger = structlog.get_logger(__name__)


class Login(Struct, frozen=True, kw_only=True):
    """Where a session goes, and as who."""

    host: str
    port: int
    has_tls: bool
    system_id: str
    password: str
    system_type: str
    window: int


class CarrierAnswer(Struct, frozen=True):
    """A carrier's answer to a request."""

    status: int
    body: bytes


class SmppSession:
    """One connection. `run` reads until it ends, which sets `ended`; only meanwhile are requests answered."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, window: int) -> None:
        self._reader = reader
        self._writer = writer
        self._window = asyncio.Semaphore(window)
        self._answers: dict[int, asyncio.Future[CarrierAnswer]] = {}
        self._delivering: set[asyncio.Task[None]] = set()
        self._sequence = 0
        self._read_at = 0.0
        self._ended: str | None = None
        self.ended = asyncio.Event()

    async def bind(self, login: Login) -> None:
        """Log in to send and receive. Raises `NotPlacedError`."""
        body = pdus.bind_transceiver(login.system_id, login.password, login.system_type)
        try:
            answer = await self._ask(pdus.BIND_TRANSCEIVER, body)
        except ProviderFailedError as error:
            raise NotPlacedError(f"the carrier does not answer to the login: {error}") from error
        if answer.status != pdus.OK:
            raise NotPlacedError(f"the carrier refuses the login with status 0x{answer.status:02X}")

    async def request(self, command: int, body: bytes, *, sends: bool = False) -> CarrierAnswer:
        """Ask, once there is room in the window; where it `sends` a text, while the lease runs.

        Raises `NotPlacedError` where nothing was written, `ProviderFailedError` where it was and no answer came.
        """
        try:
            async with asyncio.timeout(WINDOW_WAIT_SECONDS):
                await self._window.acquire()
        except TimeoutError as error:
            raise NotPlacedError("the carrier answers too few of the requests before") from error
        try:
            return await self._ask(command, body, sends=sends)
        finally:
            self._window.release()

    async def _ask(self, command: int, body: bytes, *, sends: bool = False) -> CarrierAnswer:
        if self._ended is not None or self._writer.is_closing():
            raise NotPlacedError(f"the session with the carrier has ended: {self._ended}")
        if sends:
            check_lease()  # nothing is awaited between here and the write
        self._sequence = self._sequence % pdus.SEQUENCE_MAX + 1
        sequence = self._sequence
        answer: asyncio.Future[CarrierAnswer] = asyncio.get_running_loop().create_future()
        self._answers[sequence] = answer
        self._writer.write(pdus.written(command, sequence, body))
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._writer.drain()
                return await answer
        except TimeoutError as error:
            raise ProviderFailedError("the carrier did not answer in time") from error
        except OSError as error:
            raise ProviderFailedError(f"the connection broke: {error}") from error
        finally:
            del self._answers[sequence]
            if not answer.cancel() and not answer.cancelled():
                answer.exception()  # else the loop reports one that was set while the write waited

    async def run(self, deliver: Deliver) -> None:
        """Read until the connection ends; `reason` says why it did."""
        tasks = [asyncio.create_task(self._read(deliver)), asyncio.create_task(self._keep_alive())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            self._end(next((str(error) for error in ended if isinstance(error, Exception)), "closed"))

    @property
    def reason(self) -> str:
        """Return why the session has ended."""
        return self._ended or ""

    async def close(self) -> None:
        """Let what is under way end, for a bounded time; then say goodbye. Its caller lets `run` go on meanwhile."""
        with suppress(TimeoutError, ProviderFailedError, NotPlacedError):
            async with asyncio.timeout(CLOSE_SECONDS):
                while self._answers or self._delivering:
                    waiting: list[asyncio.Future[Any]] = [*self._answers.values(), *self._delivering]
                    await asyncio.wait(waiting)
                await self._ask(pdus.UNBIND, b"")

    async def disconnect(self) -> None:
        """Close the connection; nothing is awaited before that."""
        self._end("closed")
        self._writer.close()
        for task in self._delivering:
            task.cancel()
        await asyncio.gather(*self._delivering, return_exceptions=True)
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._writer.wait_closed()

    def _end(self, reason: str) -> None:
        if self._ended is None:
            self._ended = reason
        self.ended.set()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(ProviderFailedError(f"the session ended before the answer: {self._ended}"))

    async def _keep_alive(self) -> None:
        loop = asyncio.get_running_loop()
        self._read_at = loop.time()
        while True:
            await asyncio.sleep(max(0.0, self._read_at + ENQUIRE_SECONDS - loop.time()))
            if loop.time() - self._read_at >= ENQUIRE_SECONDS:
                await self._ask(pdus.ENQUIRE_LINK, b"")

    async def _read(self, deliver: Deliver) -> None:
        while True:
            try:
                start = await self._reader.readexactly(pdus.HEADER.size)
                header = pdus.read_header(start)
                body = await self._reader.readexactly(header.length - pdus.HEADER.size)
            except asyncio.IncompleteReadError as error:
                raise ProviderFailedError("the carrier closed the connection") from error
            except OSError as error:
                raise ProviderFailedError(f"the connection broke: {error}") from error
            self._read_at = asyncio.get_running_loop().time()
            if header.command & pdus.RESPONSE:
                answer = self._answers.get(header.sequence)
                if answer is not None and not answer.done():
                    answer.set_result(CarrierAnswer(header.status or _nacked(header), body))
            else:
                self._take(header, start + body, deliver)

    def _take(self, header: pdus.Header, pdu: bytes, deliver: Deliver) -> None:
        """Do what the carrier asks for. Raises `ProviderFailedError` where it ends the session."""
        match header.command:
            case pdus.ENQUIRE_LINK:
                self._answer(header)
            case pdus.UNBIND:
                self._answer(header)
                raise ProviderFailedError("the carrier ended the session")
            case pdus.DELIVER_SM if len(self._delivering) >= DELIVERING_MAX:
                self._answer(header, b"\x00", status=pdus.NOT_NOW)
            case pdus.DELIVER_SM:
                task = asyncio.create_task(self._deliver(header, pdu, deliver))
                self._delivering.add(task)
                task.add_done_callback(self._delivering.discard)
            case pdus.ALERT_NOTIFICATION:
                pass  # it has no answer
            case _:
                nack = pdus.written(pdus.GENERIC_NACK, header.sequence, status=pdus.INVALID_COMMAND)
                self._writer.write(nack)

    async def _deliver(self, header: pdus.Header, pdu: bytes, deliver: Deliver) -> None:
        """Have a delivery stored, and confirm it only then."""
        status = pdus.OK
        try:
            await deliver(_delivery(pdu))
        except pdus.BrokenPduError as error:
            logger.warning("delivery.unreadable", reason=str(error))
            status = pdus.INVALID_LENGTH
        except DependencyError as error:
            logger.warning("delivery.not_stored", reason=str(error))
            status = pdus.NOT_NOW
        except Exception:
            logger.exception("delivery.failed")
            status = pdus.NOT_NOW
        self._answer(header, b"\x00", status=status)

    def _answer(self, header: pdus.Header, body: bytes = b"", *, status: int = pdus.OK) -> None:
        if not self._writer.is_closing():
            self._writer.write(pdus.written(header.command | pdus.RESPONSE, header.sequence, body, status=status))


@asynccontextmanager
async def bound(sockets: ProviderSockets, login: Login, deliver: Deliver) -> AsyncIterator[SmppSession]:
    """Yield a session that is logged in; what is under way ends before it is closed. Raises `NotPlacedError`."""
    session = await _connected(sockets, login)
    running = asyncio.create_task(session.run(deliver))
    try:
        await session.bind(login)
        yield session
    finally:
        try:
            if not session.ended.is_set():
                await session.close()
        finally:  # it may be cancelled meanwhile
            running.cancel()
            await session.disconnect()
            await asyncio.gather(running, return_exceptions=True)


async def _connected(sockets: ProviderSockets, login: Login) -> SmppSession:
    """Return a session that is not logged in. Raises `NotPlacedError`."""
    connection = await sockets.connect(login.host, login.port)
    tls = {"ssl": sockets.tls, "server_hostname": login.host} if login.has_tls else {}
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            reader, writer = await asyncio.open_connection(sock=connection, **tls)  # type: ignore[arg-type]
    except (OSError, ssl.SSLError) as error:  # a TimeoutError is an OSError
        connection.close()
        raise NotPlacedError(f"{login.host}:{login.port} gives no connection: {error or 'no answer in time'}") from error
    except BaseException:
        connection.close()
        raise
    return SmppSession(reader, writer, login.window)


def _delivery(pdu: bytes) -> smpp34.DeliverSm:
    """Return what was delivered. Raises `BrokenPduError`."""
    try:
        found = smpp34.decode(pdu)
    except smpp34.SmppError as error:
        raise pdus.BrokenPduError(str(error)) from error
    if not isinstance(found, smpp34.DeliverSm):
        raise pdus.BrokenPduError("a deliver_sm that is none")
    return found


def _nacked(header: pdus.Header) -> int:
    """Return a status for a `generic_nack` that has none."""
    return pdus.INVALID_COMMAND if header.command == pdus.GENERIC_NACK else pdus.OK
