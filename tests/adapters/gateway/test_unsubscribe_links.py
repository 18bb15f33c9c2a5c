"""Does each e-mail say how to unsubscribe as mail programs read it, and can nobody make up or alter a link?"""

from collections.abc import AsyncIterator
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from adapters.gateway.mailbox import Mailbox
from adapters.gateway.smtp import SmtpEmail, SmtpSettings
from adapters.gateway.unsubscribe_links import PATH, UnsubscribeLinks, UnsubscribeTarget, read_token
from schemas.commands import SendEmail
from tests.adapters.gateway.world import StillClock, command_of

SECRET = "a secret of the deployment"
PUBLIC = "https://leads.example.com"
LINE_BYTES_MAX = 998
"""RFC 5322, 2.1.1."""
LONGEST = f"{'l' * 64}@{'d' * 176}.example.org"


def command(**fields: Any) -> SendEmail:
    about = {"contact_key": "7|email:ada@example.org", "company_id": 7, "lead_id": 12, **fields}
    made = command_of("email", **about)
    assert isinstance(made, SendEmail)
    return made


def token(made: SendEmail, secret: str = SECRET) -> str:
    return UnsubscribeLinks(secret, PUBLIC).url(made).removeprefix(f"{PUBLIC}{PATH}/")


@pytest.fixture
async def mailbox(tmp_path: Path) -> AsyncIterator[Mailbox]:
    served = Mailbox(tmp_path / "mail")
    await served.start()
    yield served
    await served.stop()


async def sent(mailbox: Mailbox, links: UnsubscribeLinks | None, made: SendEmail) -> tuple[bytes, Message]:
    settings = SmtpSettings(port=mailbox.port)
    await SmtpEmail(settings, StillClock(), unsubscribe=links).send(made)
    (path,) = mailbox.folder.glob("*.eml")
    content = path.read_bytes()
    path.unlink()
    return content, message_from_bytes(content)


@pytest.mark.parametrize("address", ["ada@example.org", LONGEST])
async def test_the_header_arrives_on_one_line_as_it_was_made(mailbox: Mailbox, address: str) -> None:
    """The library would encode a word of more than a line, and no mail program decodes this header."""
    made = command(to=address, contact_key=f"7|email:{address}")
    links = UnsubscribeLinks(SECRET, PUBLIC)

    content, message = await sent(mailbox, links, made)

    assert f"List-Unsubscribe: <{links.url(made)}>\n".encode() in content.replace(b"\r\n", b"\n")
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert max(map(len, content.splitlines())) <= LINE_BYTES_MAX


async def test_without_https_no_mail_program_is_asked_to_post(mailbox: Mailbox) -> None:
    _, message = await sent(mailbox, UnsubscribeLinks(SECRET, "http://127.0.0.1:8080"), command())

    assert message["List-Unsubscribe"].startswith(f"<http://127.0.0.1:8080{PATH}/")
    assert message["List-Unsubscribe-Post"] is None


async def test_without_a_public_address_there_is_no_link(mailbox: Mailbox) -> None:
    _, message = await sent(mailbox, None, command())

    assert [name for name in message if name.startswith("List-")] == []


def test_a_token_names_its_contact_and_says_nothing_to_others() -> None:
    made = command()

    assert read_token(SECRET, token(made)) == UnsubscribeTarget(
        company_id=7, lead_id=12, channel="email", contact_key="7|email:ada@example.org"
    )
    assert token(made) == token(command(subject="another")), (
        "the same for each e-mail to the address, so proxies cache nothing"
    )
    assert "ada" not in token(made)
    assert token(made) != token(command(lead_id=13))


def test_a_changed_or_foreign_token_is_none() -> None:
    whole = token(command())
    changed = [f"{whole[:place]}{'A' if letter != 'A' else 'B'}{whole[place + 1 :]}" for place, letter in enumerate(whole)]
    others = [
        token(command(), "another deployment"),
        "",
        "A",
        whole[:-1],
        f"{whole}A",
        f"{whole}==",
        whole * 20,
        "ü",
        "%%%",
        "AAAA",
    ]

    assert [one for one in (*changed, *others) if read_token(SECRET, one) is not None] == []
