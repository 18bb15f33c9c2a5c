"""Does an account with a mail host send one e-mail, under TLS and a login alone, and is each refusal what it means?"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from typing import Any

import pytest

from adapters.clock import wall_now
from adapters.gateway.addresses import networks
from adapters.gateway.leases import Lease, under
from adapters.gateway.ports import DeliveryResult, LeaseLostError, NotPlacedError
from adapters.gateway.unsubscribe_links import UnsubscribeLinks
from adapters.providers.ports import Callback, ForgedCallbackError, ProviderAccount, RefusedOrderError
from adapters.providers.provider_sockets import GuardedProviderSockets
from adapters.providers.registry import fault_of, read_settings, settings_faults
from adapters.providers.smtp import PROVIDER
from adapters.providers.smtp.provider import SmtpConnection
from adapters.providers.testing import ScriptedHttp, sms_command
from tests.adapters.gateway.world import StillClock, command_of
from tests.adapters.providers.mail_host import NOT_RELAYED, PASSWORD, USER, MailHost, certified, trusting

ANSWERS = {b"AUTH": b"235 welcome\r\n"}
SETTINGS = {"host": "localhost", "username": USER, "from_address": "leads@sunny.example"}


@pytest.fixture
async def host() -> AsyncIterator[MailHost]:
    async with MailHost() as served:
        yield served


def account(
    port: int,
    *,
    password: str = PASSWORD,
    tls: ssl.SSLContext | None = None,
    allowed: tuple[str, ...] = ("127.0.0.1",),
    own_ports: tuple[int, ...] = (),
    **settings: Any,
) -> SmtpConnection:
    return PROVIDER.connect(
        ProviderAccount(
            company_id=1,
            configuration_id=1,
            channel="email",
            settings=read_settings(PROVIDER, {**SETTINGS, "port": port, **settings}),
            secrets={"password": password},
            callback_url=None,
            http=ScriptedHttp(),
            now=wall_now,
            sockets=GuardedProviderSockets(allowed=networks(allowed), own_ports=own_ports, tls=tls or trusting()),
            unsubscribe=UnsubscribeLinks("a secret", "https://leads.example.com"),
        )
    )


async def sent(connection: SmtpConnection, **fields: Any) -> DeliveryResult:
    result = await connection.send(command_of("email", **fields))
    assert isinstance(result, DeliveryResult)
    return result


def test_it_is_a_provider_of_e_mails_and_its_settings_are_checked() -> None:
    assert fault_of("smtp", PROVIDER) is None
    assert settings_faults(PROVIDER, SETTINGS) == {}
    assert settings_faults(PROVIDER, {**SETTINGS, "port": "465", "security": "tls", "reply_to": "a@b.example"}) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("host", "mail host"),
        ("host", "mail\r\nRCPT"),
        ("host", ""),
        ("port", 0),
        ("port", 65_536),
        ("security", "none"),
        ("username", "a\nb"),
        ("from_address", "leads"),
        ("from_address", "leads@x.example\nBcc: all@x.example"),
        ("reply_to", "a@b.example, c@d.example"),
        ("password", "in the clear"),
    ],
)
def test_a_bad_setting_is_named(name: str, value: Any) -> None:
    assert list(settings_faults(PROVIDER, {**SETTINGS, name: value})) == [f"settings.{name}"]


@pytest.mark.parametrize("security", ["starttls", "tls"])
async def test_an_e_mail_is_handed_over_under_tls_with_the_login(security: Any) -> None:
    async with MailHost(security) as host:
        connection = account(host.port, security=security, reply_to="sales@sunny.example")
        result = await sent(connection, subject="Hello", body="Dear Ada", to="ada@example.org")

        ((login, message),) = host.sent
    assert (result.outcome, result.provider_ref, login) == ("accepted", message["Message-ID"], USER)
    assert (message["From"], message["To"], message["Reply-To"]) == (
        "leads@sunny.example", "ada@example.org", "sales@sunny.example",
    )  # fmt: skip
    assert message["Message-ID"] == "<command-1@sunny.example>"
    assert message["List-Unsubscribe"].startswith("<https://leads.example.com/unsubscribe/")
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"


async def test_a_step_names_another_sender(host: MailHost) -> None:
    await sent(account(host.port), from_address="ann@sunny.example")

    assert host.sent[0][1]["From"] == "ann@sunny.example"


async def test_a_test_logs_in_and_sends_nothing(host: MailHost) -> None:
    assert "takes the login of sunny" in await account(host.port).test()
    assert host.sent == []
    with pytest.raises(RefusedOrderError, match="535"):
        await account(host.port, password="wrong").test()


async def test_a_wrong_password_lets_the_next_account_try(host: MailHost) -> None:
    with pytest.raises(RefusedOrderError, match="535") as refused:
        await sent(account(host.port, password="wrong"))

    assert refused.value.tries_next
    assert PASSWORD not in str(refused.value)


@pytest.mark.parametrize(("to", "outcome"), [("gone@example.org", "bounced_hard"), ("later@example.org", "bounced_soft")])
async def test_a_refused_recipient_is_an_outcome_and_nobody_else_is_asked(host: MailHost, to: str, outcome: str) -> None:
    assert (await sent(account(host.port), to=to)).outcome == outcome


async def test_a_host_that_does_not_relay_for_the_account_lets_the_next_one_try(host: MailHost) -> None:
    with pytest.raises(RefusedOrderError, match=r"5\.7\.1") as refused:
        await sent(account(host.port), to=NOT_RELAYED)

    assert refused.value.tries_next


async def test_a_message_that_is_refused_is_tried_by_nobody_else(host: MailHost) -> None:
    host.refuses = "554 5.7.1 spam"

    assert (await sent(account(host.port))).outcome == "failed"


async def test_a_host_without_tls_gets_no_password() -> None:
    async with MailHost("none") as host:
        with pytest.raises(NotPlacedError):
            await sent(account(host.port))
        assert host.sent == []


@pytest.mark.parametrize("security", ["starttls", "tls"])
async def test_a_certificate_that_is_not_trusted_or_of_another_name_gets_no_password(security: Any) -> None:
    async with MailHost(security) as host:
        for bad in (
            account(host.port, security=security, tls=ssl.create_default_context()),
            account(host.port, security=security, host="127.0.0.1"),
        ):
            with pytest.raises(NotPlacedError):
                await sent(bad)
        assert (host.sent, host.connections) == ([], 2)


async def test_addresses_of_our_own_network_are_not_connected_to(host: MailHost) -> None:
    with pytest.raises(NotPlacedError, match="not on the public internet"):
        await sent(account(host.port, allowed=()))
    with pytest.raises(NotPlacedError, match="belongs to this deployment"):
        await sent(account(host.port, own_ports=(host.port,)))

    assert host.connections == 0


async def test_a_host_that_is_away_has_sent_nothing(host: MailHost) -> None:
    async with MailHost() as gone:
        port = gone.port
    with pytest.raises(NotPlacedError, match="cannot be reached"):
        await sent(account(port))
    assert host.sent == []


async def test_a_host_that_hangs_up_after_the_text_leaves_unknown() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 hello\r\n")
        while (line := await reader.readline()) != b"DATA\r\n":
            writer.write(
                b"250-here\r\n250 AUTH PLAIN\r\n" if line.startswith(b"EHLO") else ANSWERS.get(line[:4], b"250 OK\r\n")
            )
        writer.write(b"354 go\r\n")
        await reader.readuntil(b"\r\n.\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=certified())
    result = await sent(account(server.sockets[0].getsockname()[1], security="tls"))
    server.close()

    assert result.outcome == "unknown"


async def test_a_sender_whose_lease_has_run_out_hands_nothing_over(host: MailHost) -> None:
    with under(Lease("command-1", "attempt-1", StillClock())), pytest.raises(LeaseLostError):
        await sent(account(host.port))

    assert host.sent == []


async def test_a_callback_is_never_believed(host: MailHost) -> None:
    with pytest.raises(ForgedCallbackError):
        account(host.port).read_callback(Callback(url="", headers={}, query={}, form={}, body=b"x"))
    with pytest.raises(RefusedOrderError):
        await account(host.port).send(sms_command())
