"""Is an e-mail of the deployment itself handed over, and is it said where it is not? Against a real SMTP server."""

import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.gateway.mailbox import Mailbox, read_mail
from adapters.gateway.own_mail import OwnMail
from adapters.gateway.ports import MailError
from adapters.gateway.smtp import SmtpSettings


@pytest.fixture
async def mailbox(tmp_path: Path) -> AsyncIterator[Mailbox]:
    box = Mailbox(tmp_path / "mail")
    await box.start()
    yield box
    await box.stop()


async def test_an_email_arrives_with_its_subject_and_text(mailbox: Mailbox) -> None:
    mail = OwnMail(SmtpSettings(port=mailbox.port, sender="ours@example.com"))
    assert mail.is_set_up
    await mail.send("ada@example.com", "Invitation to\r\nBcc: eve@example.com", "Set your password")
    (found,) = read_mail(mailbox.folder)
    assert (found.sender, found.recipients) == ("ours@example.com", ("ada@example.com",))
    assert found.subject == "Invitation to Bcc: eve@example.com"  # one line: no header of its own
    assert "Set your password" in found.body


@pytest.mark.parametrize("to", ["bounce-hard@example.com", "refused@example.com"])
async def test_an_email_that_the_server_refuses_is_an_error(mailbox: Mailbox, to: str) -> None:
    with pytest.raises(MailError):
        await OwnMail(SmtpSettings(port=mailbox.port)).send(to, "Invitation", "Set your password")
    assert read_mail(mailbox.folder) == []


async def test_a_server_that_is_away_is_an_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        mail = OwnMail(SmtpSettings(port=int(taken.getsockname()[1])))
        with pytest.raises(MailError):
            await mail.send("ada@example.com", "Invitation", "Set your password")


def test_without_a_host_there_is_no_mail_server() -> None:
    assert not OwnMail(SmtpSettings(host="")).is_set_up
