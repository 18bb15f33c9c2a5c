"""What can be lost and laid back? A broker and a database in one folder, and a deployment on them."""

import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from adapters.gateway.mailbox import Mailbox
from adapters.local.jars import find_jars, find_java
from adapters.local.kafka import ManagedKafka
from adapters.local.postgres import ManagedPostgres
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
from schemas.topics import LEADS_INBOX
from tests.pace import bound
from tests.system.conftest import deployed

PART = 60
"""Submissions between two events; few, because what is lost does not depend on how much."""

PARTS_MAX = 10
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

    def lay_back_the_log(self) -> None:
        """Put the copy of the broker in its place, and leave the database as it is."""
        shutil.rmtree(self._data / "kafka")
        subprocess.run(["cp", "-a", str(self._backup / "kafka"), str(self._data / "kafka")], check=True)

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
        self.sent = submissions(PARTS_MAX * PART, company, self.settings.topic_prefix + LEADS_INBOX.name)
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


@asynccontextmanager
async def restorable_town(folder: Path) -> AsyncIterator[Town]:
    """Run servers, a mail server, and a deployment of two partitions that is not opened yet."""
    servers = Servers(folder)
    await servers.start()
    mailbox = Mailbox(folder / "mail")
    await mailbox.start()
    settings = deployed(servers.kafka.bootstrap, servers.postgres.dsn, folder, "town")
    own = {"smtp_host": LOCALHOST, "smtp_port": mailbox.port, "smtp_starttls": False, "partitions": 2}
    town = Town(folder, servers, replace(settings, **own))
    try:
        yield town
    finally:
        town.group.kill()
        await mailbox.stop()
        await servers.stop()
