"""Where do the e-mails of a demonstration go? To a real SMTP server on this machine, which stores the newest in a folder.

One file per message, named by a rising number, so that the newest sort last; a message appears whole. `read_mail` is what
`leadclock mail` shows. Some recipients are refused on purpose: adapters/gateway/sandbox.md.
"""

import asyncio
import contextlib
import email.policy
import importlib
from email import message_from_bytes
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from adapters.local.process import INSTALL_LOCAL, LocalServerError

if TYPE_CHECKING:  # of the extra `local`: reading stored mail needs none of it
    from aiosmtpd.smtp import SMTP, Envelope, Session

MESSAGES_MAX = 1_000
"""Older ones are deleted; a demonstration writes a few hundred an hour."""

MESSAGE_BYTES_MAX = 1_048_576
SILENCE_SECONDS_MAX = 60.0
"""A client that says nothing for this long is cut off."""

REFUSED_RECIPIENTS = {
    "bounce-hard": "550 5.1.1 There is no such mailbox here",
    "bounce-soft": "451 4.2.0 This mailbox takes nothing at present; try again later",
}
REFUSED_MESSAGES = {"refused": "554 5.7.1 The message was refused by policy"}

_SUFFIX = ".eml"


class MailboxUnavailableError(LocalServerError):
    """The mail server's package is not installed; the text says how to install it."""


class StoredMail(Struct, frozen=True, kw_only=True):
    """One stored message: `number` rises, `date` is the sender's, `body` is the plain text."""

    number: int
    sender: str
    recipients: tuple[str, ...]
    subject: str
    date: str
    message_id: str
    body: str


class Mailbox:
    """The SMTP server. `start` binds a port (0: any free one) of the loopback address; `port` says which."""

    def __init__(self, folder: Path, *, messages_max: int = MESSAGES_MAX) -> None:
        self.folder = folder
        self._messages_max = messages_max
        self._server: asyncio.Server | None = None
        self._number = 0
        self._smtp: Any = None
        self.host = "127.0.0.1"
        self.port = 0

    async def start(self, port: int = 0) -> None:
        """Listen. Raises `OSError` where the port is taken, `MailboxUnavailableError` where the package is missing."""
        self._smtp = _import_smtp()
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._number = max((number for number, _ in _stored_files(self.folder)), default=0)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._protocol, self.host, port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()
            self._server = None

    async def handle_RCPT(  # noqa: N802 - aiosmtpd calls it so
        self, _server: "SMTP", _session: "Session", envelope: "Envelope", address: str, _options: list[str]
    ) -> str:
        """Take a recipient, or refuse it by its name."""
        refusal = REFUSED_RECIPIENTS.get(_local_part(address))
        if refusal is not None:
            return refusal
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 OK"

    async def handle_DATA(self, _server: "SMTP", _session: "Session", envelope: "Envelope") -> str:  # noqa: N802 - as above
        """Store a message, and delete the oldest."""
        for address in envelope.rcpt_tos:
            if refusal := REFUSED_MESSAGES.get(_local_part(address)):
                return refusal
        self._store(cast("bytes", envelope.content), envelope)
        return f"250 2.0.0 Kept as {self._number}"

    def _protocol(self) -> "SMTP":
        protocol: SMTP = self._smtp(
            self,
            data_size_limit=MESSAGE_BYTES_MAX,
            enable_SMTPUTF8=True,
            hostname="mailbox.leadclock.invalid",
            ident="leadclock mailbox",
            timeout=SILENCE_SECONDS_MAX,
        )
        return protocol

    def _store(self, content: bytes, envelope: "Envelope") -> None:
        self._number += 1
        path = self.folder / f"{self._number:012d}{_SUFFIX}"
        head = f"X-Envelope-From: {envelope.mail_from}\r\nX-Envelope-To: {', '.join(envelope.rcpt_tos)}\r\n"
        fresh = path.with_suffix(".new")
        fresh.write_bytes(head.encode() + content)
        fresh.rename(path)
        for _, old in _stored_files(self.folder)[: -self._messages_max]:
            old.unlink(missing_ok=True)


def _import_smtp() -> Any:
    try:
        return importlib.import_module("aiosmtpd.smtp").SMTP
    except ImportError as error:
        raise MailboxUnavailableError(f"the local mail server needs the package aiosmtpd; {INSTALL_LOCAL}") from error


def read_mail(folder: Path, *, limit: int = MESSAGES_MAX, after: int = 0) -> list[StoredMail]:
    """Return the newest `limit` messages with a number above `after`, oldest first."""
    found = []
    for number, path in _stored_files(folder)[-limit:]:
        if number > after:
            with contextlib.suppress(FileNotFoundError):  # the oldest may be deleted meanwhile
                found.append(_mail(number, path.read_bytes()))
    return found


def _mail(number: int, content: bytes) -> StoredMail:
    message = message_from_bytes(content, policy=email.policy.default)
    body = message.get_body(("plain",))
    recipients = str(message.get("X-Envelope-To", "")).split(",")
    return StoredMail(
        number=number,
        sender=str(message.get("From", "")),
        recipients=tuple(recipient.strip() for recipient in recipients),
        subject=str(message.get("Subject", "")),
        date=str(message.get("Date", "")),
        message_id=str(message.get("Message-ID", "")),
        body="" if body is None else "\n".join(str(body.get_content()).splitlines()),
    )


def _stored_files(folder: Path) -> list[tuple[int, Path]]:
    if not folder.is_dir():
        return []
    return sorted((int(path.stem), path) for path in folder.iterdir() if path.suffix == _SUFFIX)


def _local_part(address: str) -> str:
    return address.partition("@")[0].lower()
