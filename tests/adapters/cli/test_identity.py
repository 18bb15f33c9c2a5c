"""By which commands does a deployment get its identity? On a real Kafka and a real PostgreSQL."""

import asyncio

import pytest

from adapters.cli.main import main
from adapters.postgres.identity import read_identity
from adapters.roles.context import open_context, prepare
from adapters.settings import load
from engine.partition.ports import Outgoing

SUBMISSION = '{"lead_token": "lt_nobody"}'


@pytest.fixture
def settings(kafka_bootstrap: str, database: str, topic_prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"KAFKA_BOOTSTRAP": kafka_bootstrap, "POSTGRES_DSN": database, "TOPIC_PREFIX": topic_prefix, "PARTITIONS": "2"}
    for name, value in values.items():
        monkeypatch.setenv(f"LEADCLOCK_{name}", value)


async def ran(*arguments: str) -> int:
    return await asyncio.to_thread(main, arguments)


@pytest.mark.usefixtures("settings")
@pytest.mark.parametrize(
    "commands", [("topics create", "db migrate"), ("db migrate", "topics create")], ids=["topics first", "database first"]
)
async def test_topics_and_database_that_are_prepared_in_any_order_have_one_identity(
    commands: tuple[str, ...], database: str
) -> None:
    for command in commands:
        assert await ran(*command.split()) == 0
    async with open_context(load()) as context:
        await context.rules.refresh()
        assert context.rules.deployment is not None
        assert await read_identity(database) == context.rules.deployment
    assert await ran("leads", "send", SUBMISSION) == 0
    assert await ran("topics", "create") == 0
    assert await ran("db", "migrate") == 0


@pytest.mark.usefixtures("settings")
async def test_what_an_older_release_used_is_written_to_only_once_it_is_adopted(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_context(load()) as context:
        await prepare(context)
        appender = await context.log.appender()
        await appender.append(0, [Outgoing(context.names.of("contacts.requests"), b"key", b"{}")])
        await appender.close()
    assert await ran("db", "migrate") == 0
    assert "leadclock topics adopt" in capsys.readouterr().err
    for command in (("topics", "create"), ("leads", "send", SUBMISSION), ("keys", "create", "--company", "1")):
        assert await ran(*command) == 1
        assert "leadclock topics adopt" in capsys.readouterr().err
    assert await read_identity(database) is None

    assert await ran("topics", "adopt") == 0
    assert await read_identity(database) is not None
    assert await ran("leads", "send", SUBMISSION) == 0


@pytest.mark.usefixtures("settings")
async def test_the_topics_of_another_deployment_are_not_created_for_a_database_that_has_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], topic_prefix: str
) -> None:
    assert await ran("topics", "create") == 0
    assert await ran("db", "migrate") == 0
    monkeypatch.setenv("LEADCLOCK_TOPIC_PREFIX", f"mistyped-{topic_prefix}")
    for command in ("topics create", "db migrate"):
        assert await ran(*command.split()) == 1
        assert "have no identity, and the database" in capsys.readouterr().err
    monkeypatch.delenv("LEADCLOCK_POSTGRES_DSN")
    assert await ran("leads", "send", SUBMISSION) == 1
    assert f"mistyped-{topic_prefix}" in capsys.readouterr().err
