"""What does a role do that is started while Kafka and PostgreSQL are down? It waits, says so in a line, and goes on."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import httpx
import msgspec
import pytest
from msgspec import structs

from adapters.local.process import LOCALHOST, free_port
from adapters.roles.table import NEEDS_DATABASE, ROLES
from adapters.settings import Settings
from deploy.proof.processes import ProcessGroup, RoleProcess
from tests.pace import bound

pytestmark = pytest.mark.system

WAIT_SECONDS = bound(120.0)
LOOK_SECONDS = 0.2
WAITS_SEEN = 3
"""Attempts that a test looks at: enough to see that the pauses grow."""


@asynccontextmanager
async def forwarded(port: int, target: str) -> AsyncIterator[None]:
    """Let a port lead to a server that is up."""
    host, _, number = target.rpartition(":")

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(host, int(number))
        await asyncio.gather(pump(reader, back), pump(there, writer))

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(forward, LOCALHOST, port)
    try:
        yield
    finally:
        server.close()


def lines(role: RoleProcess) -> list[dict[str, object]]:
    return [msgspec.json.decode(line) for line in role.log.read_bytes().splitlines()]


def waits(role: RoleProcess) -> list[dict[str, object]]:
    return [line for line in lines(role) if "retry_in_seconds" in line]


async def until_it_waited(role: RoleProcess, count: int) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not role.log.exists() or len(waits(role)) < count:
        assert role.is_running, role.tail()
        assert time.monotonic() < deadline, role.tail()
        await asyncio.sleep(LOOK_SECONDS)


async def test_roles_that_are_started_while_their_servers_are_down_wait_in_growing_pauses_and_go_on_when_they_are_up(
    kafka_bootstrap: str, database: str, topic_prefix: str, tmp_path: Path
) -> None:
    up = Settings(
        kafka_bootstrap=kafka_bootstrap,
        topic_prefix=topic_prefix,
        app=f"test-{uuid.uuid4().hex[:8]}",
        postgres_dsn=database,
        secret_key="a secret of thirty-two characters",
        partitions=1,
        sandbox=("call", "sms"),
        channels=("call", "sms"),
    )
    await ProcessGroup(tmp_path, up).prepare()
    kafka_port, postgres_port = free_port(), free_port()
    parts = urlsplit(database)
    user = parts.netloc.rpartition("@")[0]
    down = structs.replace(
        up,
        kafka_bootstrap=f"{LOCALHOST}:{kafka_port}",
        postgres_dsn=urlunsplit(parts._replace(netloc=f"{user}@{LOCALHOST}:{postgres_port}")),
    )
    deployment = ProcessGroup(tmp_path, down)
    roles = [deployment.add(name) for name in ROLES]
    try:
        await asyncio.gather(*(until_it_waited(role, WAITS_SEEN) for role in roles))
        for role in roles:
            pauses = [float(str(line["retry_in_seconds"])) for line in waits(role)]
            assert pauses[:WAITS_SEEN] == sorted(pauses[:WAITS_SEEN]), pauses
            assert f"Kafka at {LOCALHOST}:{kafka_port} does not answer" in str(waits(role)[0]["error"])
            assert "correct LEADCLOCK_KAFKA_BOOTSTRAP" in str(waits(role)[0]["error"])
            await assert_it_lives_and_says_why(role, f"Kafka at {LOCALHOST}:{kafka_port}")
        async with forwarded(kafka_port, kafka_bootstrap):
            for role in roles:
                if role.role in NEEDS_DATABASE:
                    await until_problem(role, f"PostgreSQL at {LOCALHOST}:{postgres_port}")
            async with forwarded(postgres_port, parts.netloc.rpartition("@")[2]):
                await asyncio.gather(*(role.until_ready(seconds=WAIT_SECONDS) for role in roles))
                for role in roles:
                    assert "Traceback" not in role.log.read_text(), role.tail()
                assert await asyncio.gather(*(asyncio.to_thread(role.stop) for role in roles)) == [0] * len(roles)
    finally:
        deployment.kill()


async def assert_it_lives_and_says_why(role: RoleProcess, sentence: str) -> None:
    async with httpx.AsyncClient(timeout=30.0) as client:
        assert (await client.get(f"{role.health_url}/livez")).status_code == 200
        ready = await client.get(f"{role.health_url}/readyz")
    assert ready.status_code == 503
    assert sentence in ready.text


async def until_problem(role: RoleProcess, sentence: str) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while sentence not in (await role.ready())[1]:
        assert role.is_running, role.tail()
        assert time.monotonic() < deadline, role.tail()
        await asyncio.sleep(LOOK_SECONDS)
