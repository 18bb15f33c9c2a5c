"""A carrier's SMPP 3.4 server on a port of this machine: it refuses what carriers refuse, and delivers as they do.

Its PDUs are written and read by smpplib, another library than the one under test. `statuses` are its answers to the texts
that come next: a status, None for silence, or `DROPS`. It keeps every text that it took by its id.
"""

import asyncio
import itertools
import struct
from collections import deque
from typing import Any, Self

from smpplib import smpp

from tests.adapters.providers.mail_host import certified
from tests.pace import bound

SYSTEM_ID, PASSWORD = "leads", "secret08"

OK, INVALID_BIND, INVALID_DESTINATION, INVALID_PASSWORD, INVALID_SYSTEM_ID, THROTTLED = 0, 0x04, 0x0B, 0x0E, 0x0F, 0x58
INVALID_LENGTH, INVALID_ID = 0x01, 0x0C

DROPS = -1
"""The server takes the text and hangs up instead of answering."""

WAIT_SECONDS = bound(30.0)


class CarrierSession:
    """One connection of an account."""

    def __init__(self, server: "SmppServer", reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.server, self.reader, self.writer = server, reader, writer
        self.is_bound = False
        self.unanswered = 0
        self.unbound = asyncio.Event()
        self.sequence = 0
        self._answers: dict[int, asyncio.Future[int]] = {}
        self._answering: set[asyncio.Task[None]] = set()

    def next_sequence(self) -> int:
        self.sequence += 1
        return self.sequence

    async def serve(self) -> None:
        while True:
            length, *_ = struct.unpack(">I", await self.reader.readexactly(4))
            data = struct.pack(">I", length) + await self.reader.readexactly(length - 4)
            pdu = smpp.parse_pdu(data, client=self, allow_unknown_opt_params=True)
            if pdu.is_response():
                answer = self._answers.get(pdu.sequence)
                if answer is not None and not answer.done():
                    answer.set_result(pdu.status)
                continue
            self.server.requests.append(pdu.command)
            task = asyncio.create_task(self._answer(pdu))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)

    async def _answer(self, pdu: Any) -> None:
        match pdu.command:
            case "bind_transceiver":
                status = self.server.check_login(pdu)
                self.is_bound = status == OK
                self.write("bind_transceiver_resp", pdu, status, system_id="carrier")
                if self.is_bound:
                    self.server.bound.set()
            case "enquire_link" if self.server.answers_enquiries:
                self.write("enquire_link_resp", pdu)
            case "unbind":
                self.unbound.set()
                self.write("unbind_resp", pdu)
            case "submit_sm":
                await self._take_text(pdu)
            case "query_sm":
                state = self.server.states.get(pdu.message_id.decode())
                if state is None:
                    self.write("query_sm_resp", pdu, INVALID_ID)
                else:
                    self.write("query_sm_resp", pdu, message_id=pdu.message_id.decode(), message_state=state)

    async def _take_text(self, pdu: Any) -> None:
        self.unanswered += 1
        self.server.unanswered_most = max(self.server.unanswered_most, self.unanswered)
        if self.server.holds is not None:
            await self.server.holds.wait()
        status = self.server.status_of(self, pdu)
        self.unanswered -= 1
        if status is None:
            return
        if status == DROPS:
            self.server.keep(pdu)
            self.writer.transport.abort()
            return
        self.write("submit_sm_resp", pdu, status, **({"message_id": self.server.keep(pdu)} if status == OK else {}))

    def write(self, command: str, request: Any, status: int = OK, **fields: Any) -> None:
        pdu = smpp.make_pdu(command, client=self, status=status, **fields)
        pdu.sequence = request.sequence
        self.writer.write(pdu.generate())

    async def deliver(self, **fields: Any) -> int:
        """Deliver a receipt or a text; return the status of its answer."""
        pdu = smpp.make_pdu("deliver_sm", client=self, **fields)
        answer = self._answers[pdu.sequence] = asyncio.get_running_loop().create_future()
        self.writer.write(pdu.generate())
        async with asyncio.timeout(WAIT_SECONDS):
            status: int = await answer
        return status


class SmppServer:
    """The server; `texts` are the requests that it took, by the ids that it gave them."""

    def __init__(self, *, has_tls: bool = False) -> None:
        self._has_tls = has_tls
        self.port = 0
        self.sessions: list[CarrierSession] = []
        self.requests: list[str] = []
        self.texts: dict[str, Any] = {}
        self.states: dict[str, int] = {}
        self.statuses: deque[int | None] = deque()
        self.holds: asyncio.Event | None = None
        self.unanswered_most = 0
        self.answers_enquiries = True
        self.gives_ids = True
        self.bound = asyncio.Event()
        self._ids = itertools.count(0x1A)
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        tls = certified() if self._has_tls else None
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port, ssl=tls)
        self.port = self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        """Take no more connections."""
        assert self._server is not None
        self._server.close()

    async def stop(self) -> None:
        self.close()
        self.hang_up()
        await asyncio.sleep(0)  # an aborted connection is closed by the loop's next step

    def hang_up(self) -> None:
        """End every connection."""
        self.bound.clear()
        for session in self.sessions:
            session.writer.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session = CarrierSession(self, reader, writer)
        self.sessions.append(session)
        try:
            await session.serve()
        except (asyncio.IncompleteReadError, OSError):
            writer.close()

    @property
    def session(self) -> CarrierSession:
        """The newest session that is bound."""
        return next(session for session in reversed(self.sessions) if session.is_bound)

    def check_login(self, pdu: Any) -> int:
        if pdu.interface_version != 0x34:
            return INVALID_SYSTEM_ID
        if pdu.system_id.decode() != SYSTEM_ID:
            return INVALID_SYSTEM_ID
        return OK if pdu.password.decode() == PASSWORD else INVALID_PASSWORD

    def status_of(self, session: CarrierSession, pdu: Any) -> int | None:
        """What a text is answered; the next of `statuses` where there are any."""
        if not session.is_bound:
            return INVALID_BIND
        if (pdu.dest_addr_ton, pdu.dest_addr_npi) != (1, 1) or not pdu.destination_addr.isdigit():
            return INVALID_DESTINATION
        octets = pdu.short_message or pdu.message_payload or b""
        if not octets or (pdu.message_payload is None and len(octets) > 254):
            return INVALID_LENGTH
        return self.statuses.popleft() if self.statuses else OK

    def keep(self, pdu: Any) -> str:
        message_id = f"{next(self._ids):X}"
        self.texts[message_id] = pdu
        return message_id if self.gives_ids else ""

    def text_to(self, number: str) -> str:
        """The id of the text to a number."""
        return next(known for known, pdu in self.texts.items() if pdu.destination_addr.decode() == number.lstrip("+"))

    async def receipt(self, message_id: str, state: str = "DELIVRD", error: str = "000", **fields: Any) -> int:
        """Deliver a receipt in the usual words."""
        words = (
            f"id:{message_id} sub:001 dlvrd:001 submit date:2606170100 done date:2606170101 stat:{state} err:{error} text:Hi"
        )
        return await self.session.deliver(
            source_addr="13055550001", destination_addr="12125550199", esm_class=4, short_message=words.encode(), **fields
        )
