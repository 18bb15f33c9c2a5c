"""Does a command stay out of a deployment that it was not meant for? Two deployments, one shell, real brokers and databases.

One deployment runs as processes, with topics and groups under their plain names, as most do. The shell has its variables.
"""

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from zoneinfo import ZoneInfo, available_timezones

import asyncpg
import httpx
import pytest
from msgspec.structs import replace

from adapters.local.jars import find_jars, find_java
from adapters.local.kafka import ManagedKafka
from adapters.local.postgres import ManagedPostgres
from adapters.postgres.identity import read_identity
from adapters.roles.context import Context, open_context, specs
from adapters.settings import SANDBOX_CHANNELS, Settings, to_environment
from adapters.up.attach import GROUPS
from deploy.proof.company import ProofCompany, make_company
from deploy.proof.evidence import ends
from deploy.proof.processes import ProcessGroup
from tests.pace import bound
from tests.system.up_process import Leads, UpProcess

pytestmark = pytest.mark.system

SPEED = 600
ROLES = ("accounts", "scheduler", "intake", "projector", "gateway", "deliverer", "api")
WAIT_SECONDS = bound(60.0)
AREAS = ("Africa/", "America/", "Asia/", "Australia/", "Europe/", "Pacific/")
OPENS_AT_HOUR = 8
LOOK_MINUTES = 10


class World:
    """The servers that deployments share, and their settings; of the last one there is nothing yet."""

    def __init__(self, folder: Path, kafka: str, dsn: str, other_dsn: str, unused_dsn: str) -> None:
        self.folder = folder
        self.running = Settings(
            kafka_bootstrap=kafka,
            kafka_session_seconds=6.0,
            partitions=2,
            postgres_dsn=dsn,
            secret_key="the secret of a deployment that runs",
            state_dir=str(folder / "state"),
            sandbox=SANDBOX_CHANNELS,
            smtp_host="127.0.0.1",
        )
        self.other = replace(
            self.running, postgres_dsn=other_dsn, topic_prefix="other.", app="other", state_dir=str(folder / "other-state")
        )
        self.unused = Settings(kafka_bootstrap=kafka, postgres_dsn=unused_dsn, topic_prefix="new.", app="new", partitions=2)


@pytest.fixture
async def world(data_dir: Path, tmp_path: Path) -> AsyncIterator[World]:
    kafka = ManagedKafka(data_dir / "kafka", java=find_java(), jars=find_jars())
    postgres = ManagedPostgres(data_dir / "postgres", durable=False)
    await asyncio.gather(kafka.start(), postgres.start())
    dsns = [await another_database(postgres.dsn, name) for name in ("other", "unused")]
    yield World(tmp_path, kafka.bootstrap, postgres.dsn, *dsns)
    await asyncio.gather(kafka.stop(), postgres.stop())


async def another_database(dsn: str, name: str) -> str:
    connection = await asyncpg.connect(dsn)
    await connection.execute(f"CREATE DATABASE {name}")
    await connection.close()
    return urlunsplit(urlsplit(dsn)._replace(path=f"/{name}"))


@contextlib.contextmanager
def up_process(folder: Path, *arguments: str, environ: Mapping[str, str]) -> Iterator[UpProcess]:
    folder.mkdir(exist_ok=True)
    up = UpProcess(folder, *arguments, environ=environ)
    try:
        yield up
    finally:
        up.end()


async def test_commands_of_one_shell_stay_out_of_the_deployment_that_it_has_the_settings_of(world: World) -> None:
    deployment = ProcessGroup(world.folder, world.running)
    try:
        await deployment.prepare()
        for role in ROLES:
            deployment.add(role)
        await deployment.until_ready()
        company = await make_company(world.running)
        async with open_context(world.running) as context:
            due_at = await hold_a_lead(deployment, company)
            await settled(context)
            await assert_a_fast_up_leaves_it_alone(world, context, due_at)
            await assert_attaching_is_refused_beside_others(world, context)
            await assert_a_role_with_the_database_of_another_ends(world, deployment)
            await assert_sharing_that_is_typed_works(world, company)
        assert set(deployment.stop().values()) == {0, 1}  # 1: the role that was refused
    finally:
        deployment.kill()
    await assert_an_up_attaches_to_a_deployment_that_nobody_runs(world)
    assert_an_up_makes_a_demo_where_nothing_was(world)


def minutes_to_opening(zone: str) -> float:
    """Return how long it is until a text may go out there; none that opens while the test looks."""
    local = datetime.now(ZoneInfo(zone))
    minutes = OPENS_AT_HOUR * 60 - (local.hour * 60 + local.minute)
    return minutes if minutes >= LOOK_MINUTES else math.inf


async def hold_a_lead(deployment: ProcessGroup, company: ProofCompany) -> datetime:
    """Submit a lead to whom it is early morning; return when its text may go out."""
    early = min((name for name in sorted(available_timezones()) if name.startswith(AREAS)), key=minutes_to_opening)
    lead = {"lead_token": company.tokens["text"], "caller_id": "+12125550100", "time_zone": early, "first_name": "Eve"}
    async with httpx.AsyncClient(timeout=10.0, auth=company.auth()) as client:
        answer = await client.post(f"{deployment['api'].url}/api/v1/leads", json=lead)
    assert answer.status_code == 201, answer.text
    due_at = datetime.fromisoformat(answer.json()["lead"]["next_action_at"])
    assert due_at > datetime.now(UTC)
    return due_at


async def assert_a_fast_up_leaves_it_alone(world: World, context: Context, due_at: datetime) -> None:
    """As in the report of the fault: a fast demo in a shell with the deployment's variables dispatched its held leads."""
    before, members = await written(context), await context.members(GROUPS)
    environ = {**to_environment(world.running), "LEADCLOCK_CONFIG": "/nonexistent"}
    with up_process(world.folder / "fast", "--ephemeral", "--speed", str(SPEED), environ=environ) as up:
        ready = up.start()
        assert "Ignoring LEADCLOCK_CONFIG, LEADCLOCK_KAFKA_BOOTSTRAP" in up.printed
        assert ready["kafka_bootstrap"] != world.running.kafka_bootstrap
        started = datetime.now(UTC)
        async with asyncio.timeout(WAIT_SECONDS + 2 * 3600 / SPEED):
            while started + SPEED * (datetime.now(UTC) - started) < due_at:
                await asyncio.sleep(0.2)
        assert await context.members(GROUPS) == members
        assert up.interrupt() == 0
    assert await written(context) == before


async def assert_attaching_is_refused_beside_others(world: World, context: Context) -> None:
    before = await written(context)
    environ = to_environment(world.running)
    with up_process(world.folder / "attached", environ=environ) as up:
        refused = up.run("up", "--port", "0", "--attach")
        assert refused.returncode == 1
        for name in ("accounts (1)", "scheduler (1)", "gateway.call (1)", "leadclock api", "--attach=shared"):
            assert name in refused.stderr, refused.stderr
        for option in ("--ephemeral", "--broker=embedded", "--speed=600"):
            assert up.run("up", "--port", "0", "--attach=shared", option).returncode == 2
    assert await written(context) == before


async def assert_a_role_with_the_database_of_another_ends(world: World, deployment: ProcessGroup) -> None:
    other = ProcessGroup(world.folder, world.other)
    await other.prepare()
    mine, theirs = [await read_identity(one.postgres_dsn) for one in (world.running, world.other)]
    assert mine is not None
    assert theirs is not None
    role = deployment.add("projector", "mistaken", postgres_dsn=world.other.postgres_dsn)
    async with asyncio.timeout(WAIT_SECONDS):
        while role.is_running:
            await asyncio.sleep(0.1)
    assert role.wait() == 1
    assert f"deployment {mine.id}" in role.tail()
    assert f"deployment {theirs.id}" in role.tail()
    assert "Traceback" not in role.tail()
    status, output = await deployment.command("db", "migrate")
    assert status == 0, output


async def assert_sharing_that_is_typed_works(world: World, company: ProofCompany) -> None:
    with up_process(world.folder / "shared", "--attach=shared", environ=to_environment(world.running)) as up:
        ready = up.start()
        assert (ready["kafka_bootstrap"], ready["public_key"]) == (world.running.kafka_bootstrap, "")
        lead = {"lead_token": company.tokens["rest"], "caller_id": "+12125550101"}
        async with httpx.AsyncClient(timeout=10.0) as client:
            answer = await client.post(f"{ready['api_url']}/api/v1/leads", json=lead)
        assert answer.status_code == 201, answer.text
        assert up.interrupt() == 0


async def assert_an_up_attaches_to_a_deployment_that_nobody_runs(world: World) -> None:
    """Under the prefix and the app name of the settings: nothing appears under the plain names."""
    async with open_context(world.running) as running, open_context(world.other) as other:
        before = await written(running)
        with up_process(world.folder / "alone", "--attach", environ=to_environment(world.other)) as up:
            up.start()
            assert (await other.members(GROUPS)).keys() == set(GROUPS)
            second = up.run("up", "--port", "0", "--data-dir", "second", "--attach")
            assert second.returncode == 1
            assert "leadclock up" in second.stderr
            assert up.interrupt() == 0
        assert await written(running) == before
        assert await running.members(GROUPS) == {}


def assert_an_up_makes_a_demo_where_nothing_was(world: World) -> None:
    """Also from another folder, whose own tokens are not those of the demo that is there."""
    tokens = set()
    for folder, number in (("first", "+12125550110"), ("second", "+12125550111")):
        with up_process(world.folder / folder, "--attach", environ=to_environment(world.unused)) as up:
            ready = up.start()
            leads = Leads(ready)
            leads.post({"lead_token": ready["schedule_lead_token"], "caller_id": number})
            leads.close()
            tokens.add(ready["schedule_lead_token"])
            assert up.interrupt() == 0
    assert len(tokens) == 1


async def written(context: Context) -> dict[str, dict[int, int]]:
    """Return where every topic of a deployment ends."""
    return {spec.name: await ends(context.log, spec.name) for spec in specs(context.settings)}


async def settled(context: Context) -> None:
    """Wait until nothing is written any more: everything that was asked is decided, carried out and answered."""
    async with asyncio.timeout(WAIT_SECONDS):
        before: dict[str, dict[int, int]] = {}
        while (now := await written(context)) != before:
            before = now
            await asyncio.sleep(3.0)
