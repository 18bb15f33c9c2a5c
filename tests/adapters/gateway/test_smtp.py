"""Is an e-mail handed over whole, and is each refusal read as what it is? Against real SMTP servers."""

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP, AuthResult

from adapters.gateway.channels import email_channel
from adapters.gateway.mailbox import Mailbox, StoredMail, read_mail
from adapters.gateway.ports import EmailProvider
from adapters.gateway.smtp import SmtpEmail, SmtpSettings, bounce
from tests.adapters.gateway.email_contract import EmailContract
from tests.adapters.gateway.world import MemoryDeliveries, StillClock, command_of, running, town


def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def mailer(port: int, **given: Any) -> SmtpEmail:
    return SmtpEmail(SmtpSettings(port=port, **given), StillClock(), retry_delay_seconds=0.01)


class Office:
    def __init__(self, mailbox: Mailbox, folder: Path) -> None:
        self.mailbox = mailbox
        self.provider: EmailProvider = mailer(mailbox.port)
        self.without_server: EmailProvider = mailer(closed_port())
        self._folder = folder

    def arrived(self) -> list[StoredMail]:
        return read_mail(self._folder)


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    mailbox = Mailbox(tmp_path / "mail", messages_max=5)
    await mailbox.start()
    yield Office(mailbox, tmp_path / "mail")
    await mailbox.stop()


class TestSmtp(EmailContract):
    """The whole contract, against the mailbox that `up` runs."""


@pytest.mark.parametrize(
    ("code", "text", "is_recipient", "outcome"),
    [
        pytest.param(550, "5.1.1 no such user", True, "bounced_hard", id="no mailbox"),
        pytest.param(550, "5.1.10 null MX", True, "bounced_hard", id="domain takes no mail"),
        pytest.param(550, "no such user", True, "bounced_hard", id="no mailbox, without a code"),
        pytest.param(552, "5.2.2 mailbox full", True, "bounced_soft", id="full"),
        pytest.param(550, "5.7.1 blocked by policy", True, "failed", id="we are blocked, the mailbox is fine"),
        pytest.param(550, "5.1.8 bad sender", True, "failed", id="our address is at fault"),
        pytest.param(451, "4.3.0 try later", True, "bounced_soft", id="for now"),
        pytest.param(554, "looks like spam", False, "failed", id="the message, not the mailbox"),
        pytest.param(535, "5.7.8 bad credentials", False, "failed", id="our password"),
    ],
)
def test_a_refusal_closes_a_mailbox_only_if_it_is_the_mailbox_that_is_refused(
    code: int, text: str, is_recipient: bool, outcome: str
) -> None:
    assert bounce(code, text, is_recipient=is_recipient) == outcome


async def test_the_mailbox_keeps_the_newest_and_says_so_after_a_restart(office: Office, tmp_path: Path) -> None:
    for number in range(1, 9):
        await office.provider.send(command_of("email", number, subject=f"mail {number}"))
    kept = [(mail.number, mail.subject) for mail in office.arrived()]
    await office.mailbox.stop()

    again = Mailbox(tmp_path / "mail", messages_max=5)
    await again.start()
    await mailer(again.port).send(command_of("email", 9, subject="mail 9"))
    await again.stop()

    assert kept == [(number, f"mail {number}") for number in range(4, 9)]
    assert [mail.number for mail in office.arrived()] == [5, 6, 7, 8, 9]
    assert [mail.number for mail in read_mail(tmp_path / "mail", limit=3, after=7)] == [8, 9]


def test_a_folder_that_is_not_there_holds_no_mail(tmp_path: Path) -> None:
    assert read_mail(tmp_path / "none") == []


async def test_a_server_that_asks_for_a_password_gets_it() -> None:
    given: list[tuple[bytes, bytes]] = []

    def check(_server: object, _session: object, _envelope: object, _mechanism: str, data: Any) -> AuthResult:
        given.append((data.login, data.password))
        return AuthResult(success=data.password == b"right", handled=False)

    class Sink:
        async def handle_DATA(self, *_: object) -> str:  # noqa: N802 - aiosmtpd calls it so
            return "250 OK"

    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: SMTP(Sink(), authenticator=check, auth_require_tls=False, hostname="here"),
        "127.0.0.1",
        0,
    )
    port = server.sockets[0].getsockname()[1]

    right = await mailer(port, user="me", password="right").send(command_of("email"))
    wrong = await mailer(port, user="me", password="wrong").send(command_of("email"))
    server.close()

    assert (right.outcome, wrong.outcome) == ("accepted", "failed")
    assert given[0] == (b"me", b"right")


async def test_a_server_that_hangs_up_after_the_message_leaves_unknown() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 hello\r\n")
        while (line := await reader.readline()) != b"DATA\r\n":
            assert line
            writer.write(b"250 OK\r\n")
        writer.write(b"354 go\r\n")
        await reader.readuntil(b"\r\n.\r\n")
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    result = await mailer(server.sockets[0].getsockname()[1]).send(command_of("email"))
    server.close()

    assert result.outcome == "unknown"


async def test_an_order_on_the_topic_becomes_an_email_in_the_box(office: Office) -> None:
    async with town("email") as place, running(place, email_channel(office.provider), MemoryDeliveries()):
        await place.append(command_of("email", subject="From the log"))
        outcomes = await place.outcome()

    assert outcomes == [("command-1", "accepted")]
    assert [mail.subject for mail in office.arrived()] == ["From the log"]
