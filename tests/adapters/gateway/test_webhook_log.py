"""Is each attempt to post a webhook written down, without secrets of the webhook, and without holding the delivery up?"""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from adapters.errors import StoreError
from adapters.gateway.ports import WebhookAttempt
from adapters.gateway.secret_masks import mask_secrets
from adapters.gateway.signing import shown_secret
from schemas.records import OutgoingWebhook
from tests.adapters.gateway.receiver import Receiver
from tests.adapters.gateway.test_webhook import KEY, Book, Local, record_of
from tests.adapters.gateway.world import command_of


class MemoryLog:
    """Keeps attempts, or fails."""

    def __init__(self, error: Exception | None = None) -> None:
        self.attempts: list[WebhookAttempt] = []
        self._error = error

    async def add(self, attempt: WebhookAttempt) -> None:
        if self._error is not None:
            raise self._error
        self.attempts.append(attempt)


@pytest.fixture
async def local() -> AsyncIterator[Local]:
    receiver = Receiver(shown_secret(KEY))
    await receiver.start()
    yield Local(receiver)
    await receiver.stop()


async def post(local: Local, log: MemoryLog, command: Any = None, **webhook: Any) -> str:
    """Post once with a log, and return the outcome."""
    book = Book(record_of(OutgoingWebhook(**{"name": "CRM", "url": local.url, **webhook})))
    return (await local.with_book(book, log=log).post(command or command_of("webhook"))).outcome


async def test_each_attempt_is_written_down_with_its_answer(local: Local) -> None:
    local.receiver.answers, local.receiver.body = [503, 200], b"one\n moment"
    log = MemoryLog()
    command = command_of("webhook", fire_id=5, call_id=8)
    assert await post(local, log, command) == "accepted"
    shown = [(one.number, one.status, one.is_accepted, one.detail) for one in log.attempts]
    assert shown == [(1, 503, False, "one moment"), (2, 200, True, "one moment")]
    first = log.attempts[0]
    assert (first.method, first.host) == ("POST", f"127.0.0.1:{local.receiver.port}")
    assert (first.command, first.milliseconds >= 0) == (command, True)


async def test_an_attempt_that_reaches_nobody_says_why(local: Local) -> None:
    log = MemoryLog()
    assert await post(local, log, url="http://127.0.0.1:1/x") == "failed"
    assert {(one.status, one.is_accepted) for one in log.attempts} == {(None, False)}
    assert len(log.attempts) == 3
    assert all("Connect" in one.detail for one in log.attempts)


async def test_an_attempt_at_a_private_address_is_written_down_and_not_repeated(local: Local) -> None:
    log = MemoryLog()
    assert await post(local, log, url="http://10.1.2.3/x") == "failed"
    (attempt,) = log.attempts
    assert "not on the public internet" in attempt.detail


async def test_an_answer_that_repeats_secrets_is_masked_in_log_and_outcome(local: Local) -> None:
    local.receiver.answers = [400]
    local.receiver.body = b"bad token s3cret-key for ada:pass-word, key=q-secret"
    log = MemoryLog()
    url = f"http://ada:pass-word@127.0.0.1:{local.receiver.port}/hook?key=q-secret"
    book = Book(record_of(OutgoingWebhook(name="CRM", url=url, headers={"Authorization": "Bearer s3cret-key"})))
    result = await local.with_book(book, log=log).post(command_of("webhook"))
    (attempt,) = log.attempts
    assert attempt.detail == "bad token *** for ada:***, key=***"
    assert result.detail == f"400 {attempt.detail}"
    assert attempt.host == f"127.0.0.1:{local.receiver.port}"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("it ends with Bearer long-sec", "it ends with ***"),  # the excerpt was cut off there
        ("Bearer long-secret-value!", "***!"),
        ("long-secret-value", "***"),
        ("two words or two%20words", "*** or ***"),
        ("lon, and yes", "lon, and yes"),  # so short guards nothing
    ],
)
def test_a_secret_is_masked_whole_cut_and_in_both_spellings(text: str, masked: str) -> None:
    url, headers = "https://crm.example.com/?q=two%20words&r=yes", {"Authorization": "Bearer  long-secret-value"}
    assert mask_secrets(text, OutgoingWebhook(name="CRM", url=url, headers=headers)) == masked
    assert mask_secrets(text, OutgoingWebhook(name="CRM", url="https://crm.example.com/")) == text


@pytest.mark.parametrize("error", [StoreError("the database is away"), TimeoutError()])
async def test_a_log_that_cannot_be_written_changes_no_delivery(local: Local, error: Exception) -> None:
    assert await post(local, MemoryLog(error)) == "accepted"
    assert len(local.receiver.received) == 1
