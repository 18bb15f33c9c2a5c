"""What may a gateway say of a command that it took over from one that stood still? Not that nobody was reached, unasked."""

import asyncio
from typing import Any

import pytest
from msgspec import structs

from adapters.errors import StoreError
from adapters.gateway.channels import email_channel, sandbox_call_channel, sandbox_sms_channel, webhook_channel
from adapters.gateway.ports import NotPlacedError, SandboxOrders
from adapters.gateway.sandbox import MemoryOrders, SandboxSms, SandboxVoice
from adapters.postgres.deliveries import PostgresDeliveries
from adapters.postgres.provider_orders import PostgresOrders
from adapters.postgres.sandbox_orders import PostgresSandboxOrders
from adapters.providers.testing import call_command
from schemas.instant import DAY, EPOCH, Instant
from tests.adapters.gateway.providers import Email, Webhook
from tests.adapters.gateway.test_contact_holds import Holds
from tests.adapters.gateway.world import (
    NOON,
    LeapingClock,
    MemoryDeliveries,
    MortalDeliveries,
    StillClock,
    command_of,
    fence_of,
    running,
    town,
)

TAKEN_OVER = "UPDATE work.deliveries SET claim_id = 'later', claimant = 'b', taken_over = true"
LOCK_WAITERS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

LATER: Instant = NOON + 365 * DAY
"""When commands are decided that are newer than the database of the test."""


class StoppingOrders:
    """Orders whose process stands still right before it writes one down."""

    def __init__(self, orders: SandboxOrders) -> None:
        self.reached, self.goes, self.has_written = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._orders = orders

    async def begin(self, command_id: str, given_at: Instant, claim_id: str | None) -> bool:
        self.reached.set()
        await self.goes.wait()
        try:
            return await self._orders.begin(command_id, given_at, claim_id)
        finally:
            self.has_written.set()

    async def find(self, command_id: str) -> Instant | None:
        return await self._orders.find(command_id)


def sandbox(kind: str, orders: SandboxOrders) -> Any:
    if kind == "call":
        return sandbox_call_channel(SandboxVoice(LeapingClock(), orders))
    return sandbox_sms_channel(SandboxSms(LeapingClock(), orders))


@pytest.mark.parametrize("kind", ["call", "sms"])
async def test_a_gateway_that_goes_on_after_its_command_was_returned_writes_no_order(pool: Any, kind: Any) -> None:
    orders = PostgresSandboxOrders(pool)
    stopping = StoppingOrders(orders)

    async with town(kind) as place:
        await place.append(command_of(kind, decided_at=LATER))
        async with running(place, sandbox(kind, stopping), PostgresDeliveries(pool)):
            await asyncio.wait_for(stopping.reached.wait(), 60)
            await pool.execute("UPDATE work.deliveries SET leased_until = clock_timestamp() - interval '1 second'")
            async with running(place, sandbox(kind, orders), PostgresDeliveries(pool), holds=Holds(kind)):
                assert await place.outcome() == [("command-1", "held")]
                stopping.goes.set()
                await asyncio.wait_for(stopping.has_written.wait(), 60)

        assert await place.outcomes() == [("command-1", "held")]
    assert await orders.find("command-1") is None


@pytest.mark.parametrize("kind", ["call", "sms"])
async def test_an_order_that_was_written_before_the_hold_is_played_on_by_the_next_gateway(pool: Any, kind: Any) -> None:
    orders = PostgresSandboxOrders(pool)
    await PostgresDeliveries(pool).claim("command-1", claimant="a", claim_id="a1", lease_seconds=-1.0, **about(kind))
    assert await orders.begin("command-1", NOON, "a1")

    async with town(kind) as place:
        await place.append(command_of(kind, decided_at=LATER))
        async with running(place, sandbox(kind, orders), PostgresDeliveries(pool), holds=Holds(kind)):
            ((_, outcome),) = await place.outcome()

    assert outcome == {"call": "connected_human", "sms": "delivered"}[kind]


class FailingOrders(MemoryOrders):
    """Orders of a database that is away a few times: a process that stood still finds its connections closed."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left, self.is_back = times, asyncio.Event()

    async def begin(self, command_id: str, given_at: Instant, claim_id: str | None) -> bool:
        if self.left:
            self.left -= 1
            raise StoreError("connection was closed in the middle of operation")
        self.is_back.set()
        return await super().begin(command_id, given_at, claim_id)


@pytest.mark.parametrize("kind", ["call", "sms"])
async def test_an_order_that_cannot_be_written_down_is_given_once_the_database_is_back(kind: Any) -> None:
    orders = FailingOrders(3)

    async with town(kind) as place:
        await place.append(command_of(kind))
        async with running(place, sandbox(kind, orders), MemoryDeliveries()):
            ((_, outcome),) = await place.outcome()

    assert outcome == {"call": "connected_human", "sms": "delivered"}[kind]


@pytest.mark.parametrize("kind", ["call", "sms"])
async def test_an_order_that_cannot_be_written_down_before_its_command_expires_is_not_given(kind: Any) -> None:
    clock = StillClock()

    class Away(FailingOrders):
        async def begin(self, *_: Any) -> bool:
            clock.instant = NOON + 2
            raise StoreError("the database is away")

    async with town(kind) as place:
        await place.append(command_of(kind, not_after=NOON + 1))
        async with running(place, sandbox(kind, Away(0)), MemoryDeliveries(), clock=clock):
            assert await place.outcome() == [("command-1", "expired")]


@pytest.mark.parametrize("kind", ["call", "sms"])
async def test_an_order_that_waits_for_the_database_is_returned_for_a_hold_that_comes_meanwhile(kind: Any) -> None:
    orders, holds = FailingOrders(10**6), Holds()

    async with town(kind) as place:
        await place.append(command_of(kind))
        async with running(place, sandbox(kind, orders), MemoryDeliveries(), holds=holds):
            while orders.left == 10**6:
                await asyncio.sleep(0.005)
            holds.channels.add(kind)
            assert await place.outcome() == [("command-1", "held")]

    assert await orders.find("command-1") is None


def about(kind: Any) -> dict[str, Any]:
    return {"company_id": 1, "kind": kind, "claimed_at": NOON}


STORES: dict[str, Any] = {
    "sandbox": lambda pool: PostgresSandboxOrders(pool).begin("c1", EPOCH, "a1"),
    "providers": lambda pool: PostgresOrders(pool).begin(call_command(), "call", 7, claim_id="a1"),
}


@pytest.mark.parametrize("store", STORES)
async def test_an_order_is_written_down_while_its_claim_lasts_and_never_after(pool: Any, store: str) -> None:
    begin, deliveries = STORES[store], PostgresDeliveries(pool)

    assert not await begin(pool)
    await deliveries.claim("c1", claimant="a", claim_id="a1", lease_seconds=-1.0, **about("call"))
    assert await begin(pool)
    await deliveries.record("c1", claimant="a", claim_id="a1", outcome=b"", recorded_at=NOON)
    assert not await begin(pool)


@pytest.mark.parametrize("store", STORES)
async def test_an_order_is_written_before_a_take_over_or_not_at_all(pool: Any, store: str) -> None:
    await PostgresDeliveries(pool).claim("c1", claimant="a", claim_id="a1", lease_seconds=-1.0, **about("call"))

    async with pool.acquire() as taking_over:
        async with taking_over.transaction():
            await taking_over.execute(TAKEN_OVER)
            writing = asyncio.create_task(STORES[store](pool))
            deadline = asyncio.get_running_loop().time() + 60
            while not await pool.fetchval(LOCK_WAITERS):  # a transaction would see the same answer for ever
                assert asyncio.get_running_loop().time() < deadline
                await asyncio.sleep(0.005)
        assert not await asyncio.wait_for(writing, 60)

    assert await PostgresSandboxOrders(pool).find("c1") is None
    assert await PostgresOrders(pool).find(1, "c1") is None


REFUSALS = [(kind, why) for kind in ("email", "webhook") for why in ("held", "recalled", "expired", "not placed")]


@pytest.mark.parametrize(("kind", "why"), [row for row in REFUSALS if row != ("webhook", "held")])
async def test_what_nobody_can_be_asked_about_is_unknown_where_it_may_not_go_again(kind: Any, why: str) -> None:
    provider: Any = Email() if kind == "email" else Webhook()
    channel: Any = email_channel(provider) if kind == "email" else webhook_channel(provider)
    deliveries, command = MemoryDeliveries(), command_of(kind, not_after=NOON + 1)
    if why == "not placed":

        async def refuse(*_: Any) -> Any:
            raise NotPlacedError("the server cannot be reached")

        channel = structs.replace(channel, act=refuse)

    async with town(kind) as place:
        dying = MortalDeliveries(deliveries, "claim", after=True)
        async with running(place, channel, dying):
            await place.append(command)
            await asyncio.wait_for(dying.dead.wait(), 60)
        deliveries.wall += 31
        if why == "recalled":
            await place.append(fence_of(command, command_ids=(command.command_id,)))
        clock = StillClock(NOON + 2 if why == "expired" else NOON)
        holds = Holds("email") if why == "held" else Holds()
        async with running(place, channel, deliveries, clock=clock, holds=holds):
            assert await place.outcome() == [("command-1", "unknown")]

    assert provider.asked == []
