"""Does every event reach its receiver when deliverers are killed under load? Processes on a real Kafka and PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from adapters.gateway.signing import shown_secret, signing_key
from adapters.partitions.feed import RulesTopic
from adapters.roles.context import Context, open_context
from adapters.roles.record_client import RecordClient
from adapters.settings import Settings
from adapters.subscriptions.sender import LEASE_SECONDS
from deploy.proof.company import COMPANY_ID
from deploy.proof.processes import ProcessGroup
from tests.adapters.gateway.receiver import Receiver
from tests.pace import bound
from tests.system.conftest import SECRET_KEY
from tests.system.town import Town, settled

pytestmark = pytest.mark.system

LOOPBACK = "127.0.0.0/8"
LEADS = 400
ARRIVAL_SECONDS = bound(120.0) + LEASE_SECONDS
"""Longer than a busy machine takes, and the lease of what a killed process was sending."""


@pytest.fixture(scope="module")
def town(settings: Settings, folder: Path) -> Iterator[Town]:
    deployment = ProcessGroup(folder, replace(settings, webhook_private_networks=(LOOPBACK,)))
    try:
        made = asyncio.run(settled(deployment, schedulers=1))
        deployment.add("deliverer", "deliverer-2")
        asyncio.run(deployment.until_ready())
        yield made
        statuses = deployment.stop()
    finally:
        deployment.kill()
    assert set(statuses.values()) == {0}, statuses


@pytest.fixture
async def context(settings: Settings) -> AsyncIterator[Context]:
    async with open_context(settings) as opened:
        yield opened


async def subscribe(context: Context, receiver: Receiver) -> None:
    """Let a receiver have the events of leads, and know the key that signs them."""
    appender = await context.log.appender()
    try:
        await context.rules.refresh()
        rules: RulesTopic = context.rules
        records = RecordClient(context.log, context.names, rules, appender, context.clock, company_id=COMPANY_ID)
        url = f"http://127.0.0.1:{receiver.port}/events"
        fields = {"name": "Receiver", "url": url, "events": ["lead_created", "lead_action_started"]}
        subscription_id = await records.ensure("subscription", "name", fields)
    finally:
        await appender.close()
    receiver.secret = shown_secret(signing_key(SECRET_KEY, "subscription", COMPANY_ID, subscription_id, 1))


async def test_deliverers_are_killed_under_load_and_every_event_arrives_signed_and_in_order(
    town: Town, context: Context
) -> None:
    receiver = Receiver("")
    await receiver.start()
    await subscribe(context, receiver)
    for name in ("deliverer", "deliverer-2", "deliverer"):
        await town.load(context, LEADS // 4)
        await asyncio.sleep(0.7)  # some of it is stored, some is under way
        town.deployment[name].kill()
        town.deployment[name].start()
    await town.load(context, LEADS // 4)
    await town.at_rest(context)

    def arrived(event: str) -> dict[int, int]:
        """Return lead -> the place of the first arrival of an event."""
        places: dict[int, int] = {}
        for place, one in enumerate(receiver.received):
            if one.json()["type"] == event:
                places.setdefault(one.json()["data"]["lead_id"], place)
        return places

    async with asyncio.timeout(ARRIVAL_SECONDS):
        while len(arrived("lead_created")) < LEADS or len(arrived("lead_action_started")) < LEADS:
            await asyncio.sleep(0.2)
    await receiver.stop()
    created, started = arrived("lead_created"), arrived("lead_action_started")
    assert len(created) == LEADS
    assert all(created[lead_id] < started[lead_id] for lead_id in started)
    assert all(one.is_genuine for one in receiver.received)
    bodies: dict[str, set[bytes]] = {}
    for one in receiver.received:
        bodies.setdefault(one.headers["webhook-id"], set()).add(one.body)
    assert all(len(found) == 1 for found in bodies.values())
