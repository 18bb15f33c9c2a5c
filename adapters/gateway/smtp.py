"""How is an e-mail handed to a mail server, and what does its reply mean? One connection per message, a few attempts.

A reply about the recipient is a bounce; one about us (login, sender, policy) is a failure and never disables a
mailbox. After "accepted" nothing is known: a later bounce comes as a message of its own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from email.header import Header
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Any

import aiosmtplib
from aiosmtplib.protocol import SMTPProtocol
from msgspec import Struct

from adapters.gateway.bounce_tokens import HEADER as BOUNCE_HEADER
from adapters.gateway.bounce_tokens import BounceTokens
from adapters.gateway.leases import check_lease
from adapters.gateway.ports import DeliveryResult, LeaseLostError, NotPlacedError
from adapters.gateway.unsubscribe_links import OneLineHeader, UnsubscribeLinks
from engine.partition.ports import Clock
from schemas.commands import UNSUBSCRIBE_URL, SendEmail
from schemas.instant import Instant, to_datetime

ATTEMPTS_MAX = 3
RETRY_DELAY_SECONDS = 2.0
"""For a connection that breaks; what the server refuses, the schedule retries."""

ANSWER_SECONDS = 20.0
"""For each step of the dialogue."""

_MAILBOX_GONE = {"5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10", "5.2.1"}
"""RFC 3463 and 7505: no such mailbox or domain. Other permanent codes concern policy, content or the sender."""

_MAILBOX_FULL = "5.2.2"

_DATA = b"DATA\r\n"


class SmtpSettings(Struct, frozen=True, kw_only=True):
    """The mail server. `starttls` None: used where the server offers it; `tls`: from the first byte (port 465)."""

    host: str = "127.0.0.1"
    port: int = 25
    user: str | None = None
    password: str | None = None
    starttls: bool | None = None
    tls: bool = False
    sender: str = "leadclock@localhost"
    message_id_domain: str = "leadclock.invalid"

    def client_options(self) -> dict[str, Any]:
        """Return how aiosmtplib connects and logs in."""
        return {
            "hostname": self.host,
            "port": self.port,
            "username": self.user,
            "password": self.password,
            "use_tls": self.tls,
            "start_tls": self.starttls,
        }


class SmtpEmail:
    """An `EmailProvider` by way of one mail server. Without `unsubscribe` no e-mail says how to unsubscribe."""

    name = "smtp"

    def __init__(
        self,
        settings: SmtpSettings,
        clock: Clock,
        *,
        unsubscribe: UnsubscribeLinks | None = None,
        bounces: BounceTokens | None = None,
        retry_delay_seconds: float = RETRY_DELAY_SECONDS,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._unsubscribe = unsubscribe
        self._bounces = bounces
        self._retry_delay_seconds = retry_delay_seconds

    async def send(self, command: SendEmail) -> DeliveryResult:
        """Send; retry a connection that breaks, with the same Message-ID."""
        message = self._message(command)
        reference = str(message["Message-ID"])
        for left in reversed(range(ATTEMPTS_MAX)):
            try:
                said = await self._send(message)
            except aiosmtplib.SMTPRecipientsRefused as error:
                refusal = error.recipients[0]
                return _refused(refusal.code, refusal.message, reference, is_recipient=True)
            except (aiosmtplib.SMTPConnectError, aiosmtplib.SMTPNotSupported) as error:
                if not left:
                    raise NotPlacedError(f"the mail server cannot be used: {error}") from error
            except aiosmtplib.SMTPResponseException as error:
                return _refused(error.code, error.message, reference, is_recipient=False)
            except (aiosmtplib.SMTPException, OSError) as error:
                # Silence after the message was sent may mean that the server took it.
                if not left:
                    return DeliveryResult(outcome="unknown", rang=False, provider_ref=reference, detail=str(error))
            else:
                return DeliveryResult(outcome="accepted", rang=False, provider_ref=reference, detail=said)
            await self._clock.sleep(self._retry_delay_seconds)
        raise AssertionError("the last attempt returns or raises")

    async def _send(self, message: EmailMessage) -> str:
        async with LeasedSmtp(**self._settings.client_options(), timeout=ANSWER_SECONDS) as server:
            check_lease()  # connecting may have taken long
            _, said = await server.send_message(message)
        return said

    def _message(self, command: SendEmail) -> EmailMessage:
        settings = self._settings
        return build_message(
            command,
            sender=settings.sender,
            message_id_domain=settings.message_id_domain,
            now=self._clock.now(),
            unsubscribe=self._unsubscribe,
            bounces=self._bounces,
        )


def build_message(
    command: SendEmail,
    *,
    sender: str,
    message_id_domain: str,
    now: Instant,
    reply_to: str | None = None,
    unsubscribe: UnsubscribeLinks | None = None,
    bounces: BounceTokens | None = None,
) -> EmailMessage:
    """Return the e-mail of a command: the same command gives the same Message-ID. `sender` is for one that names none.

    Raises `NotPlacedError` where its text has a link to unsubscribe, and there are none.
    """
    body = command.body
    if UNSUBSCRIBE_URL in body:
        if unsubscribe is None:
            raise NotPlacedError("the e-mail has a link to unsubscribe: set LEADCLOCK_PUBLIC_URL")
        body = body.replace(UNSUBSCRIBE_URL, unsubscribe.url(command))
    message = EmailMessage()
    message["From"] = command.from_address or sender
    message["To"] = command.to
    if reply_to is not None:
        message["Reply-To"] = reply_to
    message["Subject"] = _as_plain_text(" ".join(command.subject.split()))
    message["Date"] = format_datetime(to_datetime(now))
    message["Message-ID"] = f"<{command.command_id}@{message_id_domain}>"
    message["Auto-Submitted"] = "auto-generated"
    if unsubscribe is not None:
        unsubscribe.add_to(message, command)
    if bounces is not None:
        message[BOUNCE_HEADER] = OneLineHeader(BOUNCE_HEADER, bounces.token(command))
    message.set_content(body)
    return message


class LeasedSmtp(aiosmtplib.SMTP):
    """Checks the lease again before `DATA`, and before the text of a message: its last dot hands the message over.

    Each step before that may wait `ANSWER_SECONDS`, and a process can be suspended in any of them. A connection that closes
    before the dot has handed over nothing (RFC 5321, 4.1.1.4).

    `has_begun_text`: the text of a message is on its way; before, the server has taken nothing.
    """

    has_begun_text = False

    async def data(self, message: str | bytes, /, **named: Any) -> aiosmtplib.SMTPResponse:
        """Hand a message over. Raises `LeaseLostError`, the connection closed, where that would be too late."""
        with self._checking_lease(self.protocol):
            try:
                return await super().data(message, **named)
            except LeaseLostError:
                self.close()  # the server would take a QUIT for a line of the text
                raise

    @contextmanager
    def _checking_lease(self, protocol: SMTPProtocol | None) -> Iterator[None]:
        """Check the lease right before each write; the library has no step of its own between `DATA` and the text."""
        if protocol is None:
            yield
            return
        write = protocol.write

        def write_checked(data: bytes) -> None:
            check_lease()
            self.has_begun_text = data != _DATA
            write(data)

        protocol.__dict__["write"] = write_checked
        try:
            yield
        finally:
            del protocol.__dict__["write"]


def _as_plain_text(text: str) -> str:
    """Return a subject that cannot become a header: a template's value may hold a line break, or an encoded word of one.

    The library reads encoded words (RFC 2047) in what it is given and writes out a line break that it found in one.
    """
    return Header(text, "utf-8").encode(maxlinelen=0) if "=?" in text else text


def _refused(code: int, text: str, reference: str, *, is_recipient: bool) -> DeliveryResult:
    return DeliveryResult(
        outcome=bounce(code, text, is_recipient=is_recipient), rang=False, provider_ref=reference, detail=f"{code} {text}"
    )


def bounce(code: int, text: str, *, is_recipient: bool) -> str:
    """Return the outcome of a refusal: its reply code, its text (with an enhanced code, maybe), and what was refused."""
    if code < 500:  # noqa: PLR2004 - RFC 5321: 4xx is for now, 5xx for good
        return "bounced_soft"
    enhanced = text.split(" ", 1)[0]
    has_enhanced = enhanced.count(".") == 2 and enhanced.startswith("5.")  # noqa: PLR2004 - class.subject.detail
    if has_enhanced:
        return {_MAILBOX_FULL: "bounced_soft"}.get(enhanced, "bounced_hard" if enhanced in _MAILBOX_GONE else "failed")
    return "bounced_hard" if is_recipient else "failed"
