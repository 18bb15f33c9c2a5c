"""How does a company send e-mails by an account with a mail host? By SMTP submission: TLS, login, one message a connection.

The reply to the message is all that the host says: it takes it or refuses it. A reply about the recipient is an outcome; one
about us (login, sender, relaying) means that nothing was placed, and another account may do better. Silence after the text
was sent leaves the outcome unknown, and no other account is asked: the person would have the e-mail twice.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.message import EmailMessage
from typing import Annotated, Literal

import aiosmtplib
from msgspec import Meta, Struct

from adapters.gateway.leases import check_lease
from adapters.gateway.ports import DeliveryResult, NotPlacedError
from adapters.gateway.smtp import ANSWER_SECONDS, LeasedSmtp, bounce, build_message
from adapters.providers.message_connection import MessageConnection
from adapters.providers.ports import (
    FoundOrder,
    Order,
    Placed,
    ProviderAccount,
    ProviderSockets,
    RefusedOrderError,
    ResumeKind,
)
from adapters.providers.provider_sockets import HostName, sockets_of
from schemas.commands import SendEmail, SendSms

SEND_SECONDS = 60.0
"""For the whole dialogue of one message: a host of a company's choice may answer each step at the last moment."""

DIALOGUE_ERRORS = (aiosmtplib.SMTPException, OSError)
"""Of a connection that breaks; a `TimeoutError` is an `OSError`."""

Address = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9][A-Za-z0-9.-]{1,253}$",
        description="an e-mail address such as leads@example.com",
    ),
]


class SmtpAccount(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of an account. `security`: TLS after STARTTLS (port 587), or from the first byte (`tls`, port 465).

    There is no account without TLS or login: its password would be read on the way.
    `from_address` is for steps that name no sender.
    """

    host: HostName
    username: Annotated[str, Meta(min_length=1, max_length=320, pattern=r"^[ -~]+$", description="printable ASCII")]
    from_address: Address
    port: Annotated[int, Meta(ge=1, le=65_535)] = 587
    security: Literal["starttls", "tls"] = "starttls"
    reply_to: Address | None = None


class SmtpProvider:
    """The provider `smtp`."""

    name = "smtp"
    channels = frozenset({"email"})
    settings: type[Struct] = SmtpAccount
    secrets = ("password",)
    resume: ResumeKind = "none"
    presses_keys = False

    def connect(self, account: ProviderAccount) -> "SmtpConnection":
        """Return a connection."""
        return SmtpConnection(account, sockets_of(account))


class SmtpConnection(MessageConnection):
    """One account with a mail host."""

    name = "smtp"

    def __init__(self, account: ProviderAccount, sockets: ProviderSockets | None) -> None:
        self._account = account
        self._sockets = sockets

    async def send(self, command: SendSms | SendEmail) -> Placed | DeliveryResult:
        """Send an e-mail, once."""
        if not isinstance(command, SendEmail):
            raise RefusedOrderError("smtp carries e-mails", tries_next=True)
        settings: SmtpAccount = self._account.settings
        message = build_message(
            command,
            sender=settings.from_address,
            message_id_domain=settings.from_address.rpartition("@")[2],
            now=self._account.now(),
            reply_to=settings.reply_to,
            unsubscribe=self._account.unsubscribe,
            bounces=self._account.bounces,
        )
        self._add_header(message, command)
        reference = str(message["Message-ID"])
        async with self._dialogue(reference) as (server, said):
            check_lease()
            _, answer = await server.send_message(message)
            said.append(DeliveryResult(outcome="accepted", rang=False, provider_ref=reference, detail=answer))
        return said[0]

    def _add_header(self, message: EmailMessage, command: SendEmail) -> None:
        """Add a header that the host's vendor returns with its reports, if there is one."""

    async def test(self) -> str:
        """Greet the host, negotiate TLS, log in, and send no message."""
        async with self._dialogue("") as (server, said):
            answer = await server.noop()
            said.append(DeliveryResult(outcome="accepted", detail=f"{answer.code} {answer.message}"))
        settings: SmtpAccount = self._account.settings
        return f"{settings.host}:{settings.port} takes the login of {settings.username}, by TLS"

    @asynccontextmanager
    async def _dialogue(self, reference: str) -> AsyncIterator[tuple[LeasedSmtp, list[DeliveryResult]]]:
        """Yield a server that has taken the login, and where to put what came of it; errors are put there, too.

        Raises `NotPlacedError` where the server has taken nothing.
        """
        said: list[DeliveryResult] = []
        server = await self._server()
        try:
            async with asyncio.timeout(SEND_SECONDS), server:
                yield server, said
        except aiosmtplib.SMTPRecipientsRefused as error:
            refusal = error.recipients[0]
            said.append(_about_recipient(refusal.code, refusal.message, reference))
        except aiosmtplib.SMTPResponseException as error:
            if not server.has_begun_text:
                raise RefusedOrderError(f"{error.code} {error.message}", tries_next=True) from error
            outcome = bounce(error.code, error.message, is_recipient=False)
            detail = f"{error.code} {error.message}"
            said.append(DeliveryResult(outcome=outcome, rang=False, provider_ref=reference, detail=detail))
        except DIALOGUE_ERRORS as error:
            if said:  # it took the message, and the farewell failed
                return
            if not server.has_begun_text:
                raise NotPlacedError(f"the mail host cannot be used: {_named(error)}") from error
            said.append(DeliveryResult(outcome="unknown", rang=False, provider_ref=reference, detail=_named(error)))

    async def _server(self) -> LeasedSmtp:
        settings: SmtpAccount = self._account.settings
        if self._sockets is None:
            raise NotPlacedError("this process takes reports about e-mails, and sends none")
        connection = await self._sockets.connect(settings.host, settings.port)
        return LeasedSmtp(
            hostname=settings.host,  # of the certificate; the address behind it was checked
            sock=connection,
            username=settings.username,
            password=self._account.secrets["password"],
            use_tls=settings.security == "tls",
            start_tls=settings.security == "starttls",
            tls_context=self._sockets.tls,
            timeout=ANSWER_SECONDS,
        )

    async def find(self, order: Order) -> FoundOrder | None:  # noqa: ARG002
        """Return None: a mail host is not asked what became of a message."""
        return None

    def conclude(self, order: Order) -> DeliveryResult | None:  # noqa: ARG002
        """Return None: the reply to the message has said all."""
        return None


def _about_recipient(code: int, text: str, reference: str) -> DeliveryResult:
    """Return the outcome of a refused recipient. Raises `RefusedOrderError` where it is the account that is refused."""
    outcome = bounce(code, text, is_recipient=True)
    if outcome == "failed":
        raise RefusedOrderError(f"{code} {text}", tries_next=True)
    return DeliveryResult(outcome=outcome, rang=False, provider_ref=reference, detail=f"{code} {text}")


def _named(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return f"TLS: {error}"
    return str(error) or type(error).__name__
