"""What does every e-mail provider promise? It is shown to a real SMTP server."""

from typing import Protocol

import pytest

from adapters.gateway.mailbox import StoredMail
from adapters.gateway.ports import EmailProvider, NotPlacedError
from tests.adapters.gateway.world import command_of


class PostOffice(Protocol):
    """A provider under test, and what arrived."""

    provider: EmailProvider
    without_server: EmailProvider

    def arrived(self) -> list[StoredMail]:
        """Return what was delivered."""
        ...


class EmailContract:
    """Run by the test class of every provider, with its fixture `office`."""

    async def test_an_email_arrives_as_it_was_written(self, office: PostOffice) -> None:
        command = command_of(
            "email", subject="Grüße, {x}", body="Dear Ada,\n\nline two: ½\n.\nend", from_address="Us <us@example.com>"
        )

        result = await office.provider.send(command)

        (mail,) = office.arrived()
        assert result is not None
        assert (result.outcome, result.provider_ref) == ("accepted", mail.message_id)
        assert (mail.subject, mail.body, mail.sender) == (command.subject, command.body, "Us <us@example.com>")
        assert mail.recipients == ("ada@example.org",)

    async def test_the_same_order_sent_again_carries_the_same_message_id(self, office: PostOffice) -> None:
        for _ in range(2):
            await office.provider.send(command_of("email"))

        first, second = office.arrived()
        assert first.message_id == second.message_id
        assert "command-1" in first.message_id

    @pytest.mark.parametrize(
        ("address", "outcome"),
        [
            ("bounce-hard@example.org", "bounced_hard"),
            ("Bounce-Soft@example.org", "bounced_soft"),
            ("refused@example.org", "failed"),
        ],
    )
    async def test_what_the_server_refuses_is_distinguished(self, office: PostOffice, address: str, outcome: str) -> None:
        result = await office.provider.send(command_of("email", to=address))

        assert result is not None
        assert result.outcome == outcome
        assert result.detail
        assert office.arrived() == []

    async def test_where_no_server_answers_surely_nothing_was_sent(self, office: PostOffice) -> None:
        with pytest.raises(NotPlacedError):
            await office.without_server.send(command_of("email"))

    @pytest.mark.parametrize(
        ("subject", "read"),
        [
            ("Hello\r\nBcc: all@example.org", "Hello Bcc: all@example.org"),
            ("Hello\x0bBcc:\x85all@example.org\u2028.", "Hello Bcc: all@example.org ."),
            ("Hello =?utf-8?q?=0d=0aBcc:_all=40example.org?=", None),
            ("=?utf-8?b?DQpCY2M6IGFsbEBleGFtcGxlLm9yZw==?= Zoë", None),
            ("=?utf-8?q?=0d=0a=0d=0aanother_body?=", None),
        ],
    )
    async def test_a_line_break_in_a_subject_makes_no_header(
        self, office: PostOffice, subject: str, read: str | None
    ) -> None:
        await office.provider.send(command_of("email", subject=subject, body="the body"))

        (mail,) = office.arrived()
        assert mail.subject == read or read is None
        assert mail.recipients == ("ada@example.org",)
        assert mail.body.strip() == "the body"
