"""What do operators see of `leadclock projection`? On a real Kafka and a real PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import msgspec
import pytest

from adapters.cli.main import main
from adapters.clock import SystemClock
from adapters.kafka.log import KafkaLog
from adapters.postgres.pool import open_pool
from adapters.projector.postgres import PostgresStore
from adapters.projector.projector import Projector
from engine.partition.ports import Log, Outgoing
from engine.partition.runner import TopicNames
from tests.adapters.kafka_world import KafkaWorld
from tests.adapters.projector.histories import PARTITIONS, TOPIC, World, world_of
from tests.adapters.projector.tables import of_postgres
from tests.contact_ids import CONTACT_IDS, SECRET

STEPS = [("put", 1), ("put", 2), ("call", 1), ("move", 1), ("put", 1), ("slots", 3), ("remove", 2)] * 10


class Deployment:
    """Topics with a world's decisions, and a database that shows them."""

    def __init__(self, log: Log, names: TopicNames, dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.log = log
        self.names = names
        self.dsn = dsn
        self.world: World = world_of(STEPS)
        self._capsys = capsys

    async def decide(self) -> None:
        for partition, records in self.world.records.items():
            ownership = await self.log.own(self.names.of("contacts.requests"), partition)
            for start in range(0, len(records), 20):
                values = [record.value for record in records[start : start + 20]]
                await ownership.commit([Outgoing(self.names.of(TOPIC), None, value) for value in values])
            await ownership.close()

    async def project(self) -> None:
        pool = await open_pool(self.dsn, size=4)
        projector = Projector(self.log, PostgresStore(pool), SystemClock(), contact_ids=CONTACT_IDS, names=self.names)
        projector.assign(range(PARTITIONS))
        total = sum(map(len, self.world.records.values()))
        async with asyncio.timeout(60):
            while projector.decisions_written < total:
                await projector.run_once(0.1)
        await projector.close()
        await pool.close()

    async def run(self, *arguments: str) -> tuple[int, Any]:
        """Run `leadclock projection`; return its exit status, and its output decoded."""
        status = await asyncio.to_thread(main, ["projection", *arguments, "--json"])
        return status, msgspec.json.decode(self._capsys.readouterr().out)


@pytest.fixture
async def deployment(
    kafka_bootstrap: str,
    migrated_database: str,
    topic_prefix: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> AsyncIterator[Deployment]:
    environment = {
        "KAFKA_BOOTSTRAP": kafka_bootstrap,
        "POSTGRES_DSN": migrated_database,
        "TOPIC_PREFIX": topic_prefix,
        "PARTITIONS": str(PARTITIONS),
    }
    for name, value in environment.items():
        monkeypatch.setenv(f"LEADCLOCK_{name}", value)
    monkeypatch.setattr(
        "adapters.roles.identity.secrets.token_bytes", lambda _: SECRET
    )  # the rows of the world are made under it
    assert await asyncio.to_thread(main, ["topics", "create", "--json"]) == 0
    assert await asyncio.to_thread(main, ["db", "migrate", "--json"]) == 0
    capsys.readouterr()
    log = KafkaLog(kafka_bootstrap, app=topic_prefix.rstrip("."))
    deployment = Deployment(log, TopicNames(topic_prefix), migrated_database, capsys)
    await deployment.decide()
    yield deployment
    await log.close()


async def test_status_verify_and_rebuild(deployment: Deployment) -> None:
    total = sum(map(len, deployment.world.records.values()))
    status, found = await deployment.run("status", "--quick")
    assert (status, found["lag"], found["checksum"]) == (0, total, None)
    await deployment.project()
    status, found = await deployment.run("status")
    assert (status, found["lag"], found["missing"]) == (0, 0, [])
    assert sorted(one["sequence"] for one in found["partitions"])[-2:] == sorted(map(len, deployment.world.records.values()))
    checksum = found["checksum"]
    status, found = await deployment.run("verify")
    assert (status, found["differences"], found["decisions"]) == (0, [], total)

    connection = await asyncpg.connect(deployment.dsn)
    await connection.execute("UPDATE read.leads SET name = 'nobody' WHERE id = 1")
    status, found = await deployment.run("verify")
    assert (status, found["differences"][0]["changed"]) == (1, ["7/1"])
    status, found = await deployment.run("rebuild")
    assert (status, found["swapped"], found["resumed"]) == (1, False, True)
    status, found = await deployment.run("rebuild", "--accept")
    assert (status, found["swapped"]) == (0, True)
    status, found = await deployment.run("status")
    assert (status, found["checksum"], found["rebuild_begun"]) == (0, checksum, False)
    await connection.close()
    pool = await open_pool(deployment.dsn, size=2)
    assert await of_postgres(pool) == deployment.world.tables
    await pool.close()


async def test_what_is_said_to_people(deployment: Deployment, capsys: pytest.CaptureFixture[str]) -> None:
    await deployment.project()
    assert await asyncio.to_thread(main, ["projection", "rebuild"]) == 0
    said = capsys.readouterr().out
    assert "every row is what the decisions say" in said
    assert "the new projection is the one that is read now" in said
    assert await asyncio.to_thread(main, ["projection", "status"]) == 0
    said = capsys.readouterr().out
    assert "0 decisions behind" in said
    assert "contacts.decisions[1]" in said


async def test_rows_that_only_deleted_decisions_tell_are_not_judged_and_not_dropped(
    deployment: Deployment, kafka_bootstrap: str, capsys: pytest.CaptureFixture[str]
) -> None:
    await deployment.project()
    reader = await deployment.log.reader(deployment.names.of(TOPIC), [0])
    offset = await reader.end(0) // 2
    await reader.close()
    world = KafkaWorld(kafka_bootstrap, deployment.names.prefix)
    await world.delete_records(deployment.names.of(TOPIC), 0, offset)
    await world.close()

    status, found = await deployment.run("verify")
    assert (status, found["differences"], [one["partition"] for one in found["begins"]]) == (3, [], [0])
    assert found["begins"][0]["sequence"] > 1
    assert await asyncio.to_thread(main, ["projection", "rebuild", "--accept"]) == 3
    said = capsys.readouterr().out
    assert f"begins at decision {found['begins'][0]['sequence']}: rows that only earlier ones show are not judged" in said
    assert "every row that the log still shows is what the decisions say" in said
    pool = await open_pool(deployment.dsn, size=2)
    assert await of_postgres(pool) == deployment.world.tables
    await pool.close()
