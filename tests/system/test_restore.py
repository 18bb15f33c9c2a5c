"""What comes back after a loss, as the page about backups says? A database, a topic and a cluster are lost here."""

import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from pathlib import Path

import asyncpg
import pytest
from aiokafka.admin import AIOKafkaAdminClient
from msgspec.structs import replace

from adapters.gateway.mailbox import Mailbox
from adapters.local.jars import find_jars, find_java
from adapters.local.kafka import ManagedKafka
from adapters.local.postgres import ManagedPostgres, installations
from adapters.local.process import LOCALHOST
from adapters.roles.context import open_context
from adapters.settings import Settings
from deploy.proof.company import make_company
from deploy.proof.load import post
from deploy.proof.processes import ProcessGroup
from deploy.proof.rest import until_at_rest
from deploy.proof.run import audit, recount
from deploy.proof.submissions import SentSubmission, submissions
from deploy.proof.verdict import Accepted, table
from schemas.topics import CONTACTS_STATE, LEADS_INBOX
from tests.pace import bound
from tests.system.conftest import deployed

pytestmark = pytest.mark.system

PART = 60
"""Submissions between two events; few, because what is lost does not depend on how much."""

REST_SECONDS = bound(180.0)
ROLES = ("accounts", "scheduler", "intake", "projector", "gateway")


class Servers:
    """A broker and a database in a folder, which can be copied, lost and laid back while they are stopped."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._data, self._backup = folder / "data", folder / "backup"
        self.kafka = ManagedKafka(self._data / "kafka", java=find_java(), jars=find_jars())
        self.postgres = ManagedPostgres(self._data / "postgres")

    async def start(self) -> None:
        await self.kafka.start()
        await self.postgres.start()

    async def stop(self) -> None:
        await self.kafka.stop()
        await self.postgres.stop()

    def back_up(self) -> None:
        subprocess.run(["cp", "-a", str(self._data), str(self._backup)], check=True)

    def lose_all_and_restore(self) -> None:
        shutil.rmtree(self._data)
        subprocess.run(["cp", "-a", str(self._backup), str(self._data)], check=True)


class Town:
    """A deployment on those servers, and the load that it gets part by part."""

    def __init__(self, folder: Path, servers: Servers, settings: Settings) -> None:
        self.servers, self.settings = servers, settings
        self.group = ProcessGroup(folder, settings)
        self.sent: Iterator[SentSubmission] = iter(())
        self.accepted = Accepted(ids=set(), bad={}, records=0)

    async def open(self) -> None:
        """Start every role, make the company, and work on the first part."""
        await self.group.prepare()
        await self.start()
        company = await make_company(self.settings)
        self.sent = submissions(3 * PART, company, self.settings.topic_prefix + LEADS_INBOX.name)
        await self.work()

    async def start(self) -> None:
        for role in ROLES:
            if role in self.group.roles:
                self.group[role].start()
            else:
                self.group.add(role)
        await self.group.until_ready()

    def stop(self) -> None:
        statuses = self.group.stop()
        assert set(statuses.values()) == {0}, statuses

    async def work(self, *, is_kept: bool = True) -> None:
        """Post a part and wait until all of it is carried out and shown; what is lost later is not counted as accepted."""
        async with open_context(self.settings) as context:
            posted = await post(context, islice(self.sent, PART))
            leads = len(self.accepted.ids | posted.ids)
            await until_at_rest(context, self.settings.postgres_dsn, leads=leads, seconds=REST_SECONDS)
        if is_kept:
            self.accepted.ids |= posted.ids
            self.accepted.bad |= posted.bad
            self.accepted.records += posted.records

    async def count(self) -> None:
        """Count everything that was accepted, and verify the audit, while every role is stopped."""
        async with open_context(self.settings) as context:
            rows, _ = await recount(context, self.accepted, {})
        audited, _ = await audit(self.group)
        rows += audited
        assert all(row.holds for row in rows), "\n" + table(rows)

    async def command(self, *arguments: str) -> str:
        status, output = await self.group.command(*arguments)
        assert status == 0, output
        return output


@pytest.fixture
async def servers(open_folder: Path) -> AsyncIterator[Servers]:
    running = Servers(open_folder)
    await running.start()
    yield running
    await running.stop()


@pytest.fixture
async def town(open_folder: Path, servers: Servers) -> AsyncIterator[Town]:
    mailbox = Mailbox(open_folder / "mail")
    await mailbox.start()
    settings = deployed(servers.kafka.bootstrap, servers.postgres.dsn, open_folder, "town")
    own = {"smtp_host": LOCALHOST, "smtp_port": mailbox.port, "smtp_starttls": False, "partitions": 2}
    town = Town(open_folder, servers, replace(settings, **own))
    try:
        yield town
    finally:
        town.group.kill()
        await mailbox.stop()


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
