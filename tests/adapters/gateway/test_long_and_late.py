"""Does a call that outlasts its lease stay with its gateway, and does what comes too late still count?"""

import asyncio

import pytest

from adapters.gateway import gateway as gateway_module
from adapters.gateway.channels import call_channel
from adapters.gateway.leases import LEASE_SECONDS
from adapters.roles.gateway import CLAIMS_RETENTION
from schemas.topics import COMMAND_TOPICS, Topic
from tests.adapters.gateway.providers import Voice, good
from tests.adapters.gateway.world import MemoryDeliveries, command_of, running, town, until


async def test_the_lease_of_a_call_that_outlasts_it_is_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else another gateway takes the call for lost, and says `unknown` of it."""
    monkeypatch.setattr(gateway_module, "RENEWALS_PER_LEASE", 1_000_000)
    voice, deliveries = Voice(), MemoryDeliveries()
    gate = voice.gates["command-1"] = asyncio.Event()

    async with town("call") as place, running(place, call_channel(voice), deliveries):
        await place.append(command_of("call"))
        await until(lambda: voice.asked)
        deliveries.wall += LEASE_SECONDS - 1
        renewed_until = await until(
            lambda: deliveries.rows["command-1"]["until"], lambda ends_at: ends_at >= deliveries.wall + LEASE_SECONDS / 2
        )
        gate.set()
        await place.outcome()

    assert renewed_until >= deliveries.wall + LEASE_SECONDS / 2


async def test_an_opt_out_that_a_gateway_hears_after_it_lost_its_claim_is_posted_all_the_same() -> None:
    voice, deliveries = Voice(good("opted_out")), MemoryDeliveries()
    gate = voice.gates["command-1"] = asyncio.Event()

    async with town("call") as place, running(place, call_channel(voice), deliveries):
        await place.append(command_of("call"))
        await until(lambda: voice.asked)
        deliveries.rows["command-1"]["claimant"] = "another gateway"
        gate.set()
        outcomes = await place.outcome()

    assert outcomes == [("command-1", "opted_out")]


@pytest.mark.parametrize("topic", COMMAND_TOPICS.values(), ids=lambda topic: topic.name)
def test_a_claim_is_known_for_longer_than_its_order_can_be_read(topic: Topic) -> None:
    assert topic.retention_ms is not None
    assert topic.retention_ms < CLAIMS_RETENTION
