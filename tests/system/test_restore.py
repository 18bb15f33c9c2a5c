"""What comes back after a loss, as the page about backups says? A database, a topic and a cluster are lost here."""

import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
from aiokafka.admin import AIOKafkaAdminClient

from adapters.local.postgres import installations
from adapters.roles.context import open_context
from deploy.proof.rest import until_at_rest
from schemas.topics import CONTACTS_STATE
from tests.system.restorable import REST_SECONDS, Town, restorable_town

pytestmark = pytest.mark.system


@pytest.fixture
async def town(open_folder: Path) -> AsyncIterator[Town]:
    async with restorable_town(open_folder) as town:
        yield town


async def empty(dsn: str) -> None:
    """Take away everything of leadclock in a database, as on a new server."""
    connection = await asyncpg.connect(dsn)
    await connection.execute("DROP SCHEMA read CASCADE; DROP SCHEMA work CASCADE")
    await connection.close()


def postgres_program(name: str, *arguments: str) -> bytes:
    """Run a client program of the newest PostgreSQL on this machine."""
    programs = max(installations(), key=lambda one: one.major)
    return subprocess.run([str(programs.bin / name), *arguments], check=True, capture_output=True).stdout


async def test_a_lost_database_is_made_again_and_an_older_dump_is_caught_up(town: Town, tmp_path: Path) -> None:
    await town.open()
    town.stop()
    dump = tmp_path / "read.sql"
    dump.write_bytes(postgres_program("pg_dump", "--schema", "read", town.settings.postgres_dsn))
    await town.start()
    await town.work()
    town.stop()

    await empty(town.settings.postgres_dsn)
    await town.command("db", "migrate")
    await town.start()
    await town.work()
    town.stop()
    await town.command("projection", "verify")
    await town.count()

    await empty(town.settings.postgres_dsn)
    restored = ["--quiet", "--set", "ON_ERROR_STOP=1", "--file", str(dump), town.settings.postgres_dsn]
    postgres_program("psql", *restored)
    status, output = await town.group.command("db", "migrate")
    assert (status, "run `leadclock topics adopt`" in output) == (1, True), output
    await town.command("topics", "adopt")
    await town.command("db", "migrate")
    await town.start()
    async with open_context(town.settings) as context:
        leads = len(town.accepted.ids)
        await until_at_rest(context, town.settings.postgres_dsn, leads=leads, seconds=REST_SECONDS)
    town.stop()
    await town.command("projection", "verify")
    await town.count()


async def test_a_cluster_is_restored_from_a_backup_after_a_topic_or_all_of_it_was_lost(town: Town) -> None:
    await town.open()
    town.stop()
    await town.servers.stop()
    town.servers.back_up()
    await town.servers.start()
    await town.start()
    await town.work(is_kept=False)
    town.stop()

    admin = AIOKafkaAdminClient(bootstrap_servers=town.settings.kafka_bootstrap)
    await admin.start()
    await admin.delete_topics([town.settings.topic_prefix + CONTACTS_STATE.name])
    await admin.close()
    status, output = await town.group.command("doctor")
    assert (status, f"{town.settings.topic_prefix}{CONTACTS_STATE.name}" in output) == (1, True), output

    await town.servers.stop()
    town.servers.lose_all_and_restore()
    await town.servers.start()
    assert town.servers.kafka.bootstrap == town.settings.kafka_bootstrap
    shutil.rmtree(town.settings.state_dir or "")
    await town.command("audit", "verify")
    await town.start()
    await town.work()
    town.stop()
    await town.command("projection", "verify")
    await town.count()
