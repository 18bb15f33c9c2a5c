"""A mail host as companies have accounts with: TLS and a login before anything else, and refusals by what is sent."""

import asyncio
import ssl
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any, Literal, Self

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session

CERTIFICATE = Path(__file__).parents[1] / "gateway" / "localhost.pem"
USER, PASSWORD = "sunny", "right"

NOT_RELAYED = "relay@example.org"


def trusting() -> ssl.SSLContext:
    """What trusts the certificate of the host, for the name localhost."""
    return ssl.create_default_context(cafile=str(CERTIFICATE))


def certified() -> ssl.SSLContext:
    """What a server shows that certificate with."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(CERTIFICATE)
    return tls


class MailHost:
    """One host; `sent` are the messages that it took, with the login of each. `refuses` says what its `DATA` answers."""

    def __init__(self, security: Literal["starttls", "tls", "none"] = "starttls") -> None:
        self._security = security
        self.sent: list[tuple[str, Message]] = []
        self.refuses: str | None = None
        self.port = 0
        self._protocols: list[SMTP] = []
        self._logins: dict[Session, str] = {}
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        tls = certified()
        loop = asyncio.get_running_loop()
        demanded: dict[str, Any] = {"auth_require_tls": False}
        if self._security == "starttls":
            demanded = {"tls_context": tls, "require_starttls": True, "auth_require_tls": True}

        def connected() -> SMTP:
            protocol = SMTP(self, hostname="mail.sunny.example", authenticator=self._check, **demanded)
            self._protocols.append(protocol)
            return protocol

        self._server = await loop.create_server(
            connected, "127.0.0.1", self.port, ssl=tls if self._security == "tls" else None
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for protocol in self._protocols:
            if isinstance(protocol.transport, asyncio.Transport):
                protocol.transport.abort()
        await asyncio.sleep(0)  # an aborted socket is closed by the loop's next step

    @property
    def connections(self) -> int:
        """How many were accepted."""
        return len(self._protocols)

    def _check(self, _server: Any, session: Session, _envelope: Any, _mechanism: str, data: Any) -> AuthResult:
        self._logins[session] = data.login.decode()
        return AuthResult(success=(data.login, data.password) == (USER.encode(), PASSWORD.encode()), handled=False)

    async def handle_MAIL(  # noqa: N802 - aiosmtpd calls it so
        self, _server: Any, session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if session not in self._logins or not session.authenticated:
            return "530 5.7.0 log in first"
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(  # noqa: N802 - as above
        self, _server: Any, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if address == NOT_RELAYED:
            return "550 5.7.1 relaying denied"
        if address.startswith("gone"):
            return "550 5.1.1 no such user"
        if address.startswith("later"):
            return "451 4.7.1 greylisted"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: Any, session: Session, envelope: Envelope) -> str:  # noqa: N802 - as above
        if self.refuses is not None:
            return self.refuses
        content = envelope.content
        assert isinstance(content, bytes)
        self.sent.append((self._logins[session], message_from_bytes(content)))
        return "250 2.0.0 taken"
