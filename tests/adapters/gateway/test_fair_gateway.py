"""Does a company get its share of a gateway while another one floods it, or sends to endpoints that do not answer?"""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any, Self

import msgspec
import pytest

from adapters.gateway import circuit as circuit_module
from adapters.gateway import priority_semaphore as slots_module
from adapters.gateway.addresses import networks
from adapters.gateway.channels import CONCURRENT_MAX, Channel, call_channel, email_channel, sms_channel, webhook_channel
from adapters.gateway.circuit import FAILURES_MAX, IN_FLIGHT_MAX, Circuit, Endpoint
from adapters.gateway.ports import DeliveryResult, Kind, Report
from adapters.gateway.signing import shown_secret
from adapters.gateway.webhook import SignedWebhooks
from schemas.commands import Command, PostWebhook
from schemas.records import OutgoingWebhook, Record
from schemas.requests import OutcomeRecorded
from tests.adapters.gateway.providers import Webhook
from tests.adapters.gateway.receiver import Receiver
from tests.adapters.gateway.test_webhook import KEY, SECRET, Book, record_of
from tests.adapters.gateway.world import MemoryDeliveries, StillClock, command_of, running, town, until

GREEDY, OTHER = 1, 2
FLOOD = 600


def flood(kind: Kind, count: int = FLOOD, **given: Any) -> list[Any]:
    """Orders of the greedy company, more urgent than anything."""
    return [command_of(kind, number, company_id=GREEDY, priority=-1e6, **given) for number in range(1, count + 1)]


def few(kind: Kind, count: int = 8, **given: Any) -> list[Any]:
    """Orders of the other company."""
    contact = "2|+1305556{:04d}".format
    numbers = range(FLOOD + 1, FLOOD + count + 1)
    return [command_of(kind, n, company_id=OTHER, contact_key=contact(n), **given) for n in numbers]


class Hanging:
    """Providers of all channels that say nothing to the greedy company."""

    name = "hanging"

    def __init__(self) -> None:
        self.hung: Counter[int] = Counter()

    async def place(self, command: Command, report: Report) -> DeliveryResult | None:
        assert callable(report)
        return await self._answer(command, "connected_human")

    async def send(self, command: Command) -> DeliveryResult | None:
        return await self._answer(command, "accepted")

    async def press(self, command: Command) -> bool:
        return False

    hang_up = press

    async def _answer(self, command: Command, outcome: str) -> DeliveryResult | None:
        if command.company_id == GREEDY:
            self.hung[GREEDY] += 1
            await asyncio.Future()
        return DeliveryResult(outcome=outcome)


class HangingWebhooks(Webhook):
    """Endpoint 7 says nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.hung: Counter[int] = Counter()

    async def post(self, command: PostWebhook) -> DeliveryResult | None:
        if command.outgoing_webhook_id == 7:
            self.hung[command.company_id] += 1
            await asyncio.Future()
        return await super().post(command)


@pytest.mark.parametrize(("kind", "channel"), [("call", call_channel), ("sms", sms_channel), ("email", email_channel)])
async def test_a_company_whose_orders_hang_leaves_slots_for_another_one(kind: Kind, channel: Callable[..., Channel]) -> None:
    provider = Hanging()
    count = CONCURRENT_MAX[kind] + 100

    async with town(kind) as place, running(place, channel(provider), MemoryDeliveries()):
        await place.append(*flood(kind, count))
        await until(lambda: provider.hung[GREEDY] >= CONCURRENT_MAX[kind] // 2)
        await place.append(*few(kind))

        assert len(await place.outcome(8)) == 8
        assert provider.hung[GREEDY] == CONCURRENT_MAX[kind] // 2


async def test_webhooks_of_one_company_on_a_hanging_endpoint_do_not_hold_up_those_of_another_or_its_own_elsewhere() -> None:
    sender = HangingWebhooks()
    elsewhere = command_of("webhook", 5_000, company_id=GREEDY, outgoing_webhook_id=8)

    async with town("webhook") as place, running(place, webhook_channel(sender), MemoryDeliveries()):
        await place.append(*flood("webhook"))
        await until(lambda: sender.hung[GREEDY] >= IN_FLIGHT_MAX)
        await place.append(*few("webhook", outgoing_webhook_id=8), elsewhere)

        assert len(await place.outcome(9)) == 9
        assert sender.hung[GREEDY] == IN_FLIGHT_MAX


async def test_orders_of_a_company_that_holds_its_share_are_passed_over_and_those_of_another_taken_in() -> None:
    sender = HangingWebhooks()

    async with (
        town("webhook") as place,
        running(place, webhook_channel(sender), MemoryDeliveries(), queued_max=200) as gateway,
    ):
        await place.append(*flood("webhook"), *few("webhook", outgoing_webhook_id=8))

        assert len(await place.outcome(8)) == 8
        assert gateway._partitions[0].watermark == 0
        assert gateway._partitions[0].deferred == {GREEDY}


class Receivers:
    """Two real receivers on this machine: webhook 7 of the greedy company, and webhook 8 of the other one."""

    def __init__(self) -> None:
        self.greedy, self.other = Receiver(shown_secret(KEY)), Receiver(shown_secret(KEY))

    async def __aenter__(self) -> Self:
        await self.greedy.start()
        await self.other.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.greedy.stop()
        await self.other.stop()

    def sender(self, **options: Any) -> SignedWebhooks:
        given = {
            "deployment_secret": SECRET,
            "allowed": networks(["127.0.0.0/8"]),
            "retry_delays_seconds": (0.0, 0.0),
            **options,
        }
        return SignedWebhooks(Book(self._record(7, GREEDY), self._record(8, OTHER)), StillClock(), **given)

    def _record(self, webhook_id: int, company_id: int) -> Record:
        port = (self.greedy if company_id == GREEDY else self.other).port
        webhook = OutgoingWebhook(name="CRM", url=f"http://127.0.0.1:{port}/hooks")
        return msgspec.structs.replace(record_of(webhook, company_id=company_id), id=webhook_id)


async def test_over_real_sockets_a_receiver_that_hangs_does_not_hold_up_the_webhooks_of_another_company() -> None:
    async with Receivers() as receivers, town("webhook") as place:
        receivers.greedy.delay_seconds = 3_600.0
        sender = receivers.sender(answer_seconds=3_600.0)
        async with running(place, webhook_channel(sender), MemoryDeliveries()):
            await place.append(*flood("webhook"))
            await until(lambda: len(receivers.greedy.received) >= IN_FLIGHT_MAX)
            await place.append(*few("webhook", outgoing_webhook_id=8))
            outcomes = await place.outcome(8)
        await sender.close()

    assert len(receivers.other.received) == 8
    assert [outcome for _, outcome in outcomes] == ["accepted"] * 8
    assert len(receivers.greedy.received) == IN_FLIGHT_MAX


async def test_webhooks_wait_for_an_endpoint_that_fails_and_go_out_when_it_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(circuit_module, "PAUSE_SECONDS_MIN", 0.5)
    async with Receivers() as receivers, town("webhook") as place:
        receivers.greedy.answers = [503]
        sender = receivers.sender()
        endpoint = sender.endpoint_of(command_of("webhook"))
        async with running(place, webhook_channel(sender), MemoryDeliveries()):
            await place.append(*flood("webhook", 60))
            await until(lambda: not endpoint._circuit.is_closed)
            receivers.greedy.answers = [200]
            outcomes = await place.outcome(60)
        await sender.close()

    found = Counter(outcome for _, outcome in outcomes)
    assert found.keys() <= {"accepted", "failed"}
    assert found.total() == 60
    assert found["accepted"] >= 60 - IN_FLIGHT_MAX


async def test_a_webhook_whose_endpoint_does_not_recover_has_failed_without_a_try(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots_module, "WAIT_SECONDS_MIN", 0.3)
    monkeypatch.setattr(slots_module, "WAIT_SECONDS_MAX", 0.3)
    async with Receivers() as receivers, town("webhook") as place:
        receivers.greedy.answers = [503]
        sender = receivers.sender()
        async with running(place, webhook_channel(sender), MemoryDeliveries()):
            await place.append(*flood("webhook", 60))
            await place.outcome(60)
            said = [one for one in await place.said() if isinstance(one, OutcomeRecorded)]
        await sender.close()

    untried = [one for one in said if (one.detail or "").startswith("not tried: 127.0.0.1")]
    assert [one.outcome for one in said] == ["failed"] * 60
    assert 60 - IN_FLIGHT_MAX <= len(untried) < 60
    assert len(receivers.greedy.received) == 3 * (60 - len(untried))


def test_a_circuit_opens_after_failures_in_a_row_and_each_probe_decides() -> None:
    circuit = Circuit()
    for _ in range(FAILURES_MAX - 1):
        circuit.failed("a", 0.0)
    circuit.succeeded()
    opened = [circuit.failed("a", 100.0) for _ in range(FAILURES_MAX + 1)]
    assert opened == [False] * (FAILURES_MAX - 1) + [True, False]
    assert (circuit.opens_at, circuit.allows(104.9), circuit.allows(105.0)) == (105.0, False, True)

    pauses = []
    for at in (200.0, 300.0, 400.0, 500.0):
        circuit.begin("probe")
        assert not circuit.allows(at)
        assert circuit.failed("probe", at)
        assert not circuit.failed("probe", at)  # its second try
        pauses.append(circuit.opens_at - at)
    assert pauses == [10.0, 20.0, 30.0, 30.0]

    circuit.begin("probe")
    circuit.succeeded()
    assert circuit.is_closed
    assert circuit.failures == 0


def test_a_probe_that_tried_nothing_leaves_its_place_to_the_next() -> None:
    circuit = Circuit()
    for _ in range(FAILURES_MAX):
        circuit.failed("a", 0.0)
    circuit.begin("probe")

    assert not circuit.end("another")
    assert not circuit.allows(99.0)
    assert circuit.end("probe")
    assert circuit.allows(99.0)


async def test_when_a_circuit_is_half_open_one_of_those_who_wait_goes_out_and_its_success_lets_all_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(circuit_module, "PAUSE_SECONDS_MIN", 0.02)
    endpoint, went = Endpoint(1, "example.org"), asyncio.Event()
    under_way: list[int] = []
    for number in range(FAILURES_MAX):
        endpoint.failed(f"failed-{number}")

    async def deliver(number: int) -> float:
        left = await endpoint.wait(60.0)
        while not endpoint.begin(str(number)):
            left = await endpoint.wait(left)
        under_way.append(number)
        await went.wait()
        endpoint.succeeded()
        endpoint.end(str(number))
        return left

    tasks = [asyncio.create_task(deliver(number)) for number in range(10)]
    await until(lambda: under_way)
    await asyncio.sleep(0.05)
    assert len(under_way) == 1
    went.set()

    assert all(0 < left < 60 for left in await asyncio.gather(*tasks))


async def test_deliveries_give_up_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(circuit_module, "GIVE_UP_STEP_SECONDS", 0.5)
    endpoint, loop = Endpoint(1, "example.org"), asyncio.get_running_loop()
    for _ in range(FAILURES_MAX):
        endpoint.failed("a")
    steps: list[float] = []

    async def wait(seconds: float) -> None:
        assert await endpoint.wait(seconds) == 0
        steps.append(loop.time() // 0.5)

    await asyncio.sleep(0.51 - loop.time() % 0.5)  # a step has just begun
    began = loop.time() // 0.5
    await asyncio.gather(*(wait(seconds) for seconds in (0.5, 0.55, 0.6, 0.65, 1.1)))

    assert steps == [began + 1] * 4 + [began + 2], "each gave up in a moment of its own"


async def test_who_waits_for_a_circuit_in_vain_gets_a_refusal() -> None:
    endpoint = Endpoint(1, "example.org")
    for _ in range(FAILURES_MAX):
        endpoint.failed("a")

    assert await endpoint.wait(0.01) == 0
    assert endpoint.refusal() == "not tried: example.org has failed 5 times in a row, and did not recover in time"
