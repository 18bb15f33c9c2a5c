"""Is a verification or rebuild that an operator asks for carried out once, whatever happens to the process that does it?

On a real Kafka and a real PostgreSQL, while projectors write and readers read.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from adapters.cli.main import main
from adapters.clock import SystemClock
from adapters.kafka.log import KafkaLog
from adapters.postgres.pool import open_pool
from adapters.postgres.projection_jobs import PostgresProjectionJobs
from adapters.projector.catch_up import RebuildLimits
from adapters.projector.postgres import PostgresStore
from adapters.projector.projection_jobs import JobLimits, ProjectionJobRunner
from adapters.projector.projector import Projector
from adapters.reads.ports import NewProjectionJob, ProjectionJobOpenError, ReadsUnavailableError, Row
from engine.partition.ports import Log, LogError, Outgoing
from engine.partition.runner import TopicNames
from tests.adapters.projector.histories import PARTITIONS, TOPIC, World, world_of
from tests.adapters.projector.job_process import QUICK_JOBS, SLOW
from tests.adapters.projector.tables import of_postgres
from tests.contact_ids import CONTACT_IDS
from tests.pace import bound

ROOT = Path(__file__).parents[3]
STEPS = [("put", 1), ("put", 2), ("call", 1), ("move", 1), ("put", 1), ("slots", 3), ("remove", 2)] * 10
WAIT_SECONDS = bound(60.0)
FAST = RebuildLimits(records_max=50, poll_seconds=0.1, rest_share=1.0)
LOOK_ONCE = JobLimits(look_seconds=600.0, lease_seconds=600.0)
TAMPERING = "UPDATE read.leads SET name = 'nobody' WHERE id = 1"


class Deployment:
    """Topics with decisions, a database that shows them, and a projector that goes on writing."""

    def __init__(self, log: KafkaLog, names: TopicNames, dsn: str, bootstrap: str, pool: Any) -> None:
        self.log = log
        self.names = names
        self.dsn = dsn
        self.bootstrap = bootstrap
        self.pool = pool
        self.world: World = world_of(STEPS)
        self.jobs = PostgresProjectionJobs(pool)

    def runner(self, **options: Any) -> ProjectionJobRunner:
        log, dsn = options.pop("log", self.log), options.pop("dsn", self.dsn)
        given = {"names": self.names, "limits": QUICK_JOBS, "paced": FAST} | options
        return ProjectionJobRunner(
            log, SystemClock(), dsn, PostgresProjectionJobs(self.pool), contact_ids=CONTACT_IDS, **given
        )

    async def ask(self, kind: str = "verify", *, accept: bool = False, by: str = "Ada") -> Row:
        return await self.jobs.create(NewProjectionJob(kind=kind, accept=accept, key_id=1, asked_by=by))

    async def newest(self) -> Row:
        return (await self.jobs.newest(1))[0]

    async def until(self, holds: Callable[[Row], object]) -> Row:
        """Wait until the newest job is as a test wants it."""
        async with asyncio.timeout(WAIT_SECONDS):
            while not holds(row := await self.newest()):
                await asyncio.sleep(0.02)
        return row

    async def carry_out(self, kind: str, *, accept: bool = False, **options: Any) -> Row:
        """Ask for a job, and let a process carry it out until it has ended."""
        await self.ask(kind, accept=accept)
        async with self.running(self.runner(**options)):
            return await self.until(lambda row: row["ended_at"])

    @asynccontextmanager
    async def running(self, *runners: ProjectionJobRunner) -> AsyncIterator[None]:
        stop = asyncio.Event()
        tasks = [asyncio.create_task(runner.run(stop)) for runner in runners]
        try:
            yield
        finally:
            stop.set()
            await asyncio.wait_for(asyncio.gather(*tasks), WAIT_SECONDS)

    @asynccontextmanager
    async def other_process(self) -> AsyncIterator["asyncio.subprocess.Process"]:
        """A process of its own that carries out jobs slowly."""
        arguments = ("-m", "tests.adapters.projector.job_process", self.bootstrap, self.names.prefix, self.dsn)
        process = await asyncio.create_subprocess_exec(sys.executable, *arguments, cwd=ROOT)
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()

    async def schemas(self) -> list[str]:
        rows = await self.pool.fetch("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'read%' ORDER BY 1")
        return [row["nspname"] for row in rows]

    async def shown_by(self) -> int:
        found: int = await self.pool.fetchval("SELECT to_regclass('read.leads')::oid::bigint")
        return found


@pytest.fixture
async def deployment(
    kafka_bootstrap: str, migrated_database: str, topic_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Deployment]:
    environment = {
        "KAFKA_BOOTSTRAP": kafka_bootstrap,
        "POSTGRES_DSN": migrated_database,
        "TOPIC_PREFIX": topic_prefix,
        "PARTITIONS": str(PARTITIONS),
    }
    for name, value in environment.items():
        monkeypatch.setenv(f"LEADCLOCK_{name}", value)
    for command in (["topics", "create"], ["db", "migrate"]):
        assert await asyncio.to_thread(main, command) == 0
    log = KafkaLog(kafka_bootstrap, app=topic_prefix.rstrip("."))
    pool = await open_pool(migrated_database, size=4)
    deployment = Deployment(log, TopicNames(topic_prefix), migrated_database, kafka_bootstrap, pool)
    await _decide(deployment)
    projector_pool = await open_pool(migrated_database, size=4)
    projector = Projector(log, PostgresStore(projector_pool), SystemClock(), contact_ids=CONTACT_IDS, names=deployment.names)
    projector.assign(range(PARTITIONS))
    stop = asyncio.Event()
    projecting = asyncio.create_task(projector.run(stop))
    async with asyncio.timeout(WAIT_SECONDS):
        while projector.decisions_written < sum(map(len, deployment.world.records.values())):
            await asyncio.sleep(0.02)
    yield deployment
    stop.set()
    await projecting
    await projector.close()
    await projector_pool.close()
    await pool.close()
    await log.close()


async def _decide(deployment: Deployment) -> None:
    for partition, records in deployment.world.records.items():
        ownership = await deployment.log.own(deployment.names.of("contacts.requests"), partition)
        for start in range(0, len(records), 20):
            values = [record.value for record in records[start : start + 20]]
            await ownership.commit([Outgoing(deployment.names.of(TOPIC), None, value) for value in values])
        await ownership.close()


def is_in_the_middle(row: Row) -> bool:
    """Return whether a job has read some decisions, and not all."""
    return bool(row["stage"] == "projecting" and 0 < row["stage_done"] < row["stage_total"])


async def test_a_projection_that_is_right_is_verified_and_leaves_nothing_behind(deployment: Deployment) -> None:
    row = await deployment.carry_out("verify")
    total = sum(map(len, deployment.world.records.values()))
    result = row["result"]
    assert (row["failure"], row["attempts"], row["leased_by"]) == (None, 1, None)
    assert (result["differences"], result["differences_count"], result["decisions"]) == ([], 0, total)
    assert (result["gaps"], result["faults"], result["swapped"]) == (0, 0, False)
    assert await deployment.schemas() == ["read"]


async def test_a_row_changed_behind_our_back_is_named_and_a_rebuild_repairs_it_while_reads_go_on(
    deployment: Deployment,
) -> None:
    await deployment.pool.execute(TAMPERING)
    found = (await deployment.carry_out("verify"))["result"]
    assert [(one["table"], tuple(one["changed"])) for one in found["differences"]] == [("leads", ("7/1",))]
    kept = await deployment.carry_out("rebuild")
    assert (kept["result"]["swapped"], kept["result"]["resumed"], kept["swapped_at"]) == (False, True, None)
    stop = asyncio.Event()
    reading = asyncio.create_task(_read(deployment, stop))
    row = await deployment.carry_out("rebuild", accept=True)
    stop.set()
    assert await reading > 10
    assert (row["result"]["swapped"], row["failure"]) == (True, None)
    assert row["swapped_at"] <= row["ended_at"]
    await deployment.pool.expire_connections()
    assert await of_postgres(deployment.pool) == deployment.world.tables
    assert await deployment.schemas() == ["read"]


async def _read(deployment: Deployment, stop: asyncio.Event) -> int:
    """Read all the time; return how often. No read fails and none sees fewer rows than there are."""
    count = 0
    async with asyncpg.create_pool(deployment.dsn, min_size=1, max_size=1) as pool, pool.acquire() as connection:
        total = await connection.fetchval("SELECT count(*) FROM read.history")
        while not stop.is_set():
            assert await connection.fetchval("SELECT count(*) FROM read.history") == total
            count += 1
            await asyncio.sleep(0.01)
    return count


@pytest.mark.parametrize("kind", ["verify", "rebuild"])
async def test_a_job_of_a_killed_process_is_taken_over_and_resumed(deployment: Deployment, kind: str) -> None:
    await deployment.ask(kind)
    async with deployment.other_process() as process:
        await deployment.until(is_in_the_middle)
        process.kill()
    async with deployment.running(deployment.runner()):
        row = await deployment.until(lambda row: row["ended_at"])
    total = sum(map(len, deployment.world.records.values()))
    assert (row["failure"], row["result"]["resumed"], row["result"]["differences"]) == (None, True, [])
    assert row["attempts"] >= 2
    assert 0 < row["result"]["decisions"] < total
    assert row["result"]["swapped"] is (kind == "rebuild")
    assert await deployment.schemas() == ["read"]


async def test_a_process_that_stood_still_beyond_its_lease_swaps_nothing_and_its_successor_ends_the_job(
    deployment: Deployment,
) -> None:
    await deployment.ask("rebuild")
    async with deployment.other_process() as process:
        first = await deployment.until(is_in_the_middle)
        os.kill(process.pid, signal.SIGSTOP)
        async with deployment.running(deployment.runner()):
            waiting = await deployment.until(lambda row: row["problem"])
            assert "another `leadclock projection rebuild` or `verify` is under way" in waiting["problem"]
            os.kill(process.pid, signal.SIGCONT)
            row = await deployment.until(lambda row: row["ended_at"])
    assert (row["id"], row["failure"], row["result"]["swapped"]) == (first["id"], None, True)
    await deployment.pool.expire_connections()
    assert await of_postgres(deployment.pool) == deployment.world.tables


async def test_a_process_that_is_stopped_gives_its_job_back_and_that_is_no_attempt(deployment: Deployment) -> None:
    await deployment.ask("verify")
    for _ in range(3):
        async with deployment.running(deployment.runner(paced=SLOW)):
            await deployment.until(is_in_the_middle)
        row = await deployment.newest()
        assert (row["attempts"], row["leased_by"], row["problem"], row["ended_at"]) == (0, None, None, None)
        await deployment.pool.execute("UPDATE work.projection_jobs SET stage = NULL")
    async with deployment.running(deployment.runner(), deployment.runner()):
        row = await deployment.until(lambda row: row["ended_at"])
    assert (row["attempts"], row["result"]["resumed"], row["result"]["differences"]) == (1, True, [])


async def test_a_second_job_is_refused_with_the_one_that_is_open(deployment: Deployment) -> None:
    made = await deployment.ask("verify", by="Ada")
    for kind in ("verify", "rebuild"):
        with pytest.raises(ProjectionJobOpenError) as refused:
            await deployment.ask(kind, by="Grace")
        assert (refused.value.job["id"], refused.value.job["asked_by"]) == (made["id"], "Ada")
    ends = await asyncio.gather(deployment.jobs.cancel(made["id"]), deployment.jobs.cancel(made["id"]))
    assert all(row is not None and row["ended_at"] for row in ends), "no process has begun it, so it ends at once"
    created = await asyncio.gather(*(deployment.ask() for _ in range(5)), return_exceptions=True)
    assert sorted(isinstance(one, ProjectionJobOpenError) for one in created) == [False, True, True, True, True]


async def test_a_canceled_job_ends_in_the_middle_and_drops_what_it_built(deployment: Deployment) -> None:
    made = await deployment.ask("rebuild")
    async with deployment.running(deployment.runner(paced=SLOW)):
        await deployment.until(is_in_the_middle)
        assert "read_rebuild" in await deployment.schemas()
        await deployment.jobs.cancel(made["id"])
        row = await deployment.until(lambda row: row["ended_at"])
    assert (row["result"], row["failure"]) == (None, None)
    assert row["canceled_at"] is not None
    assert await deployment.schemas() == ["read"]
    assert (await deployment.jobs.cancel(made["id"]))["ended_at"] == row["ended_at"]  # type: ignore[index]


async def test_a_job_that_is_canceled_just_before_the_swap_swaps_nothing(deployment: Deployment) -> None:
    before = await deployment.shown_by()
    made = await deployment.ask("rebuild")
    runner = deployment.runner(limits=LOOK_ONCE)  # it renews its lease too seldom to notice
    started = asyncio.create_task(runner.advance_once(asyncio.Event()))
    noted = runner._note_progress
    canceling: list[asyncio.Task[Row | None]] = []

    def note(stage: str, done: int, total: int) -> None:
        noted(stage, done, total)
        if stage == "comparing" and not canceling:
            canceling.append(asyncio.create_task(deployment.jobs.cancel(made["id"])))

    runner._note_progress = note  # type: ignore[method-assign]
    await asyncio.wait_for(started, WAIT_SECONDS)
    assert canceling, "the test must have canceled"
    assert (await deployment.newest())["ended_at"] is None
    assert await deployment.shown_by() == before
    assert await runner.advance_once(asyncio.Event())
    row = await deployment.newest()
    assert (row["result"], row["swapped_at"]) == (None, None)
    assert row["ended_at"] is not None
    assert await deployment.schemas() == ["read"]


async def test_a_swap_whose_process_ended_before_it_could_say_so_is_done_and_not_repeated(deployment: Deployment) -> None:
    class Silent(PostgresProjectionJobs):
        async def finish(self, *_: Any, **__: Any) -> None:
            raise ReadsUnavailableError("the process ended")

    before = await deployment.shown_by()
    await deployment.ask("rebuild")
    runner = deployment.runner()
    runner._jobs = Silent(deployment.pool)
    with pytest.raises(ReadsUnavailableError):
        await runner.advance_once(asyncio.Event())
    swapped = await deployment.shown_by()
    assert swapped != before
    assert await deployment.jobs.cancel((await deployment.newest())["id"]) is not None
    async with deployment.running(deployment.runner()):
        row = await deployment.until(lambda row: row["ended_at"])
    assert (row["result"]["swapped"], row["canceled_at"], row["failure"]) == (True, None, None)
    assert await deployment.shown_by() == swapped


async def test_a_log_that_is_away_is_asked_again_so_often_and_then_the_job_fails_with_the_reason(
    deployment: Deployment,
) -> None:
    class Away:
        async def partition_count(self, _: str) -> int:
            raise LogError("no broker answers")

    log: Log = Away()  # type: ignore[assignment]
    limits = JobLimits(look_seconds=0.02, retry_seconds=0.02, attempts_max=3)
    row = await deployment.carry_out("verify", log=log, limits=limits)
    assert (row["failure"], row["attempts"], row["result"]) == ("no broker answers", 3, None)
    assert (await deployment.carry_out("verify"))["result"]["differences"] == []


async def test_a_job_that_kills_each_process_is_given_up(deployment: Deployment) -> None:
    await deployment.ask("verify")
    await deployment.pool.execute("UPDATE work.projection_jobs SET attempts = 10, started_at = now()")
    async with deployment.running(deployment.runner()):
        row = await deployment.until(lambda row: row["ended_at"])
    assert row["failure"] == "It was begun 10 times, and its projector ended each time."


async def test_a_job_that_takes_too_long_ends_and_names_the_command(deployment: Deployment) -> None:
    await deployment.ask("verify")
    limits = JobLimits(look_seconds=0.1, seconds_max=0.5)
    async with deployment.running(deployment.runner(paced=SLOW, limits=limits)):
        row = await deployment.until(lambda row: row["ended_at"])
    assert "type `leadclock projection rebuild`" in row["failure"]


async def test_a_role_that_may_make_no_schema_is_said_at_once_and_before_the_work(deployment: Deployment) -> None:
    database = urlsplit(deployment.dsn).path.removeprefix("/")
    name = f"{database}_projector"
    await deployment.pool.execute(
        f"CREATE ROLE {name} LOGIN PASSWORD 'typed'; GRANT USAGE ON SCHEMA read, work TO {name};"
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA read, work TO {name}"
    )
    given = urlsplit(deployment.dsn)
    host = given.netloc.rpartition("@")[2]
    dsn = urlunsplit(given._replace(netloc=f"{name}:typed@{host}"))
    try:
        row = await deployment.carry_out("verify", dsn=dsn)
        assert "may not make and rename schemas" in row["failure"]
        assert row["attempts"] == 1
        await deployment.pool.execute(f"GRANT CREATE ON DATABASE {database} TO {name}")
        row = await deployment.carry_out("rebuild", dsn=dsn)
        assert "must be owner of schema read" in row["failure"]
    finally:
        await deployment.pool.execute(f"DROP OWNED BY {name} CASCADE; DROP ROLE {name}")
