"""Do gateways that serve different channels carry out everything between them, on a real Kafka?"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from adapters import clock as clock_module
from adapters.clock import wall_now
from adapters.gateway import circuit as circuit_module
from adapters.gateway.circuit import FAILURES_MAX
from adapters.gateway.ports import DeliveryResult, Report
from adapters.observability.metrics import Metrics
from adapters.partitions.routing import partition_of
from adapters.postgres.circuits import PostgresCircuits
from adapters.postgres.gateways import PostgresServing
from adapters.postgres.pool import open_pool
from adapters.reads.ports import Serving
from adapters.roles import gateway as gateway_role
from adapters.roles.context import open_context, prepare
from adapters.roles.gateway import GatewayRole
from adapters.roles.group_membership import GroupMembership
from adapters.settings import ChannelName, Settings
from engine.partition.ports import Outgoing
from schemas.commands import Command, HangUp, PlaceCall, PressKeys, SendSms
from schemas.instant import DAY, HOUR
from schemas.records import OutgoingWebhook, rules_key
from schemas.wire import to_json
from tests.adapters.gateway.receiver import Receiver
from tests.adapters.gateway.test_webhook import record_of
from tests.adapters.gateway.world import Town, command_of, until
from tests.pace import bound

PARTITIONS = 3
WAIT_SECONDS = bound(60.0)
FORMER_DRAIN_SECONDS = 7.0
"""A stop once waited for 5 s, whatever its providers were at; how long a test lets them work is no assertion about time."""


@pytest.fixture
async def settings(kafka_bootstrap: str, topic_prefix: str, migrated_database: str) -> Settings:
    return Settings(
        kafka_bootstrap=kafka_bootstrap,
        topic_prefix=topic_prefix,
        partitions=PARTITIONS,
        postgres_dsn=migrated_database,
        secret_key="a secret of the tests, 32 characters long",
        sandbox=("call", "sms"),
        smtp_host="127.0.0.1",
    )


@asynccontextmanager
async def gateway(settings: Settings, *channels: ChannelName) -> AsyncIterator[Metrics]:
    sandbox = tuple(channel for channel in settings.sandbox if channel in channels)
    metrics = Metrics()
    stop = asyncio.Event()
    async with open_context(replace(settings, channels=channels, sandbox=sandbox)) as context:
        await prepare(context)
        running = asyncio.create_task(GatewayRole(context, metrics).run(stop))
        try:
            yield metrics
        finally:
            stop.set()
            await running


def partitions_of(metrics: Metrics, topic: str) -> set[str]:
    """Return the partitions of a topic that a gateway works on: it tells how far behind it is on each."""
    lines = metrics.text().decode().splitlines()
    return {line.split('partition="')[1][0] for line in lines if line.startswith("leadclock_lag_records{") and topic in line}


async def test_each_channel_has_all_its_partitions_served_by_the_gateways_that_serve_it(settings: Settings) -> None:
    everything = {str(partition) for partition in range(PARTITIONS)}

    async with gateway(settings, "call") as calls, gateway(settings, "email", "webhook") as others:
        async with asyncio.timeout(WAIT_SECONDS):
            while (
                partitions_of(calls, "commands.call") != everything
                or partitions_of(others, "commands.email") != everything
                or partitions_of(others, "commands.webhook") != everything
            ):
                await asyncio.sleep(0.1)

        assert not partitions_of(calls, "commands.email")
        assert not partitions_of(others, "commands.call")


async def test_a_gateway_says_what_it_serves_until_it_stops_and_counts_for_a_while_afterwards(settings: Settings) -> None:
    pool = await open_pool(settings.postgres_dsn)
    serving = PostgresServing(pool)
    try:
        assert await serving.read() == Serving()
        async with gateway(settings, "call", "webhook"), asyncio.timeout(WAIT_SECONDS):
            while not (found := await serving.read()).channels:
                await asyncio.sleep(0.1)
        stopped = await pool.fetchval("SELECT count(*) FROM work.gateways WHERE stopped_at IS NOT NULL")

        assert found == Serving(channels=frozenset({"call", "webhook"}), sandbox=("call",))
        assert stopped == 2
        assert await serving.read() == found
    finally:
        await pool.close()


async def test_a_gateway_reports_the_host_that_it_spares_until_that_answers(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(circuit_module, "PAUSE_SECONDS_MIN", 1.0)
    monkeypatch.setattr(gateway_role, "RENEW_SECONDS", 0.2)
    receiver = Receiver("whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    receiver.answers = [503]
    await receiver.start()
    local = replace(settings, channels=("webhook",), sandbox=(), webhook_private_networks=("127.0.0.0/8",))
    webhook = record_of(OutgoingWebhook(name="CRM", url=f"http://127.0.0.1:{receiver.port}/hooks?key=s3cret"))
    stop = asyncio.Event()
    async with open_context(local) as context:
        await prepare(context)
        rules = Outgoing(context.names.of("accounts.rules"), rules_key(webhook).encode(), to_json(webhook))
        owner = await context.log.own(context.names.of("accounts.requests"), partition_of(b"1", PARTITIONS))
        await owner.commit([rules])
        await owner.close()
        pool = await open_pool(settings.postgres_dsn)
        circuits = PostgresCircuits(pool)

        async def spared() -> list[tuple[str, bool]]:
            return [(row["endpoint"], row["failure_count"] >= FAILURES_MAX) for row in (await circuits.of_company(1)).rows]

        working = asyncio.create_task(GatewayRole(context, Metrics()).run(stop))
        try:
            place = Town(context.log, "webhook", PARTITIONS, context.names)
            window = {"not_before": 0, "decided_at": wall_now() + DAY}
            await place.append(*(command_of("webhook", number, **window) for number in range(1, 9)))
            assert await until(spared) == [(f"127.0.0.1:{receiver.port}", True)]
            receiver.answers = [200]
            assert await until(spared, lambda found: found == []) == []
            assert len(await place.outcome(8)) == 8
        finally:
            stop.set()
            await working
            await receiver.stop()
            await pool.close()


async def test_a_group_that_cannot_be_followed_ends_the_whole_role(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow = GroupMembership.run

    async def fail_for_emails(self: GroupMembership, stop: asyncio.Event) -> None:
        if self._role == "gateway.email":
            raise RuntimeError("a fault of ours")
        await follow(self, stop)

    monkeypatch.setattr(GroupMembership, "run", fail_for_emails)
    async with open_context(settings) as context:
        await prepare(context)
        with pytest.raises(RuntimeError, match="a fault of ours"):
            async with asyncio.timeout(WAIT_SECONDS):
                await GatewayRole(context, Metrics()).run(asyncio.Event())


class HeldCarrier:
    """Takes texts and calls, and says what came of them once it is let go."""

    name = "held"

    def __init__(self, asked: set[str], let_go: asyncio.Event) -> None:
        self._asked = asked
        self._let_go = let_go

    async def send(self, command: SendSms) -> DeliveryResult:
        self._asked.add(command.command_id)
        await self._let_go.wait()
        return DeliveryResult(outcome="delivered", rang=False)

    async def place(self, command: PlaceCall, _: Report) -> DeliveryResult:
        self._asked.add(command.command_id)
        await self._let_go.wait()
        return DeliveryResult(outcome="busy")

    async def was_given(self, _: Command) -> bool:
        return False

    async def press(self, _: PressKeys) -> bool:
        return False

    async def hang_up(self, _: HangUp) -> bool:
        return False


async def test_a_graceful_stop_waits_for_what_every_channel_has_given_to_its_provider(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: set[str] = set()
    let_go, stop = asyncio.Event(), asyncio.Event()
    for name in ("SandboxSms", "SandboxVoice"):
        monkeypatch.setattr(gateway_role, name, lambda *_: HeldCarrier(asked, let_go))
    async with open_context(settings) as context:
        await prepare(context)
        calls, texts = (Town(context.log, kind, PARTITIONS, context.names) for kind in ("call", "sms"))
        for number in range(1, 11):
            about = {"decided_at": wall_now() + DAY, "not_before": 0}
            await calls.append(command_of("call", number, **about), partition=number % PARTITIONS)
            await texts.append(command_of("sms", 10 + number, **about), partition=number % PARTITIONS)
        working = asyncio.create_task(GatewayRole(context, Metrics()).run(stop))
        await until(lambda: len(asked) == 20)
        stop.set()
        await asyncio.wait({working}, timeout=FORMER_DRAIN_SECONDS)
        let_go.set()
        async with asyncio.timeout(WAIT_SECONDS):
            await working
        outcomes = await calls.outcomes()

    assert len(outcomes) == len(dict(outcomes)) == 20
    assert sorted(dict(outcomes).values()) == ["busy"] * 10 + ["delivered"] * 10


@pytest.mark.parametrize(
    ("public_url", "reason"),
    [
        ("", "LEADCLOCK_PUBLIC_URL is not set"),
        ("http://leads.example.com", "LEADCLOCK_PUBLIC_URL is not https"),
        ("https://leads.example.com", ""),
    ],
)
async def test_a_start_warns_where_people_could_not_unsubscribe(settings: Settings, public_url: str, reason: str) -> None:
    with capture_logs() as logged:
        async with gateway(replace(settings, public_url=public_url), "email") as metrics, asyncio.timeout(WAIT_SECONDS):
            while not partitions_of(metrics, "commands.email"):
                await asyncio.sleep(0.05)

    reasons = [line["reason"] for line in logged if line["event"] == "unsubscribe.incomplete"]
    assert len(reasons) == bool(reason)
    assert all(reason in said for said in reasons)


@pytest.mark.parametrize("hours", [2, -2], ids=["ahead", "behind"])
async def test_a_role_on_a_wrong_clock_is_not_ready_and_drops_nothing_as_late(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    let_go, stop = asyncio.Event(), asyncio.Event()
    let_go.set()
    asked: set[str] = set()
    monkeypatch.setattr(gateway_role, "SandboxSms", lambda *_: HeldCarrier(asked, let_go))
    offsets = [hours * HOUR]
    monkeypatch.setattr(clock_module, "wall_now", lambda: wall_now() + offsets[0])
    async with open_context(replace(settings, channels=("sms",), sandbox=("sms",))) as context:
        await prepare(context)
        texts = Town(context.log, "sms", PARTITIONS, context.names)
        window = {"not_before": 0, "not_after": wall_now() + HOUR, "decided_at": wall_now() + DAY}
        await texts.append(command_of("sms", 1, **window))
        role = GatewayRole(context, Metrics())
        working = asyncio.create_task(role.run(stop))
        try:
            said = await until(lambda: role.problems().get("clock", ""), lambda words: "the database's. " in words)
            assert (" s ahead of the" if hours > 0 else " s behind the") in said
            assert (await texts.outcomes(), asked) == ([], set())
            offsets[0] = 0
            assert await texts.outcome() == [("command-1", "delivered")]
            assert "clock" not in role.problems()
        finally:
            stop.set()
            await working
