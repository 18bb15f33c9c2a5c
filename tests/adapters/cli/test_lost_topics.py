"""Does nothing make a topic again that was lost, and does each command name the loss? On a real Kafka and PostgreSQL."""

import asyncio
import shlex
from collections.abc import AsyncIterator

import pytest
from aiokafka.admin import NewPartitions
from click.testing import CliRunner, Result

from adapters.cli.main import cli
from adapters.kafka.topics import prepare_topics
from adapters.postgres.identity import read_identity
from adapters.roles.broker import connection_of
from adapters.roles.context import open_context, specs
from adapters.roles.identity import establish
from adapters.roles.made_topics import find_present
from adapters.settings import load
from engine.partition.ports import Outgoing
from schemas.deployment import Deployment
from schemas.topics import TOPICS
from tests.adapters.kafka_world import Admin, KafkaWorld

PAGE = "deploy/docs/backup.md, What was lost"

ADDED = "impressions"
"""Stands for a topic that a release adds."""


@pytest.fixture(autouse=True)
def settings(kafka_bootstrap: str, database: str, topic_prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"KAFKA_BOOTSTRAP": kafka_bootstrap, "POSTGRES_DSN": database, "TOPIC_PREFIX": topic_prefix, "PARTITIONS": "1"}
    for name, value in values.items():
        monkeypatch.setenv(f"LEADCLOCK_{name}", value)


@pytest.fixture
async def world(kafka_bootstrap: str, topic_prefix: str) -> AsyncIterator[KafkaWorld]:
    opened = KafkaWorld(kafka_bootstrap, topic_prefix)
    yield opened
    await opened.close()


async def ran(line: str, status: int = 0) -> Result:
    result = await asyncio.to_thread(CliRunner().invoke, cli, shlex.split(line))
    assert result.exit_code == status, result.output
    return result


async def present(topic_prefix: str) -> set[str]:
    async with open_context(load()) as context:
        assert context.settings.topic_prefix == topic_prefix
        return set((await find_present(context)).ids)


async def identity() -> Deployment:
    async with open_context(load()) as context:
        await context.rules.refresh()
        assert context.rules.deployment is not None
        return context.rules.deployment


async def test_a_lost_topic_is_named_by_every_command_and_made_by_none(
    world: KafkaWorld, topic_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ran("topics create")
    await ran("db migrate")
    made = await identity()
    assert made.topics.keys() == {topic.name for topic in TOPICS}
    left, lost = {topic.name for topic in TOPICS}, []
    for name in ("contacts.state", "contacts.requests", "accounts.rules"):
        await world.delete(topic_prefix + name)
        lost.append(name)
        left.remove(name)
        for line in ("topics create", "doctor"):
            output = (await ran(line, 1)).output
            assert PAGE in output, line
            assert "--delete" not in output
            assert "-> leadclock topics create" not in output
            for gone in lost:
                assert f"{topic_prefix}{gone} is lost: it was made with the id {made.topics[gone]}" in output, line
        if name != "accounts.rules":  # without it `topics check` does not know what was made
            output = (await ran("topics check", 1)).output
            assert output.count(f"see {PAGE}: it was made once") == len(lost)
            assert "leadclock topics create" not in output
        assert await present(topic_prefix) == left
    monkeypatch.delenv("LEADCLOCK_POSTGRES_DSN")
    await append(f"{topic_prefix}contacts.decisions")
    for line in ("topics create", "doctor"):
        output = (await ran(line, 1)).output
        assert PAGE in output, "also where only the records of other topics say that there was a deployment"
        assert f"{topic_prefix}contacts.decisions hold" in output
    assert await present(topic_prefix) == left


async def append(topic: str) -> None:
    async with open_context(load()) as context:
        appender = await context.log.appender()
        await appender.append(0, [Outgoing(topic, b"key", b"{}")])
        await appender.close()


async def test_a_topic_that_somebody_made_in_the_place_of_a_lost_one_is_not_taken_for_it(
    world: KafkaWorld, topic_prefix: str
) -> None:
    await ran("topics create")
    await ran("db migrate")
    await world.delete(f"{topic_prefix}contacts.state")
    await world.create("contacts.state", partitions=1)
    for line in ("topics create", "doctor"):
        output = (await ran(line, 1)).output
        assert f"{topic_prefix}contacts.state is lost" in output, line
        assert "another one is in its place" in output


async def test_a_topic_that_a_release_adds_is_made_and_listed_and_from_then_on_it_may_be_lost(
    world: KafkaWorld, topic_prefix: str, database: str
) -> None:
    known = [spec for spec in specs(load()) if spec.name != topic_prefix + ADDED]
    await prepare_topics(connection_of(load()), known)
    async with open_context(load()) as context:
        assert ADDED not in (await establish(context)).topics
    await ran("db migrate")
    assert "-> leadclock topics create" in (await ran("doctor", 1)).output

    assert f"created {topic_prefix}{ADDED}" in (await ran("topics create")).output
    made = await identity()
    assert made.topics.keys() == {topic.name for topic in TOPICS}
    stored = await read_identity(database)
    assert stored is not None
    assert stored.topics == made.topics
    assert "created" not in (await ran("topics create")).output

    await world.delete(topic_prefix + ADDED)
    assert f"{topic_prefix}{ADDED} is lost" in (await ran("topics create", 1)).output


async def test_a_first_run_that_broke_off_goes_on_and_what_it_prints_about_partitions_corrects_them(
    world: KafkaWorld,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a broker makes topics by itself for a producer, with one partition, before `topics create` has run."""
    await prepare_topics(connection_of(load()), specs(load())[:2])
    monkeypatch.setenv("LEADCLOCK_PARTITIONS", "2")
    output = (await ran("topics create", 1)).output
    fixes = [line.strip() for line in output.splitlines() if "kafka-topics.sh" in line]
    assert len(fixes) == 2, "the other topics were created with two"
    for fix in fixes:
        await alter(world, fix)
    await ran("topics create")
    made = await identity()
    assert made.partitions == 2
    assert made.topics.keys() == {topic.name for topic in TOPICS}
    assert "fixed for good" in (await ran("topics create --partitions 3", 1)).output


async def test_a_topic_with_more_partitions_than_are_set_before_the_first_run_leads_to_a_deployment_with_as_many(
    world: KafkaWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.create("contacts.state", partitions=2)
    output = (await ran("topics create", 1)).output
    [printed] = [line.strip() for line in output.splitlines() if "topics create --partitions" in line]
    line, _, remark = printed.partition("  # ")
    assert "LEADCLOCK_PARTITIONS" in remark
    output = (await ran(line.removeprefix("leadclock "), 1)).output
    for fix in (found.strip() for found in output.splitlines() if "kafka-topics.sh" in found):
        await alter(world, fix)
    configured = [found.strip() for found in output.splitlines() if "kafka-configs.sh" in found]
    assert configured, "the topic was made without our settings"
    monkeypatch.setenv("LEADCLOCK_PARTITIONS", "2")
    await ran("topics create", 1)
    made = await identity()
    assert made.partitions == 2
    assert made.topics.keys() == {topic.name for topic in TOPICS}
    assert "partitions is" not in (await ran("topics check", 1)).output


async def alter(world: KafkaWorld, line: str) -> None:
    """Do what a printed command of `kafka-topics.sh` does, which is not among our jars."""
    program, *arguments = shlex.split(line)
    arguments.remove("--alter")
    given = dict(zip(arguments[::2], arguments[1::2], strict=True))
    assert (program, given.pop("--bootstrap-server")) == ("kafka-topics.sh", world.connection.bootstrap)
    async with Admin(world.connection) as admin:
        await admin.create_partitions({given.pop("--topic"): NewPartitions(int(given.pop("--partitions")))})
    assert not given


async def test_a_mistyped_prefix_is_answered_by_those_that_exist(topic_prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await ran("topics create")
    await ran("db migrate")
    monkeypatch.setenv("LEADCLOCK_TOPIC_PREFIX", f"{topic_prefix}x")
    for line in ("doctor", "topics create"):
        output = (await ran(line, 1)).output
        assert "there are deployments with the LEADCLOCK_TOPIC_PREFIX" in output, line
    assert await present(f"{topic_prefix}x") == set()
