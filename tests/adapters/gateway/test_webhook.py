"""Does a webhook go where it may, signed, and nowhere else?"""

import ssl
import tracemalloc
from collections.abc import AsyncIterator
from ipaddress import ip_address
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from standardwebhooks.webhooks import Webhook

from adapters.gateway.addresses import ForbiddenAddressError, is_allowed, networks, resolve
from adapters.gateway.bodies import body_of
from adapters.gateway.channels import webhook_channel
from adapters.gateway.ports import WebhookSender
from adapters.gateway.resolver import Resolver
from adapters.gateway.signing import SIGNED_TYPES, shown_secret, signature_headers, signing_key
from adapters.gateway.webhook import SignedWebhooks
from engine.rules import Rules
from schemas.records import OutgoingWebhook, Record
from tests.adapters.gateway.receiver import Receiver
from tests.adapters.gateway.webhook_contract import WebhookContract
from tests.adapters.gateway.world import NOON, LeapingClock, MemoryDeliveries, StillClock, command_of, running, town

SECRET = "a deployment secret of the tests, 32 characters"
CERTIFICATE = Path(__file__).with_name("localhost.pem")
KEY = signing_key(SECRET, "outgoing_webhook", 1, 7, 1)


def record_of(webhook: OutgoingWebhook, *, version: int = 1, company_id: int = 1, deleted: bool = False) -> Record:
    return Record(
        type="outgoing_webhook",
        id=7,
        uuid="webhook-7",
        company_id=company_id,
        version=version,
        sequence=version,
        created_at=NOON,
        updated_at=NOON,
        deleted_at=NOON if deleted else None,
        body=msgspec.to_builtins(webhook),
    )


class Book:
    """Rules that learn more when they are read again."""

    def __init__(self, *records: Record, unread: tuple[Record, ...] = ()) -> None:
        self.rules = Rules()
        self.refreshed = 0
        self._unread = unread
        for record in records:
            self.rules.apply(0, record)

    async def refresh(self) -> None:
        self.refreshed += 1
        for record in self._unread:
            self.rules.apply(0, record)


class Local:
    """A sender that may post to this machine, and a receiver there."""

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        self.url = f"http://127.0.0.1:{receiver.port}/hooks?x=1"
        self.sender: WebhookSender = self.with_webhook()

    def with_webhook(self, **given: Any) -> SignedWebhooks:
        return self.with_book(Book(record_of(OutgoingWebhook(**{"name": "CRM", "url": self.url, **given}))))

    def with_book(self, book: Book, **given: Any) -> SignedWebhooks:
        options = {"deployment_secret": SECRET, "allowed": networks(["127.0.0.0/8"]), "retry_delays_seconds": (0.0, 0.0)}
        return SignedWebhooks(book, StillClock(), **{**options, **given})


@pytest.fixture
async def bureau() -> AsyncIterator[Local]:
    receiver = Receiver(shown_secret(KEY))
    await receiver.start()
    yield Local(receiver)
    await receiver.stop()


class TestSignedWebhooks(WebhookContract):
    """The whole contract."""


def test_each_generation_of_each_webhook_of_each_company_has_a_key_of_its_own() -> None:
    keys = {signing_key(SECRET, *parts) for parts in product(SIGNED_TYPES, (1, 2), (1, 2), (1, 2))}

    assert len(keys) == 16
    assert len(KEY) == 32
    assert signing_key(SECRET, "outgoing_webhook", 1, 7, 1) == KEY


def test_the_shown_secret_verifies_what_the_key_signs() -> None:
    headers = signature_headers((KEY,), "id", b'{"a":1}')

    assert Webhook(shown_secret(KEY)).verify(b'{"a":1}', headers) == {"a": 1}


@pytest.mark.parametrize(
    ("address", "is_public"),
    [
        ("93.184.215.14", True),
        ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", True),
        ("127.0.0.1", False),
        ("127.8.8.8", False),
        ("0.0.0.0", False),  # noqa: S104 - refused
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("172.32.0.1", True),
        ("192.168.1.1", False),
        ("100.64.0.1", False),
        ("169.254.169.254", False),
        ("224.0.0.1", False),
        ("239.255.255.250", False),
        ("255.255.255.255", False),
        ("198.18.0.1", False),
        ("::", False),
        ("::1", False),
        ("fd00:ec2::254", False),
        ("fe80::1", False),
        ("ff02::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:169.254.169.254", False),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::a9fe:a9fe", False),
        ("2002:7f00:1::", False),
        ("64:ff9b::808:808", True),
        ("64:ff9b:1::7f00:1", False),
        ("::ffff:0:7f00:1", False),
        ("::7f00:1", False),
        ("fec0::1", False),
        ("100::1", False),
        ("5f00::1", False),
        ("fe80::5efe:7f00:1", False),
    ],
)
def test_only_public_addresses_are_posted_to(address: str, is_public: bool) -> None:
    assert is_allowed(ip_address(address)) == is_public


def test_an_operator_allows_networks_and_nothing_beside_them() -> None:
    allowed = networks(["10.20.0.0/16", "fd12::/32", "127.0.0.1"])

    for address in ("10.20.3.4", "fd12::5", "127.0.0.1", "::ffff:10.20.3.4"):
        assert is_allowed(ip_address(address), allowed)
    for address in ("10.21.0.1", "fd13::5", "127.0.0.2"):
        assert not is_allowed(ip_address(address), allowed)


@pytest.mark.parametrize(
    "host",
    ["localhost", "127.0.0.1", "::1", "127.1", "2130706433", "0x7f.1", "017700000001", "0", "\uff11\uff12\uff17.0.0.1"],
)
async def test_no_spelling_of_this_machine_gets_through(host: str) -> None:
    resolver = Resolver()
    with pytest.raises((ForbiddenAddressError, OSError)):
        await resolve(host, resolver)
    await resolver.close()


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/",
        "http://localhost:{port}/",
        "http://[::ffff:127.0.0.1]:{port}/",
        "http://user:pass@127.0.0.1:{port}/",
        "http://169.254.169.254/latest/meta-data/",
        "file:///etc/passwd",
        "ftp://127.0.0.1/",
        "http://",
        "nonsense",
        "http://[::1",
        "http://a..b:{port}/",
        f"http://{'a' * 70}.com/",
    ],
)
async def test_a_webhook_to_a_place_that_is_not_public_reaches_nobody(bureau: Local, url: str) -> None:
    webhook = OutgoingWebhook(name="CRM", url=url.replace("{port}", str(bureau.receiver.port)))
    sender = bureau.with_book(Book(record_of(webhook)), allowed=())

    result = await sender.post(command_of("webhook"))

    assert result.outcome == "failed"
    assert result.detail
    assert bureau.receiver.received == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"])
async def test_a_webhook_to_a_port_of_our_own_reaches_nobody_although_the_network_is_allowed(
    bureau: Local, host: str
) -> None:
    webhook = OutgoingWebhook(name="CRM", url=f"http://{host}:{bureau.receiver.port}/hooks")
    own_ports: set[int] = set()
    sender = bureau.with_book(Book(record_of(webhook)), own_ports=own_ports)
    own_ports.add(bureau.receiver.port)  # the API's own port is known only once it listens

    result = await sender.post(command_of("webhook"))

    assert result.outcome == "failed"
    assert "belongs to this deployment itself" in (result.detail or "")
    assert bureau.receiver.received == []


async def test_a_name_is_connected_to_at_the_address_that_was_checked(bureau: Local) -> None:
    sender = bureau.with_webhook(url=f"http://localhost:{bureau.receiver.port}/x")

    result = await sender.post(command_of("webhook"))

    (received,) = bureau.receiver.received
    assert result.outcome == "accepted"
    assert received.headers["host"] == f"localhost:{bureau.receiver.port}"


async def test_a_name_that_leads_elsewhere_a_moment_later_gains_nothing(bureau: Local) -> None:
    asked = []

    class Changing(Resolver):
        async def addresses(self, host: str) -> list[str]:
            asked.append(host)
            return [
                "127.0.0.2" if len(asked) == 1 else "127.0.0.1"
            ]  # nobody listens on the first, the receiver on the second

    book = Book(record_of(OutgoingWebhook(name="CRM", url=f"http://hooks.example.com:{bureau.receiver.port}/")))
    sender = bureau.with_book(book, allowed=networks(["127.0.0.2"]), resolver=Changing())

    result = await sender.post(command_of("webhook"))

    assert result.outcome == "failed"
    assert "not on the public internet" in (result.detail or "")  # the second try asked again, and was not let go there
    assert asked == ["hooks.example.com"] * 2
    assert bureau.receiver.received == []


async def test_over_tls_the_certificate_is_that_of_the_name(bureau: Local) -> None:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(CERTIFICATE)
    secure = Receiver(shown_secret(KEY))
    await secure.start(server)

    trusting = ssl.create_default_context(cafile=str(CERTIFICATE))
    named = Book(record_of(OutgoingWebhook(name="CRM", url=f"https://localhost:{secure.port}/")))
    unnamed = Book(record_of(OutgoingWebhook(name="CRM", url=f"https://127.0.0.1:{secure.port}/")))
    accepted = await bureau.with_book(named, tls=trusting).post(command_of("webhook"))
    mistaken = await bureau.with_book(unnamed, tls=trusting).post(command_of("webhook"))
    untrusted = await bureau.with_book(named).post(command_of("webhook"))
    await secure.stop()

    assert (accepted.outcome, mistaken.outcome, untrusted.outcome) == ("accepted", "failed", "failed")
    assert len(secure.received) == 1
    assert secure.names[0] == "localhost"


async def test_the_record_sets_method_path_and_headers_but_not_ours(bureau: Local) -> None:
    headers = {"X-Api-Key": "k", "Webhook-Id": "forged", "Host": "evil", "Content-Length": "1", "User-Agent": "CRM bridge"}
    sender = bureau.with_webhook(method="PUT", headers=headers)

    await sender.post(command_of("webhook"))

    (received,) = bureau.receiver.received
    assert (received.method, received.target, received.is_genuine) == ("PUT", "/hooks?x=1", True)
    assert received.headers["x-api-key"] == "k"
    assert received.headers["webhook-id"] == "command-1"
    assert received.headers["host"] == f"127.0.0.1:{bureau.receiver.port}"
    assert received.headers["user-agent"] == "CRM bridge"


async def test_a_template_of_the_record_is_filled_and_signed(bureau: Local) -> None:
    sender = bureau.with_webhook(body_template='{"who":"{{first_name}}","id":{{lead.id}},"none":"{{missing}}"}')
    payload = {"data": {"lead": {"id": 5, "data": {"first_name": 'Ada "the" \n Zoë'}}}}

    await sender.post(command_of("webhook", payload=payload))

    (received,) = bureau.receiver.received
    assert received.json() == {"who": 'Ada "the" \n Zoë', "id": 5, "none": ""}
    assert received.is_genuine


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("text/plain", '"A"', '"A"'),
        ("application/json; charset=utf-8", '"A"\n', '\\"A\\"\\n'),
        ("application/x-www-form-urlencoded", "Ann&admin=1 é", "Ann%26admin%3D1+%C3%A9"),
        ("application/x-www-form-urlencoded", {"a": "b&c"}, "%7B%22a%22%3A%22b%26c%22%7D"),
        ("application/x-www-form-urlencoded", 5.0, "5"),
        ("text/xml", "</name><admin a='1'>&\"", "&lt;/name&gt;&lt;admin a=&apos;1&apos;&gt;&amp;&quot;"),
    ],
)
def test_a_value_in_a_body_is_escaped_as_its_content_type_wants(kind: str, value: Any, text: str) -> None:
    webhook = OutgoingWebhook(name="CRM", url="u", headers={"content-Type": kind}, body_template="{{first_name}}!")

    assert body_of(webhook, {"data": {"lead": {"data": {"first_name": value}}}}) == f"{text}!".encode()


async def test_a_body_that_is_too_large_is_given_up_before_it_is_put_together(bureau: Local) -> None:
    sender = bureau.with_webhook(body_template="{{lead}}" * 4_000)
    payload = {"data": {"lead": {"id": 5, "data": {"a": "x" * 250_000}}}}
    tracemalloc.start()

    result = await sender.post(command_of("webhook", payload=payload))

    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (result.outcome, result.detail) == ("failed", "the text would have more than 500000 characters")
    assert bureau.receiver.received == []
    assert peak_bytes < 5_000_000


async def test_a_slow_receiver_is_given_up(bureau: Local) -> None:
    bureau.receiver.delay_seconds = 0.6
    book = Book(record_of(OutgoingWebhook(name="CRM", url=bureau.url)))

    result = await bureau.with_book(book, answer_seconds=0.1).post(command_of("webhook"))

    assert result.outcome == "failed"
    assert "Timeout" in (result.detail or "")


async def test_an_endless_answer_is_cut_off(bureau: Local) -> None:
    bureau.receiver.body = b"x" * 20_000_000

    result = await bureau.sender.post(command_of("webhook"))

    assert result is not None
    assert result.outcome == "accepted"


async def test_no_try_is_made_after_not_after() -> None:
    receiver, clock = Receiver(shown_secret(KEY)), LeapingClock()
    await receiver.start()
    receiver.answers = [500]
    book = Book(record_of(OutgoingWebhook(name="CRM", url=f"http://127.0.0.1:{receiver.port}/")))
    sender = SignedWebhooks(book, clock, deployment_secret=SECRET, allowed=networks(["127.0.0.1"]))

    await sender.post(command_of("webhook", not_after=NOON + 2_000))
    await receiver.stop()

    assert len(receiver.received) == 2  # at once, and after 1 s; another 3 s would be too late


@pytest.mark.parametrize(
    ("book", "detail"),
    [
        pytest.param(Book(), "does not exist", id="unknown"),
        pytest.param(Book(record_of(OutgoingWebhook(name="", url="u"), deleted=True)), "does not exist", id="deleted"),
        pytest.param(Book(record_of(OutgoingWebhook(name="", url="u"), company_id=2)), "does not exist", id="another's"),
        pytest.param(Book(record_of(OutgoingWebhook(name="", url="u", paused=True))), "paused", id="paused"),
    ],
)
async def test_a_webhook_that_may_not_be_used_fails_with_the_reason(bureau: Local, book: Book, detail: str) -> None:
    result = await bureau.with_book(book).post(command_of("webhook"))

    assert result.outcome == "failed"
    assert detail in (result.detail or "")


async def test_rules_older_than_the_order_are_read_again(bureau: Local) -> None:
    old = record_of(OutgoingWebhook(name="CRM", url="http://127.0.0.1:1/"))
    new = record_of(OutgoingWebhook(name="CRM", url=bureau.url), version=2)
    book = Book(old, unread=(new,))

    result = await bureau.with_book(book).post(command_of("webhook", webhook_version=2))

    assert (result.outcome, book.refreshed) == ("accepted", 1)


async def test_an_order_on_the_topic_reaches_the_receiver(bureau: Local) -> None:
    async with town("webhook") as place, running(place, webhook_channel(bureau.sender), MemoryDeliveries()):
        await place.append(command_of("webhook"))
        outcomes = await place.outcome()

    assert outcomes == [("command-1", "accepted")]
    assert [received.is_genuine for received in bureau.receiver.received] == [True]
