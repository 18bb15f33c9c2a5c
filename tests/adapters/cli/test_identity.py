"""By which commands does a deployment get its identity? On a real Kafka and a real PostgreSQL."""

import asyncio
import shlex

import asyncpg
import pytest

from adapters.cli.main import main
from adapters.postgres.identity import NotMigratedError, read_identity
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


async def execute(dsn: str, statement: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


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
async def test_topics_of_another_version_are_refused_by_every_command_until_another_prefix_is_given(
    kafka_bootstrap: str,
    topic_prefix: str,
    database: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_context(load()) as context:
        await prepare(context)
        appender = await context.log.appender()
        await appender.append(0, [Outgoing(context.names.of("accounts.rules"), b"deployment/1", b"of another shape")])
        await appender.close()
    for command in (
        *("topics create", "topics check", "topics adopt", "db migrate", "deadletter list", "audit verify"),
        *("providers test twilio", "keys create --company 1", f"leads send '{SUBMISSION}'"),
    ):
        assert await ran(*shlex.split(command)) == 1, command
        refused = capsys.readouterr().err
        assert f"the topics {topic_prefix}* at {kafka_bootstrap} hold data of another development" in refused, command
        assert "then give another LEADCLOCK_TOPIC_PREFIX and run `leadclock topics create`" in refused
    with pytest.raises(NotMigratedError):
        await read_identity(database)

    monkeypatch.setenv("LEADCLOCK_TOPIC_PREFIX", f"fresh-{topic_prefix}")
    assert await ran("topics", "create") == 0
    assert await ran("db", "migrate") == 0
    assert await ran("leads", "send", SUBMISSION) == 0


@pytest.mark.usefixtures("settings")
async def test_a_database_of_another_version_is_refused_by_every_command_until_its_schemas_are_dropped(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await ran("topics", "create") == 0
    assert await ran("db", "migrate") == 0
    await execute(database, "DELETE FROM read.migrations; UPDATE work.migrations SET checksum = 'x' WHERE number = 0")
    for command in ("topics create", "topics adopt", "db migrate", "db status", "keys list --operator", "projection status"):
        assert await ran(*command.split()) == 1, command
        refused = capsys.readouterr().err
        assert ", read, work hold data of another development version" in refused, command
        assert "type DROP SCHEMA read, work CASCADE in psql, and run `leadclock db migrate`" in refused
    await execute(database, "DROP SCHEMA read, work CASCADE")
    assert await ran("db", "migrate") == 0
    assert await ran("db", "status") == 0
    assert await ran("keys", "list", "--operator") == 0


@pytest.mark.usefixtures("settings")
async def test_a_database_that_was_used_without_an_identity_is_adopted_by_its_command_alone(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await ran("topics", "create") == 0
    assert await ran("db", "migrate") == 0
    await execute(database, "INSERT INTO read.positions (topic, partition, topic_id) VALUES ('t', 0, 'id')")
    await execute(database, "DROP SCHEMA work CASCADE")  # as a backup of the read schema alone is restored
    for command in ("db migrate", "topics create"):
        assert await ran(*command.split()) == 1, command
        assert "run `leadclock topics adopt`" in capsys.readouterr().err
        assert await read_identity(database) is None
    assert await ran("topics", "adopt") == 0
    assert await read_identity(database) is not None
    assert await ran("db", "migrate") == 0


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
