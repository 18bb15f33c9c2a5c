"""Does a sender that stood still give nothing away once its lease has run out? The real senders, before real servers."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiosmtplib
import pytest
from aiosmtplib.protocol import SMTPProtocol

from adapters.gateway import smtp, webhook
from adapters.gateway.addresses import networks
from adapters.gateway.leases import LEASE_MARGIN_SECONDS, LEASE_SECONDS, Lease, under
from adapters.gateway.ports import LeaseLostError
from adapters.gateway.resolver import Resolver
from adapters.gateway.signing import shown_secret, signing_key
from adapters.gateway.smtp import SmtpEmail, SmtpSettings
from adapters.gateway.webhook import SignedWebhooks
from schemas.records import OutgoingWebhook
from tests.adapters.gateway.receiver import Receiver
from tests.adapters.gateway.test_webhook import SECRET, Book, record_of
from tests.adapters.gateway.world import StillClock, command_of

TOO_LONG_SECONDS = LEASE_SECONDS - LEASE_MARGIN_SECONDS + 1
"""What a sender may not take before it asks its server, where its lease is not renewed meanwhile."""


class PausedClock(StillClock):
    """Its monotonic seconds are moved by hand; `paused_seconds` pass while a sender waits for its next try."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0
        self.paused_seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds

    def stand_still(self) -> None:
        """Let so much time pass that a lease which is not renewed has run out."""
        self.seconds += TOO_LONG_SECONDS

    async def sleep(self, seconds: float) -> None:
        self.seconds += self.paused_seconds
        await asyncio.sleep(0)


@pytest.fixture
def clock() -> PausedClock:
    return PausedClock()


@pytest.fixture
def lease(clock: PausedClock) -> Lease:
    """A lease that was taken just now."""
    lease = Lease("command-1", "attempt-1", clock)
    lease.ends_at = clock.monotonic() + LEASE_SECONDS
    return lease


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver(shown_secret(signing_key(SECRET, "outgoing_webhook", 1, 7, 1)))
    await receiver.start()
    yield receiver
    await receiver.stop()


class SlowResolver(Resolver):
    """Finds every host on this machine, after some seconds of a clock."""

    def __init__(self, clock: PausedClock, seconds: float) -> None:
        super().__init__()
        self._clock = clock
        self._seconds = seconds

    async def addresses(self, host: str) -> list[str]:
        assert host == "crm.example.com"
        await asyncio.sleep(0)
        self._clock.seconds += self._seconds
        return ["127.0.0.1"]


@asynccontextmanager
async def webhooks(receiver: Receiver, clock: PausedClock, lookup_seconds: float = 0.0) -> AsyncIterator[SignedWebhooks]:
    """A sender whose only webhook is the receiver's."""
    record = record_of(OutgoingWebhook(name="CRM", url=f"http://crm.example.com:{receiver.port}/hooks"))
    resolver, allowed = SlowResolver(clock, lookup_seconds), networks(["127.0.0.0/8"])
    sender = SignedWebhooks(
        Book(record), clock, deployment_secret=SECRET, allowed=allowed, retry_delays_seconds=(1.0, 1.0), resolver=resolver
    )
    yield sender
    await sender.close()


class MailServer:
    """Keeps every command that it receives, "." where a text has ended.

    `before` runs before it greets, or answers a command; `answers` replace "250 OK" to a command.
    """

    def __init__(self, before: dict[str, Callable[[], None]] | None = None, answers: dict[str, str] | None = None) -> None:
        self.commands: list[str] = []
        self.serving: set[asyncio.Task[object]] = set()
        self._before = before or {}
        self._answers = {"DATA": "354 go on", "QUIT": "221 bye", **(answers or {})}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Be the server of one connection."""
        task = asyncio.current_task()
        assert task is not None
        self.serving.add(task)
        try:
            await self._converse(reader, writer)
        finally:
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._before.get("greeting", lambda: None)()
        writer.write(b"220 ready\r\n")
        is_text = False
        while line := await reader.readline():
            said = line.decode().strip()
            if is_text:
                is_text = said != "."
                if is_text:
                    continue
            word = said.partition(" ")[0].upper()
            self.commands.append(word)
            is_text = word == "DATA"
            self._before.get(word, lambda: None)()
            answer = self._answers.get(word, "250 OK")
            if not answer:
                break
            writer.write(answer.encode() + b"\r\n")


@asynccontextmanager
async def mail(server: MailServer, clock: PausedClock) -> AsyncIterator[SmtpEmail]:
    """A sender whose mail server is this one."""
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    yield SmtpEmail(SmtpSettings(port=port), clock)
    listening.close()
    for task in server.serving:
        task.cancel()
    await asyncio.gather(*server.serving, return_exceptions=True)


async def test_a_webhook_is_posted_under_a_lease_that_holds(receiver: Receiver, clock: PausedClock, lease: Lease) -> None:
    async with webhooks(receiver, clock) as sender:
        with under(lease):
            result = await sender.post(command_of("webhook"))

    assert result.outcome == "accepted"
    assert len(receiver.received) == 1


async def test_a_webhook_whose_lease_ran_out_while_its_name_was_looked_up_is_not_posted(
    receiver: Receiver, clock: PausedClock, lease: Lease
) -> None:
    async with webhooks(receiver, clock, TOO_LONG_SECONDS) as sender:
        with under(lease), pytest.raises(LeaseLostError):
            await sender.post(command_of("webhook"))

    assert receiver.received == []


async def test_a_webhook_whose_lease_ran_out_before_its_second_try_is_not_posted_again(
    receiver: Receiver, clock: PausedClock, lease: Lease
) -> None:
    receiver.answers = [503, 200]
    clock.paused_seconds = TOO_LONG_SECONDS

    async with webhooks(receiver, clock) as sender:
        with under(lease), pytest.raises(LeaseLostError):
            await sender.post(command_of("webhook"))

    assert len(receiver.received) == 1


async def test_an_email_is_handed_over_under_a_lease_that_holds(clock: PausedClock, lease: Lease) -> None:
    server = MailServer()

    async with mail(server, clock) as sender:
        with under(lease):
            result = await sender.send(command_of("email"))

    assert result.outcome == "accepted"
    assert server.commands.count("DATA") == 1


async def test_an_email_whose_lease_ran_out_before_its_server_greeted_is_not_handed_over(
    clock: PausedClock, lease: Lease
) -> None:
    server = MailServer(before={"greeting": clock.stand_still})

    async with mail(server, clock) as sender:
        with under(lease), pytest.raises(LeaseLostError):
            await sender.send(command_of("email"))

    assert "MAIL" not in server.commands


@pytest.mark.parametrize(("command", "said_last"), [("MAIL", "RCPT"), ("RCPT", "RCPT"), ("DATA", "DATA")])
async def test_an_email_whose_lease_ran_out_within_the_dialogue_is_not_handed_over(
    clock: PausedClock, lease: Lease, command: str, said_last: str
) -> None:
    server = MailServer(before={command: clock.stand_still})

    async with mail(server, clock) as sender:
        with under(lease), pytest.raises(LeaseLostError):
            await sender.send(command_of("email"))
        await asyncio.gather(*server.serving)  # the server has read all that was sent

    assert server.commands[-1] == said_last


async def test_an_email_whose_lease_runs_out_after_its_text_was_handed_over_is_accepted(
    clock: PausedClock, lease: Lease
) -> None:
    server = MailServer(before={".": clock.stand_still})

    async with mail(server, clock) as sender:
        with under(lease):
            result = await sender.send(command_of("email"))

    assert result.outcome == "accepted"


async def test_an_email_whose_lease_ran_out_before_its_second_try_is_not_handed_over_again(
    clock: PausedClock, lease: Lease
) -> None:
    server = MailServer(answers={"DATA": ""})  # the connection breaks: nobody knows whether it was taken
    clock.paused_seconds = TOO_LONG_SECONDS

    async with mail(server, clock) as sender:
        with under(lease), pytest.raises(LeaseLostError):
            await sender.send(command_of("email"))

    assert server.commands.count("MAIL") == 1


class Turns:
    """Tells whether anything else ran on the loop since the lease was looked at."""

    def __init__(self) -> None:
        self.seen: list[bool] = []
        self._others_ran = True

    def look(self) -> None:
        """Stand where the lease is looked at."""
        self._others_ran = False
        asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._others_ran = True

    def before(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a call that notes whether anything ran between the look and it."""

        def noted(*arguments: Any, **named: Any) -> Any:
            self.seen.append(self._others_ran)
            return call(*arguments, **named)

        return noted

    def before_text(self, write: Callable[..., None]) -> Callable[..., None]:
        """Return a write that notes the same where it ends the text of a message."""

        def noted(protocol: Any, data: bytes) -> None:
            if data.endswith(b"\r\n.\r\n"):
                self.seen.append(self._others_ran)
            write(protocol, data)

        return noted


async def test_nothing_runs_between_the_look_at_the_lease_and_a_post(
    receiver: Receiver, clock: PausedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = Turns()
    monkeypatch.setattr(webhook, "check_lease", turns.look)

    async with webhooks(receiver, clock) as sender:
        http = sender._client._client
        monkeypatch.setattr(http, "send", turns.before(http.send))
        await sender.post(command_of("webhook"))

    assert len(receiver.received) == 1
    assert turns.seen == [False]


async def test_nothing_runs_between_the_look_at_the_lease_and_a_mail_transaction(
    clock: PausedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns, server = Turns(), MailServer()
    monkeypatch.setattr(smtp, "check_lease", turns.look)
    send = aiosmtplib.SMTP.send_message
    monkeypatch.setattr(aiosmtplib.SMTP, "send_message", turns.before(send))

    async with mail(server, clock) as sender:
        await sender.send(command_of("email"))

    assert server.commands.count("DATA") == 1
    assert turns.seen == [False]


async def test_nothing_runs_between_the_look_at_the_lease_and_the_text_of_a_message(
    clock: PausedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns, server = Turns(), MailServer()
    monkeypatch.setattr(smtp, "check_lease", turns.look)
    monkeypatch.setattr(SMTPProtocol, "write", turns.before_text(SMTPProtocol.write))

    async with mail(server, clock) as sender:
        await sender.send(command_of("email"))

    assert turns.seen == [False]
