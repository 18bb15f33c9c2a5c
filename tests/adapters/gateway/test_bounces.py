"""Is each report of a mail server read as what it says, about our own e-mails alone? In forms that mail servers write."""

import io
import sys
from collections.abc import AsyncIterator, Callable
from email import message_from_bytes
from pathlib import Path
from typing import Any

import pytest

from adapters.cli.main import main
from adapters.gateway.bounce_tokens import HEADER, BounceTokens, SentMail
from adapters.gateway.bounces import REPORT_BYTES_MAX, ForeignMailError, MailReport, read_report
from adapters.gateway.mailbox import Mailbox
from adapters.gateway.ports import NotPlacedError
from adapters.gateway.smtp import SmtpEmail, SmtpSettings
from adapters.gateway.unsubscribe_links import UnsubscribeLinks
from schemas.commands import UNSUBSCRIBE_URL, SendEmail
from schemas.outcomes import OUTCOMES
from tests.adapters.gateway.world import StillClock, command_of

SECRET = "a secret of the deployment, 32 characters"
TOKENS = BounceTokens(SECRET)

POSTFIX = """\
Return-Path: <>
From: MAILER-DAEMON@mx.example.net (Mail Delivery System)
Subject: Undelivered Mail Returned to Sender
To: leads@sunny.example
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status;
\tboundary="4Zx1.1718600000/mx.example.net"

This is a MIME-encapsulated message.

--4Zx1.1718600000/mx.example.net
Content-Description: Notification
Content-Type: text/plain; charset=us-ascii

<ada@example.org>: host mx.example.org[192.0.2.7] said: {code} {status}
    {says} (in reply to RCPT TO command)

--4Zx1.1718600000/mx.example.net
Content-Description: Delivery report
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example.net
X-Postfix-Queue-ID: 4Zx1
X-Postfix-Sender: rfc822; leads@sunny.example
Arrival-Date: Wed, 17 Jun 2026 17:00:00 +0000 (UTC)

Final-Recipient: rfc822; ada@example.org
Original-Recipient: rfc822;ada@example.org
Action: {action}
Status: {status}
Remote-MTA: dns; mx.example.org
Diagnostic-Code: smtp; {code} {status} {says}

--4Zx1.1718600000/mx.example.net
Content-Description: Undelivered Message
Content-Type: message/rfc822

From: leads@sunny.example
To: ada@example.org
Subject: Hello
Message-ID: <command-1@sunny.example>
{header}: {token}

Dear Ada
--4Zx1.1718600000/mx.example.net--
"""

EXCHANGE = """\
From: <postmaster@example.onmicrosoft.com>
To: <leads@sunny.example>
Subject: Undeliverable: Hello
Content-Type: multipart/report; report-type=delivery-status; boundary="_000_x"
MIME-Version: 1.0

--_000_x
Content-Type: text/html; charset="us-ascii"

<html><body>Your message to ada@example.org couldn't be delivered.</body></html>

--_000_x
Content-Type: message/delivery-status

Reporting-MTA: dns;AM0PR01.eurprd01.prod.outlook.com
Received-From-MTA: dns;mail.sunny.example
Arrival-Date: Wed, 17 Jun 2026 17:00:00 +0000

Final-Recipient: rfc822;ada@example.org
Action: {action}
Status: {status}
Diagnostic-Code: smtp;{code} {status}
 {says}
X-Display-Name: ada@example.org

--_000_x
Content-Type: text/rfc822-headers

From: leads@sunny.example
To: ada@example.org
{header}: {token}
Subject: Hello

--_000_x--
"""

ABUSE = """\
From: <feedback@isp.example>
To: <abuse@sunny.example>
Subject: FW: Hello
MIME-Version: 1.0
Content-Type: multipart/report; report-type=feedback-report; boundary="part1"

--part1
Content-Type: text/plain; charset="US-ASCII"

This is an email abuse report.

--part1
Content-Type: message/feedback-report

Feedback-Type: {kind}
User-Agent: Reporter/1.0
Version: 1

--part1
Content-Type: message/rfc822
Content-Disposition: inline

From: <leads@sunny.example>
To: <ada@example.org>
Subject: Hello
{header}: {token}

Dear Ada
--part1--
"""


def mail_to(**fields: Any) -> SendEmail:
    about = {"contact_key": "7|email:ada@example.org", "company_id": 7, "lead_id": 12, "body": "Dear Ada", **fields}
    made = command_of("email", **about)
    assert isinstance(made, SendEmail)
    return made


def report(form: str = POSTFIX, *, token: str | None = None, header: str = HEADER, **fields: str) -> bytes:
    about = {"action": "failed", "status": "5.1.1", "code": "550", "says": "No such user", "kind": "abuse", **fields}
    text = form.format(header=header, token=TOKENS.token(mail_to()) if token is None else token, **about)
    return text.replace("\n", "\r\n").encode()


def read(content: bytes) -> MailReport:
    return read_report(content, TOKENS)


@pytest.mark.parametrize("form", [POSTFIX, EXCHANGE])
@pytest.mark.parametrize(
    ("status", "code", "says", "outcome"),
    [
        ("5.1.1", "550", "No such user", "bounced_hard"),
        ("5.1.10", "550", "RecipientNotFound", "bounced_hard"),
        ("5.2.1", "550", "The account is disabled", "bounced_hard"),
        ("5.2.2", "552", "Mailbox full", "bounced_soft"),
        ("5.7.1", "550", "Blocked by policy", "failed"),
        ("4.4.7", "451", "Message expired", "bounced_soft"),
        ("4.2.2", "452", "Over quota", "bounced_soft"),
    ],
)
def test_a_failed_delivery_is_a_bounce_as_its_status_says(
    form: str, status: str, code: str, says: str, outcome: str
) -> None:
    found = read(report(form, status=status, code=code, says=says))

    assert (found.outcome, status in found.detail, says in found.detail) == (outcome, True, True)
    assert found.sent == SentMail(company_id=7, lead_id=12, command_id="command-1", contact_key="7|email:ada@example.org")
    assert found.outcome in OUTCOMES["email"]
    request = found.request(occurred_at=StillClock().now())
    assert (request.command_id, request.kind, request.outcome) == ("command-1", "email", outcome)


@pytest.mark.parametrize(
    ("action", "outcome"), [("delayed", None), ("relayed", None), ("expanded", None), ("delivered", "delivered")]
)
def test_what_has_not_failed_is_no_bounce(action: str, outcome: str | None) -> None:
    assert read(report(action=action, status="4.4.1")).outcome == outcome


def test_a_complaint_is_one_and_other_feedback_is_not() -> None:
    assert read(report(ABUSE)).outcome == "complained"
    with pytest.raises(ForeignMailError, match="not-spam"):
        read(report(ABUSE, kind="not-spam"))


def test_the_same_report_twice_has_the_same_id_and_another_outcome_another() -> None:
    assert read(report()).request_id == read(report(EXCHANGE)).request_id == "command-1/bounced_hard"
    assert read(report(status="5.2.2")).request_id == "command-1/bounced_soft"


@pytest.mark.parametrize(
    "token",
    [
        "",
        "AAAA",
        "ä",
        "x" * 5_000,
        BounceTokens("another deployment's secret, 32 characters").token(mail_to()),
        TOKENS.token(mail_to())[:-2] + "AA",
    ],
)
def test_a_report_about_no_e_mail_of_ours_is_refused(token: str) -> None:
    with pytest.raises(ForeignMailError, match=HEADER):
        read(report(token=token))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\x00garbage",
        b"From: ada@example.org\r\nSubject: Re: Hello\r\n\r\nCall me",
        report(header="X-Other"),
        report().replace(b"message/delivery-status", b"text/plain"),
        report().replace(b"message/rfc822", b"application/octet-stream"),
        report().replace(b"Action: failed", b"X-Action: failed"),
        b"Content-Type: multipart/report; boundary=x\r\n\r\nno parts",
        report() + b"x" * REPORT_BYTES_MAX,
    ],
)
def test_mail_that_is_no_report_is_refused(content: bytes) -> None:
    with pytest.raises(ForeignMailError):
        read(content)


def test_a_token_of_the_longest_address_fits_into_its_line() -> None:
    longest = f"7|email:{'l' * 64}@{'d' * 176}.example.org"
    token = TOKENS.token(mail_to(contact_key=longest, command_id="12345678-1234-8234-9234-123456789012"))

    assert len(f"{HEADER}: {token}") < 998
    found = TOKENS.read(token)
    assert found is not None
    assert found.contact_key == longest
    assert "ada" not in TOKENS.token(mail_to())


@pytest.fixture
async def mailbox(tmp_path: Path) -> AsyncIterator[Mailbox]:
    served = Mailbox(tmp_path / "mail")
    await served.start()
    yield served
    await served.stop()


async def sent(mailbox: Mailbox, command: SendEmail, *, links: UnsubscribeLinks | None) -> Any:
    await SmtpEmail(SmtpSettings(port=mailbox.port), StillClock(), unsubscribe=links, bounces=TOKENS).send(command)
    (path,) = mailbox.folder.glob("*.eml")
    return message_from_bytes(path.read_bytes())


async def test_each_e_mail_carries_its_token_on_one_line(mailbox: Mailbox) -> None:
    longest = f"7|email:{'l' * 64}@{'d' * 176}.example.org"
    message = await sent(mailbox, mail_to(contact_key=longest), links=None)

    assert message[HEADER] == TOKENS.token(mail_to(contact_key=longest))


async def test_the_link_to_unsubscribe_is_in_the_text_where_its_template_names_it(mailbox: Mailbox) -> None:
    links = UnsubscribeLinks(SECRET, "https://leads.example.com")
    command = mail_to(body=f"Dear Ada. No more e-mails: {UNSUBSCRIBE_URL} or {UNSUBSCRIBE_URL}")

    message = await sent(mailbox, command, links=links)

    url = links.url(command)
    assert message["List-Unsubscribe"] == f"<{url}>"
    text = message.get_payload(decode=True).decode()
    assert text.strip() == f"Dear Ada. No more e-mails: {url} or {url}"


async def test_an_e_mail_that_promises_a_link_is_not_sent_without_one(mailbox: Mailbox) -> None:
    with pytest.raises(NotPlacedError, match="LEADCLOCK_PUBLIC_URL"):
        await sent(mailbox, mail_to(body=f"Unsubscribe: {UNSUBSCRIBE_URL}"), links=None)

    assert list(mailbox.folder.glob("*.eml")) == []


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[bytes], int]:
    """`leadclock mail bounce` as a mail server runs it, with a broker that is away."""
    monkeypatch.setenv("LEADCLOCK_SECRET_KEY", SECRET)
    monkeypatch.setenv("LEADCLOCK_KAFKA_BOOTSTRAP", "127.0.0.1:1")
    monkeypatch.setenv("LEADCLOCK_POSTGRES_DSN", "postgresql://127.0.0.1:1/x")
    monkeypatch.chdir(tmp_path)

    def run(content: bytes) -> int:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return main(["mail", "bounce"])

    return run


@pytest.mark.parametrize(
    ("content", "status", "says"),
    [(b"a reply", 65, "multipart/report"), (report(token="AAAA"), 65, HEADER), (report(), 75, "127.0.0.1:1")],
)
def test_a_pipe_learns_whether_to_give_up_or_to_repeat(
    pipe: Callable[[bytes], int], content: bytes, status: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pipe(content) == status
    assert says in capsys.readouterr().err


def test_a_delay_is_shown_and_nothing_recorded(pipe: Callable[[bytes], int], capsys: pytest.CaptureFixture[str]) -> None:
    assert pipe(report(action="delayed", status="4.4.1")) == 0
    assert "lead 12 of company 7: nothing is recorded yet" in capsys.readouterr().out
