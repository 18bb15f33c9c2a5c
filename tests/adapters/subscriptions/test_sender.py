"""Are events sent signed, in order and to the end? Over real HTTP, from a real PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook

from adapters.gateway.addresses import networks
from adapters.gateway.guarded_client import GuardedClient
from adapters.gateway.signing import shown_secret, signing_key
from adapters.postgres.pool import Pool, open_pool
from adapters.subscriptions.ports import NewDelivery
from adapters.subscriptions.sender import ANSWER_SECONDS, GAVE_UP, GONE, IN_FLIGHT_OF_SUBSCRIPTION_MAX, Sender
from engine.rules import Rules
from schemas.instant import DAY
from schemas.records import Record, Subscription, plain
from tests.adapters.gateway.receiver import Receiver
from tests.adapters.subscriptions.test_store import NOON, World, event
from tests.pace import bound

SECRET = "a secret of the deployment, long enough"
WAIT_SECONDS = bound(20.0)


def secret_of(subscription_id: int = 5, generation: int = 1) -> str:
    return shown_secret(signing_key(SECRET, "subscription", 1, subscription_id, generation))


class Town:
    """A store with a sender, and one receiver for each subscription."""

    def __init__(self, pool: Pool) -> None:
        self.world = World(pool)
        self.rules = Rules()
        self.versions: dict[int, int] = {}
        self.now = NOON

    def subscribe(self, url: str, *, subscription_id: int = 5, **more: Any) -> None:
        version = self.versions[subscription_id] = self.versions.get(subscription_id, 0) + 1
        body = Subscription(name="s", url=url, events=("lead_ended",), **more)
        record = Record(
            type="subscription",
            id=subscription_id,
            uuid="u",
            company_id=1,
            version=version,
            sequence=version,
            created_at=NOON,
            updated_at=NOON,
            body=plain(body),
        )
        self.rules.apply(0, record)

    @asynccontextmanager
    async def sending(self, *, delays: tuple[float, ...] = (0.05, 0.1), allowed: str = "127.0.0.1") -> AsyncIterator[Sender]:
        client = GuardedClient(allowed=networks([allowed]), own_ports=(), answer_seconds=ANSWER_SECONDS, connections_max=64)
        sender = Sender(
            self.world.store,
            lambda: self.rules,
            client,
            deployment_secret=SECRET,
            domain_now=lambda: self.now,
            retry_delays_seconds=delays,
            rest_seconds_max=0.01,
            poll_seconds=0.02,
        )
        stop = asyncio.Event()
        running = asyncio.create_task(sender.run(stop, asyncio.Event()))
        try:
            yield sender
        finally:
            stop.set()
            await running
            await client.close()

    async def until(self, *expected: str) -> None:
        """Wait until the states of all events, in order of their names, are these."""

        async def states() -> tuple[str, ...]:
            return tuple(state for _, state in sorted((await self.world.states()).items()))

        await reach(states, expected)


async def reach(read: Callable[[], Awaitable[Any]], expected: Any) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while await read() != expected:
            await asyncio.sleep(0.02)


@pytest.fixture
async def town(migrated_database: str) -> AsyncIterator[Town]:
    pool = await open_pool(migrated_database)
    yield Town(pool)
    await pool.close()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    opened = Receiver(secret_of())
    await opened.start()
    yield opened
    await opened.stop()


def url_of(receiver: Receiver) -> str:
    return f"http://127.0.0.1:{receiver.port}/events"


async def test_an_event_is_posted_with_a_signature_that_a_stock_library_takes(town: Town, receiver: Receiver) -> None:
    town.subscribe(url_of(receiver))
    await town.world.add(event("a"))

    async with town.sending():
        await town.until("delivered")

    [got] = receiver.received
    assert (got.method, got.is_genuine, got.headers["webhook-id"], got.json()) == ("POST", True, "a", {"name": "a"})
    [attempt] = await town.world.reads.attempts(1)
    assert (attempt["status"], attempt["detail"]) == (200, "thanks")


async def test_an_event_that_fails_is_sent_again_under_its_id_until_it_is_accepted(town: Town, receiver: Receiver) -> None:
    town.subscribe(url_of(receiver))
    receiver.answers = [500, 404, 204]
    await town.world.add(event("a"))

    async with town.sending():
        await town.until("delivered")

    assert [got.headers["webhook-id"] for got in receiver.received] == ["a", "a", "a"]
    assert len({got.body for got in receiver.received}) == 1


async def test_a_receiver_that_accepts_nothing_to_the_end_is_disabled_and_the_rest_is_kept(
    town: Town, receiver: Receiver
) -> None:
    town.subscribe(url_of(receiver))
    receiver.answers = [500]
    await town.world.add(event("a", lead_id=1), event("b", lead_id=1))

    async with town.sending():
        await town.until("failed", "waiting")
        await reach(town.world.store.disabled, {5})

    assert len(receiver.received) == 3
    [standing] = (await town.world.reads.standings(1, [5])).values()
    assert (standing["disabled_reason"], standing["waiting_count"], standing["failed_count"]) == (GAVE_UP, 1, 1)


async def test_after_it_is_enabled_what_waited_is_sent(town: Town, receiver: Receiver) -> None:
    town.subscribe(url_of(receiver))
    receiver.answers = [410, 200]
    await town.world.add(event("a"))
    async with town.sending():
        await town.until("failed")
        await reach(town.world.store.disabled, {5})
        await town.world.add(event("b"))
        [standing] = (await town.world.reads.standings(1, [5])).values()
        assert standing["disabled_reason"] == GONE

        await town.world.reads.enable(1, 5)
        await town.until("failed", "delivered")

    assert [got.headers["webhook-id"] for got in receiver.received] == ["a", "b"]


async def test_the_events_of_a_lead_arrive_in_order_while_one_of_them_fails(town: Town, receiver: Receiver) -> None:
    town.subscribe(url_of(receiver))
    receiver.answers = [200, 500, 500, 200]
    await town.world.add(*(event(f"{number}", lead_id=1) for number in range(5)))

    async with town.sending():
        await town.until(*["delivered"] * 5)

    assert [got.headers["webhook-id"] for got in receiver.received] == ["0", "1", "1", "1", "2", "3", "4"]


async def test_for_a_day_after_a_rotation_both_secrets_are_valid_then_the_new_one(town: Town, receiver: Receiver) -> None:
    town.subscribe(url_of(receiver))
    town.subscribe(url_of(receiver), secret_generation=2, secret_rotated_at=NOON)
    async with town.sending():
        town.now = NOON + DAY - 1
        await town.world.add(event("a"))
        await town.until("delivered")
        town.now = NOON + DAY
        await town.world.add(event("b"))
        await town.until("delivered", "delivered")

    during, after = receiver.received
    assert (during.is_genuine, after.is_genuine) == (True, False)
    for got in (during, after):
        assert Webhook(secret_of(generation=2)).verify(got.body, got.headers) == got.json()


async def test_a_paused_subscription_is_sent_to_once_it_goes_on(town: Town, receiver: Receiver) -> None:
    town.subscribe(url_of(receiver), paused=True)
    await town.world.add(event("a"))

    async with town.sending():
        await asyncio.sleep(0.2)
        assert receiver.received == []
        town.subscribe(url_of(receiver))
        await town.until("delivered")


async def test_nothing_is_sent_to_a_private_address_or_a_redirect(town: Town, receiver: Receiver) -> None:
    town.subscribe(url_of(receiver))
    await town.world.add(event("a"))

    async with town.sending(allowed="10.1.2.3"):
        await town.until("failed")

    assert receiver.received == []
    assert "not on the public internet" in (await town.world.reads.attempts(1))[0]["detail"]
    receiver.answers = [302]
    await town.world.add(event("b"))
    await town.world.reads.enable(1, 5)
    async with town.sending():
        await town.until("failed", "failed")
    assert {got.target for got in receiver.received} == {"/events"}


async def test_a_receiver_that_hangs_takes_its_own_places_alone(town: Town, receiver: Receiver) -> None:
    slow = Receiver(secret_of(6))
    slow.delay_seconds = 5.0
    await slow.start()
    town.subscribe(url_of(slow), subscription_id=6)
    town.subscribe(url_of(receiver))
    await town.world.add(*(event(f"slow {number}", subscription_id=6) for number in range(20)))
    await town.world.add(*(event(f"{number}") for number in range(20)))

    async with town.sending() as sender:
        await town.until(*["delivered"] * 20)
        assert sum(1 for one in sender._sending.values() if one.subscription_id == 6) <= IN_FLIGHT_OF_SUBSCRIPTION_MAX
        slow.delay_seconds = 0.0
    await slow.stop()


async def test_what_a_process_had_claimed_when_it_died_is_sent_by_another(town: Town, receiver: Receiver) -> None:
    town.subscribe(url_of(receiver))
    await town.world.add(event("a"))
    await town.world.claim(claimant="a process that dies")

    async with town.sending():
        await asyncio.sleep(0.1)
        assert receiver.received == []
        await town.world.shift("leased_until", 31)
        await town.until("delivered")


async def test_a_stop_finishes_what_is_under_way(town: Town, receiver: Receiver) -> None:
    town.subscribe(url_of(receiver))
    receiver.delay_seconds = 0.5
    await town.world.add(event("a"))

    async with town.sending() as sender:
        while not sender._sending:
            await asyncio.sleep(0.01)

    assert await town.world.states() == {"a": "delivered"}


async def test_thousands_of_events_are_each_delivered_once(town: Town, receiver: Receiver) -> None:
    town.subscribe(url_of(receiver))
    deliveries: list[NewDelivery] = [event(f"{number}", lead_id=number % 50) for number in range(1_000)]
    await town.world.add(*deliveries)

    async with town.sending(), town.sending():
        await town_delivers(town, len(deliveries))

    got = [received.headers["webhook-id"] for received in receiver.received]
    assert sorted(got) == sorted(one.webhook_id for one in deliveries)
    of_lead = [int(name) for name in got if int(name) % 50 == 7]
    assert of_lead == sorted(of_lead)


async def town_delivers(town: Town, count: int) -> None:
    async def delivered() -> int:
        found: int = await town.world.pool.fetchval(
            "SELECT count(*) FROM work.subscription_deliveries WHERE state = 'delivered'"
        )
        return found

    async with asyncio.timeout(6 * WAIT_SECONDS):
        while await delivered() < count:
            await asyncio.sleep(0.1)
