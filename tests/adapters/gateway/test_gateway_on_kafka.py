"""Do fences, restarts and order hold on a real broker too, where every transaction ends in a record that nobody reads?"""

from collections.abc import AsyncIterator

import pytest

from adapters.gateway.channels import call_channel, sms_channel, webhook_channel
from engine.partition.runner import TopicNames
from schemas.topics import COMMANDS_CALL, COMMANDS_SMS, COMMANDS_WEBHOOK, CONTACTS_REQUESTS, DEADLETTER
from tests.adapters.gateway.providers import Sms, Voice
from tests.adapters.gateway.test_fair_gateway import HangingWebhooks, few, flood
from tests.adapters.gateway.world import MemoryDeliveries, Town, command_of, fence_of, running, until
from tests.adapters.kafka_world import KafkaWorld

TOPICS = (COMMANDS_CALL, COMMANDS_SMS, COMMANDS_WEBHOOK, CONTACTS_REQUESTS, DEADLETTER)


@pytest.fixture
async def world(kafka_bootstrap: str, topic_prefix: str) -> AsyncIterator[KafkaWorld]:
    world = KafkaWorld(kafka_bootstrap, topic_prefix)
    await world.create(*(topic.name for topic in TOPICS))
    yield world
    await world.close()


async def test_a_fenced_order_is_dropped_and_the_next_goes_at_once(world: KafkaWorld, topic_prefix: str) -> None:
    voice, place = Voice(), Town(world.log, "call", 2, TopicNames(topic_prefix))
    command = command_of("call")

    await place.append(command, fence_of(command), command_of("call", 2))
    async with running(place, call_channel(voice), MemoryDeliveries()):
        first = await place.outcome(2)
        await place.append(command_of("call", 3), partition=1)
        await until(lambda: "command-3" in voice.asked)

    assert dict(first) == {"command-1": "rejected_at_gate", "command-2": "connected_human"}
    assert voice.asked == ["command-2", "command-3"]


async def test_a_gateway_that_starts_again_goes_on_where_it_was(world: KafkaWorld, topic_prefix: str) -> None:
    sms, place, deliveries = Sms(), Town(world.log, "sms", 2, TopicNames(topic_prefix)), MemoryDeliveries()

    for number in range(1, 11):
        await place.append(command_of("sms", number), partition=number % 2)
    async with running(place, sms_channel(sms), deliveries):
        await place.outcome(10)
        # Every order stands in a transaction of its own: five orders and five control records in each partition.
        await until(lambda: sorted(saved.offset for _, saved in deliveries.saved.values()) == [10, 10])
    deliveries.rows.clear()
    await place.append(command_of("sms", 11))
    async with running(place, sms_channel(sms), deliveries):
        await place.outcome(11)

    assert sorted(sms.asked) == sorted(f"command-{number}" for number in range(1, 12))


async def test_a_backlog_of_one_company_on_a_hanging_endpoint_holds_up_no_webhook_of_another(
    world: KafkaWorld, topic_prefix: str
) -> None:
    sender, place = HangingWebhooks(), Town(world.log, "webhook", 2, TopicNames(topic_prefix))

    await place.append(*flood("webhook"), *few("webhook", outgoing_webhook_id=8))
    async with running(place, webhook_channel(sender), MemoryDeliveries(), queued_max=400):
        outcomes = await place.outcome(8)

    assert [outcome for _, outcome in outcomes] == ["accepted"] * 8
    assert len(sender.asked) == 8


async def test_what_there_is_no_room_for_is_read_again(world: KafkaWorld, topic_prefix: str) -> None:
    sms, place = Sms(), Town(world.log, "sms", 2, TopicNames(topic_prefix))
    commands = [command_of("sms", number, contact_key=f"1|{number % 10}") for number in range(60)]

    await place.append(*commands, fence_of(commands[-1], commands[-1].lead_id))
    async with running(place, sms_channel(sms), MemoryDeliveries(), queued_max=16):
        outcomes = dict(await place.outcome(60))

    assert outcomes["command-59"] == "rejected_at_gate"
    assert len(sms.asked) == len(set(sms.asked)) == 59
    for contact in range(10):
        asked = [name for name in sms.asked if int(name.removeprefix("command-")) % 10 == contact]
        assert asked == sorted(asked, key=lambda name: int(name.removeprefix("command-")))
