"""Does a deployment go on after a topic was lost, by what the page about losses says, with nobody contacted twice?

The witnesses are beside the system: what the mail server and the sandbox were given.
"""

import shutil
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
from aiokafka.admin import AIOKafkaAdminClient

from adapters.gateway.mailbox import read_mail
from tests.system.restorable import Town, restorable_town

pytestmark = pytest.mark.system

LOST = ("contacts.state", "accounts.state", "contacts.requests", "accounts.requests", "accounts.rules", "contacts.decisions")


@pytest.fixture
async def town(open_folder: Path) -> AsyncIterator[Town]:
    async with restorable_town(open_folder) as town:
        yield town


async def delete(town: Town, name: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=town.settings.kafka_bootstrap)
    await admin.start()
    try:
        await admin.delete_topics([town.settings.topic_prefix + name])
    finally:
        await admin.close()


async def given(town: Town, folder: Path) -> Counter[str]:
    """Return how often each address and number was given to a provider."""
    connection = await asyncpg.connect(town.settings.postgres_dsn)
    try:
        rows = await connection.fetch("SELECT command_id FROM work.sandbox_orders")
    finally:
        await connection.close()
    mails = Counter(recipient for mail in read_mail(folder / "mail") for recipient in mail.recipients)
    return mails + Counter(row["command_id"] for row in rows)


async def shown(town: Town) -> dict[int, tuple[str, str | None]]:
    """Return whose lead each id is, by what the projection shows."""
    connection = await asyncpg.connect(town.settings.postgres_dsn)
    try:
        rows = await connection.fetch("SELECT id, uuid::text AS uuid, contact_key FROM read.leads")
    finally:
        await connection.close()
    return {row["id"]: (row["uuid"], row["contact_key"]) for row in rows}


async def test_each_topic_that_is_lost_is_settled_and_nobody_is_contacted_twice(town: Town, open_folder: Path) -> None:
    await town.open()
    town.stop()
    for name in LOST:
        before = await given(town, open_folder)
        assert max(before.values()) == 1
        await delete(town, name)
        status, output = await town.group.command("topics", "create")
        assert (status, f"{town.settings.topic_prefix}{name}" in output) == (1, True), output
        status, output = await town.group.command("recover")
        assert (status, f"{town.settings.topic_prefix}{name}" in output) == (1, True), output

        await town.command("recover", "--settle", "settle", "--reason", f"{name} was deleted")

        assert "every topic is the one" in await town.command("recover")
        await town.start()
        status, output = await town.group.command("recover", "--settle", "settle", "--reason", "too early")
        assert (status, "stop every process first" in output) == (1, True), output
        await town.work()
        town.stop()
        after = await given(town, open_folder)
        assert after - before, "people of the next part are contacted"
        assert max(after.values()) == 1, f"after the loss of {name} somebody was contacted twice"
        status, output = await town.group.command("audit", "verify")
        assert status in {0, 3}, output
    await town.command("projection", "status")


async def test_after_an_older_copy_of_the_log_nobody_is_contacted_whom_the_database_knows(
    town: Town, open_folder: Path
) -> None:
    await town.open()
    town.stop()
    await town.servers.stop()
    town.servers.back_up()
    await town.servers.start()
    await town.start()
    await town.work(is_kept=False)
    town.stop()
    before, leads = await given(town, open_folder), await shown(town)
    await town.servers.stop()
    town.servers.lay_back_the_log()
    await town.servers.start()
    shutil.rmtree(town.settings.state_dir or "")

    for arguments, said in ((), "ends at"), (("--settle", "settle", "--reason", "a disk was lost"), "add --from-copy"):
        status, output = await town.group.command("recover", *arguments)
        assert (status, said in output) == (1, True), output
    printed = await town.command("recover", "--settle", "settle", "--from-copy", "--reason", "a disk was lost")

    assert "is blocked until somebody has looked" in printed
    assert "every topic is the one" in await town.command("recover")
    await town.start()
    await town.work()
    town.stop()
    after = await given(town, open_folder)
    assert after - before, "people of the next part are contacted"
    assert max(after.values()) == 1, "somebody was contacted twice"
    later = await shown(town)
    assert {id_: later[id_] for id_ in leads} == leads, "no new lead has the id of a person of the lost span"
    assert len(later) > len(leads)
    status, output = await town.group.command("audit", "verify")
    assert status in {0, 3}, output
