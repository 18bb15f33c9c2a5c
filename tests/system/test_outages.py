"""What happens when the broker or the database goes away? Roles stay up, say so, and go on when it is back."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import msgspec
import pytest

from adapters.local.jars import find_jars, find_java
from adapters.local.kafka import ManagedKafka
from adapters.local.postgres import ManagedPostgres
from adapters.roles.context import open_context
from deploy.proof.processes import LOOK_SECONDS, ProcessGroup, RoleProcess
from tests.pace import bound
from tests.system.conftest import deployed
from tests.system.town import Town, settled

pytestmark = pytest.mark.system

NOTICE_SECONDS = bound(30.0)
BACK_SECONDS = bound(60.0)
"""Retries back off to 10 s; a group is joined again after its session."""

WAIT = re.compile("waits for the |is being |finishes its work")
"""How a partition says what it waits for, beside the sentence about the server."""

ON_DATABASE = ("projector", "gateway", "deliverer", "api")


class Servers:
    """A broker and a database that can be taken away."""

    def __init__(self, folder: Path) -> None:
        self.kafka = ManagedKafka(folder / "kafka", java=find_java(), jars=find_jars())
        self.postgres = ManagedPostgres(folder / "postgres", durable=False)

    async def stop(self) -> None:
        await asyncio.gather(self.kafka.stop(), self.postgres.stop())


@pytest.fixture
async def servers(data_dir: Path) -> AsyncIterator[Servers]:
    found = Servers(data_dir)
    await asyncio.gather(found.kafka.start(), found.postgres.start())
    yield found
    await found.stop()


async def test_roles_outlive_the_broker_and_the_database_say_so_and_lose_nothing(servers: Servers, tmp_path: Path) -> None:
    settings = deployed(servers.kafka.bootstrap, servers.postgres.dsn, tmp_path, "outage")
    deployment = ProcessGroup(tmp_path, settings)
    try:
        town = await settled(deployment, schedulers=1)
        async with open_context(settings) as context:
            await town.load(context, 50)
            await database_away(town, servers)
            await town.load(context, 50)
            await town.at_rest(context)
        async with open_context(settings) as context:
            await town.load(context, 50)
        await broker_away(town, servers)
        async with open_context(settings) as context:
            await town.load(context, 50)
            await town.at_rest(context)
        assert set(deployment.stop().values()) == {0}
    finally:
        deployment.kill()


async def database_away(town: Town, servers: Servers) -> None:
    await servers.postgres.stop()
    roles = [town.deployment[name] for name in ON_DATABASE]
    await asyncio.gather(*(until_said(role, "PostgreSQL at ") for role in roles))
    await assert_alive(town)
    for name in ("scheduler-1", "accounts", "intake"):
        assert (await town.deployment[name].ready())[0], "it has no business with the database"
    await servers.postgres.start()
    await asyncio.gather(*(role.until_ready(seconds=BACK_SECONDS) for role in roles))


async def broker_away(town: Town, servers: Servers) -> None:
    await servers.kafka.stop()
    roles = list(town.deployment.roles.values())
    await asyncio.gather(*(until_said(role, f"Kafka at {servers.kafka.bootstrap} does not answer (") for role in roles))
    async with httpx.AsyncClient(timeout=20.0) as client:
        answer = await client.post(f"{town.deployment['api'].url}/api/v1/leads", json=town.submission())
    assert (answer.status_code, answer.json()["code"]) == (503, "events_unavailable"), answer.text
    await assert_alive(town)
    await servers.kafka.start()
    await asyncio.gather(*(role.until_ready(seconds=BACK_SECONDS) for role in roles))


async def until_said(role: RoleProcess, beginning: str) -> None:
    """Wait until `/readyz` names the server that is away, and describes every wait in plain words."""
    deadline = time.monotonic() + NOTICE_SECONDS
    problems: dict[str, str] = {}
    while time.monotonic() < deadline:
        is_ready, words = await role.ready()
        problems = {} if is_ready else msgspec.json.decode(words)["problems"]
        named = [words for words in problems.values() if words.startswith(beginning)]
        if named and all(words.startswith(beginning) or WAIT.search(words) for words in problems.values()):
            return
        await asyncio.sleep(LOOK_SECONDS)
    raise AssertionError(f"{role.name} does not say in plain words that a server is away: {problems}\n{role.tail()}")


async def assert_alive(town: Town) -> None:
    for role in town.deployment.roles.values():
        assert role.is_running, role.tail()
        assert (await live(role)).is_success, role.name


async def live(role: RoleProcess) -> httpx.Response:
    async with httpx.AsyncClient(timeout=5.0) as client:
        return await client.get(f"{role.health_url}/livez")
