"""Is a veto hook asked once, signed, within its time, and is only a clear answer taken as one?"""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from adapters.gateway.channels import webhook_channel
from adapters.gateway.ports import DeliveryResult
from adapters.gateway.signing import shown_secret, signing_key
from schemas.records import Record, Subscription
from schemas.requests import OutcomeRecorded
from tests.adapters.gateway.receiver import Receiver
from tests.adapters.gateway.test_webhook import SECRET, Book, Local
from tests.adapters.gateway.world import NOON, MemoryDeliveries, command_of, running, town

HOOK_KEY = signing_key(SECRET, "subscription", 1, 31, 1)


def subscription_of(url: str, *, company_id: int = 1, version: int = 1, **fields: Any) -> Record:
    body = Subscription(name="CRM", url=url, events=("before_call",), **fields)
    return Record(
        type="subscription",
        id=31,
        uuid="subscription-31",
        company_id=company_id,
        version=version,
        sequence=version,
        created_at=NOON,
        updated_at=NOON,
        body=msgspec.to_builtins(body),
    )


@pytest.fixture
async def local() -> AsyncIterator[Local]:
    receiver = Receiver(shown_secret(HOOK_KEY))
    receiver.body = b'{"allow": true}'
    await receiver.start()
    yield Local(receiver)
    await receiver.stop()


async def ask(local: Local, *records: Record, **command: Any) -> DeliveryResult:
    book = Book(*(records or (subscription_of(local.url),)))
    payload = {"type": "before_call", "data": {}}
    asked = command_of("webhook", outgoing_webhook_id=0, subscription_id=31, payload=payload, **command)
    return await local.with_book(book).post(asked)


async def test_a_question_is_signed_with_the_key_of_its_subscription(local: Local) -> None:
    result = await ask(local)
    (received,) = local.receiver.received
    assert (result.outcome, result.allows) == ("accepted", True)
    assert (received.method, received.is_genuine, received.json()["type"]) == ("POST", True, "before_call")
    assert received.headers["webhook-id"] == "command-1"


@pytest.mark.parametrize(
    ("status", "body", "allows", "detail"),
    [
        (200, b'{"allow": true, "more": [1]}', True, None),
        (201, b'{"allow": false, "reason": "in arrears"}', False, "in arrears"),
        (200, b'{"allow": false, "reason": "' + b"x" * 5_000 + b'"}', False, "x" * 200),
        (500, b'{"allow": true}', None, "it answered 500"),
        (302, b'{"allow": true}', None, "it answered 302"),
        (204, b"", None, "it did not answer"),
        (200, b"yes", None, "it did not answer"),
        (200, b'{"allow": "true"}', None, "it did not answer"),
        (200, b'{"allow": 1}', None, "it did not answer"),
        (200, b"[]", None, "it did not answer"),
    ],
)
async def test_only_a_clear_answer_is_one(
    local: Local, status: int, body: bytes, allows: bool | None, detail: str | None
) -> None:
    local.receiver.answers, local.receiver.body = [status], body
    result = await ask(local)
    assert (result.outcome, result.allows) == ("failed" if allows is None else "accepted", allows)
    assert (result.detail or "").startswith(detail or "")
    assert len(local.receiver.received) == 1  # nothing is asked twice


async def test_the_answer_reaches_the_contact_through_the_log(local: Local) -> None:
    local.receiver.body = b'{"allow": false}'
    sender = local.with_book(Book(subscription_of(local.url)))
    async with town("webhook") as place, running(place, webhook_channel(sender), MemoryDeliveries()):
        await place.append(command_of("webhook", outgoing_webhook_id=0, subscription_id=31))
        await place.outcome()
        (outcome,) = [said for said in await place.said() if isinstance(said, OutcomeRecorded)]
    assert (outcome.command_id, outcome.outcome, outcome.allows) == ("command-1", "accepted", False)


async def test_a_hook_that_takes_longer_than_its_time_has_not_answered(local: Local) -> None:
    local.receiver.delay_seconds = 1.6
    result = await ask(local, subscription_of(local.url, timeout_seconds=1))
    assert (result.outcome, result.allows) == ("failed", None)


async def test_a_hook_at_a_private_address_is_not_asked(local: Local) -> None:
    result = await ask(local, subscription_of("http://10.1.2.3/x"))
    assert result.allows is None
    assert "not on the public internet" in (result.detail or "")


async def test_a_subscription_of_another_company_or_none_is_not_asked(local: Local) -> None:
    for records in ((subscription_of(local.url, company_id=2),), (subscription_of(local.url, company_id=3, version=2),)):
        result = await ask(local, *records)
        assert (result.outcome, result.detail) == ("failed", "the subscription does not exist any more")
    assert local.receiver.received == []


async def test_a_subscription_that_is_paused_is_not_asked(local: Local) -> None:
    result = await ask(local, subscription_of(local.url, paused=True))
    assert (result.outcome, result.allows, result.detail) == ("failed", None, "the subscription is paused")
    assert local.receiver.received == []
