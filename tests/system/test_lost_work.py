"""Is no e-mail sent again where the `work` schema was lost, or is an older copy? The witness is the mail server."""

import subprocess
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
from msgspec.structs import replace

from adapters.clock import wall_now
from adapters.gateway.mailbox import Mailbox, read_mail
from adapters.local.postgres import installations
from adapters.local.process import LOCALHOST
from adapters.roles.context import Context, open_context
from deploy.proof.processes import ProcessGroup
from schemas.commands import SendEmail
from schemas.envelope import DecisionNumber
from schemas.instant import EPOCH
from tests.adapters.gateway.world import Town
from tests.system.conftest import deployed

pytestmark = pytest.mark.system

EACH = 20
"""E-mails of each part."""


class Post:
    """A deployment with one gateway, its mail server, and the e-mails that were emitted: each to an address of its own."""

    def __init__(self, group: ProcessGroup, context: Context, mailbox: Mailbox) -> None:
        self.group, self.context, self.mailbox = group, context, mailbox
        self.place = Town(context.log, "email", 1, context.names)
        self.emitted = 0

    async def emit(self, count: int = EACH) -> None:
        for _ in range(count):
            self.emitted += 1
            await self.place.append(_email(self.emitted), number=DecisionNumber(1, self.emitted))

    async def start(self) -> None:
        if "gateway" in self.group.roles:
            self.group["gateway"].start()
        else:
            self.group.add("gateway")
        await self.group.until_ready()

    def stop(self) -> None:
        assert set(self.group.stop().values()) == {0}

    async def outcomes(self, count: int) -> Counter[str]:
        return Counter(outcome for _, outcome in await self.place.outcome(count))

    def delivered(self) -> Counter[str]:
        """Return how often each address got a message."""
        return Counter(recipient for mail in read_mail(self.mailbox.folder) for recipient in mail.recipients)

    async def command(self, *arguments: str) -> None:
        status, output = await self.group.command(*arguments)
        assert status == 0, output


def _email(number: int) -> SendEmail:
    return SendEmail(
        command_id=f"command-{number}",
        company_id=1,
        contact_key=f"1|email:person{number}@example.org",
        lead_id=number,
        lead_uuid=f"lead-{number}",
        step_id="mail",
        enrolment=1,
        attempt=1,
        decided_at=wall_now(),
        not_before=wall_now(),
        to=f"person{number}@example.org",
        from_address="us@example.com",
        subject="Hello",
        body="Dear Ada",
    )


@pytest.fixture
async def post(kafka_bootstrap: str, database: str, topic_prefix: str, open_folder: Path) -> AsyncIterator[Post]:
    mailbox = Mailbox(open_folder / "mail")
    await mailbox.start()
    settings = deployed(kafka_bootstrap, database, open_folder, topic_prefix.rstrip("."))
    mail = {"smtp_host": LOCALHOST, "smtp_port": mailbox.port, "smtp_starttls": False, "channels": ("email",), "sandbox": ()}
    wall = {"clock_wall_at": EPOCH, "clock_domain_at": EPOCH, "clock_speed": 1.0}
    group = ProcessGroup(open_folder, replace(settings, **mail, **wall, partitions=1))
    await group.prepare()
    try:
        async with open_context(group.settings) as context:
            yield Post(group, context, mailbox)
    finally:
        group.kill()
        await mailbox.stop()


async def execute(dsn: str, statement: str) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute(statement)
    await connection.close()


def postgres_program(name: str, *arguments: str) -> bytes:
    programs = max(installations(), key=lambda one: one.major)
    return subprocess.run([str(programs.bin / name), *arguments], check=True, capture_output=True).stdout


async def test_no_email_is_sent_again_where_the_work_schema_was_lost(post: Post, database: str) -> None:
    await post.emit()
    await post.start()
    assert await post.outcomes(EACH) == {"accepted": EACH}
    post.stop()

    await execute(database, "DROP SCHEMA work CASCADE")
    await post.command("db", "migrate")
    await post.emit()
    await post.start()
    assert await post.outcomes(3 * EACH) == {"accepted": 2 * EACH, "unknown": EACH}
    post.stop()
    assert post.delivered() == {f"person{number}@example.org": 1 for number in range(1, 2 * EACH + 1)}


async def test_no_email_is_sent_again_where_an_older_copy_of_the_work_schema_was_restored(
    post: Post, database: str, tmp_path: Path
) -> None:
    await post.emit()
    await post.start()
    assert await post.outcomes(EACH) == {"accepted": EACH}
    post.stop()
    dump = tmp_path / "work.sql"
    dump.write_bytes(postgres_program("pg_dump", "--schema", "work", database))
    await post.emit()
    await post.start()
    assert await post.outcomes(2 * EACH) == {"accepted": 2 * EACH}
    post.stop()

    await execute(database, "DROP SCHEMA work CASCADE")
    postgres_program("psql", "--quiet", "--set", "ON_ERROR_STOP=1", "--file", str(dump), database)
    await post.start()
    assert await post.outcomes(3 * EACH) == {"accepted": 2 * EACH, "unknown": EACH}
    await post.emit()
    assert await post.outcomes(4 * EACH) == {"accepted": 3 * EACH, "unknown": EACH}
    post.stop()
    assert post.delivered() == {f"person{number}@example.org": 1 for number in range(1, 3 * EACH + 1)}
