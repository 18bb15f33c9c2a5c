"""Can each role work with its own ACLs alone, and is it refused the rest? On a real broker with Kafka's authorizer."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapters.kafka.acls import ACCESS
from adapters.kafka.connection import Security
from adapters.kafka.log import KafkaLog
from adapters.local.jars import find_jars, find_java
from adapters.local.kafka import ManagedKafka
from adapters.local.process import LOCALHOST, free_port
from adapters.postgres.pool import open_pool
from adapters.postgres.projection_jobs import PostgresProjectionJobs
from adapters.reads.ports import NewProjectionJob
from adapters.roles.context import Context, open_context
from adapters.settings import Settings
from deploy.proof.company import make_company
from deploy.proof.processes import ProcessGroup
from engine.partition.ports import Log, LogError, Outgoing
from schemas.topics import ACCOUNTS_REQUESTS, CONTACTS_REQUESTS, TOPICS
from tests.pace import bound
from tests.system.conftest import deployed
from tests.system.town import ROLES, Town

pytestmark = pytest.mark.system

APP = "guarded"
PREFIX = "guarded."
DENIED_SECONDS = 3.0
JOB_SECONDS = bound(120.0)


class GuardedKafka(ManagedKafka):
    """A broker that allows a user what its ACLs say. The plain listener is the administrator's: anonymous may do all."""

    sasl_port = 0

    @property
    def guarded(self) -> str:
        """Where users come in with a name and a password."""
        return f"{LOCALHOST}:{self.sasl_port}"

    def _write_properties(self) -> None:
        super()._write_properties()
        self.sasl_port = free_port(self.sasl_port or None)
        users = " ".join(f'user_leadclock-{kind}="{password_of(kind)}"' for kind in ACCESS)
        login = "org.apache.kafka.common.security.plain.PlainLoginModule"
        changed = {
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,GUARDED:SASL_PLAINTEXT",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "allow.everyone.if.no.acl.found": "false",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.guarded.plain.sasl.jaas.config": f"{login} required {users};",
        }
        lines = []
        for line in self._properties.read_text("utf-8").splitlines():
            name, _, value = line.partition("=")
            is_of_listeners = name in {"listeners", "advertised.listeners"}
            lines.append(f"{line},GUARDED://{self.guarded}" if is_of_listeners else f"{name}={value}")
        lines += [f"{name}={value}" for name, value in changed.items()]
        self._properties.write_text("\n".join(lines) + "\n", "utf-8")


def password_of(kind: str) -> str:
    return f"password-of-{kind}"


def user(kind: str) -> dict[str, Any]:
    """Return the settings with which a kind of process comes in."""
    return {
        "kafka_security": "SASL_PLAINTEXT",
        "kafka_mechanism": "PLAIN",
        "kafka_username": f"leadclock-{kind}",
        "kafka_password": password_of(kind),
    }


@pytest.fixture(scope="module")
def broker(folder: Path) -> Iterator[GuardedKafka]:
    kafka = GuardedKafka(folder / "guarded", java=find_java(), jars=find_jars())
    with asyncio.Runner() as runner:
        runner.run(kafka.start())
        try:
            yield kafka
        finally:
            runner.run(kafka.stop())


@pytest.fixture(scope="module")
def town(broker: GuardedKafka, settings: Settings, folder: Path) -> Iterator[Town]:
    """A deployment whose processes are users of their own, each with the ACLs of its role."""
    base = deployed(broker.guarded, settings.postgres_dsn, folder, APP)
    deployment = ProcessGroup(folder, msgspec.structs.replace(base, **user("operator")))
    try:
        yield asyncio.run(opened(deployment, broker))
        statuses = deployment.stop()
    finally:
        deployment.kill()
    assert set(statuses.values()) == {0}, statuses


async def opened(deployment: ProcessGroup, broker: GuardedKafka) -> Town:
    administrator = ProcessGroup(deployment.folder, plain(deployment.settings, broker))
    status, output = await administrator.command("topics", "acls", "--apply")
    assert status == 0, output
    await deployment.prepare()
    for role in ("scheduler", *ROLES):
        deployment.add(role, **user(role))
    await deployment.until_ready()
    return Town(deployment, await make_company(deployment.settings))


@pytest.fixture
async def context(town: Town, broker: GuardedKafka) -> AsyncIterator[Context]:
    """What the administrator sees: everything."""
    async with open_context(plain(town.settings, broker)) as found:
        yield found


def plain(settings: Settings, broker: GuardedKafka) -> Settings:
    """Return the settings of the administrator."""
    return msgspec.structs.replace(
        settings, kafka_bootstrap=broker.bootstrap, kafka_security="PLAINTEXT", kafka_username=None, kafka_password=None
    )


def log_of(kind: str, broker: GuardedKafka) -> Log:
    security = Security("SASL_PLAINTEXT", "PLAIN", f"leadclock-{kind}", password_of(kind))
    return KafkaLog(broker.guarded, app=APP, security=security, deadline_seconds=DENIED_SECONDS)


async def test_every_role_works_with_the_acls_of_its_own_alone(town: Town, context: Context) -> None:
    """Submissions, calls and texts with slots, outcomes, opt-outs and the projection, through every process."""
    await town.load(context, 60)
    found = await town.at_rest(context)

    assert found is not None
    for command in (("audit", "verify"), ("topics", "check"), ("deadletter", "list"), ("projection", "status")):
        status, output = await town.deployment.command(*command)
        assert status == 0, output


async def test_a_projector_verifies_and_rebuilds_with_the_acls_of_its_own_alone(town: Town, context: Context) -> None:
    """As an operator asks for it over HTTP: the API stores a job, and the process of the projector carries it out."""
    await town.load(context, 20)
    await town.at_rest(context)
    pool = await open_pool(town.settings.postgres_dsn, size=1)
    jobs = PostgresProjectionJobs(pool)
    for kind in ("verify", "rebuild"):
        await jobs.create(NewProjectionJob(kind=kind, accept=False, key_id=1, asked_by="Ada"))
        async with asyncio.timeout(JOB_SECONDS):
            while (row := (await jobs.newest(1))[0])["ended_at"] is None:
                await asyncio.sleep(0.2)
        assert (row["failure"], row["attempts"], row["result"]["differences"]) == (None, 1, [])
        assert row["result"]["swapped"] is (kind == "rebuild")
    await pool.close()
    await town.at_rest(context)


@pytest.mark.usefixtures("town")
@pytest.mark.parametrize("kind", ACCESS)
async def test_a_role_can_write_to_no_topic_but_its_own(broker: GuardedKafka, kind: str) -> None:
    """A gateway that was taken over must not be able to publish a rule, or a decision."""
    log = log_of(kind, broker)
    others = [topic.name for topic in TOPICS if topic not in ACCESS[kind].writes]
    assert len(others) >= 4

    async def is_refused(topic: str) -> bool:
        appender = await log.appender()
        try:
            await appender.append(0, [Outgoing(f"{PREFIX}{topic}", b"k", b"forged")])
        except LogError as error:
            return "Authorization" in str(error)
        else:
            return False
        finally:
            await appender.close()

    answers = dict(zip(others, await asyncio.gather(*map(is_refused, others)), strict=True))
    await log.close()

    assert answers == dict.fromkeys(others, True)


@pytest.mark.usefixtures("town")
@pytest.mark.parametrize("kind", ACCESS)
async def test_a_role_can_own_no_partition_but_its_own(broker: GuardedKafka, kind: str) -> None:
    """The owner of a partition fences any other process that decides there."""
    log = log_of(kind, broker)
    for topic in (CONTACTS_REQUESTS, ACCOUNTS_REQUESTS):
        if topic in ACCESS[kind].owns:
            continue
        with pytest.raises(LogError, match="Authorization"):
            await log.own(f"{PREFIX}{topic.name}", 0)
    await log.close()
