"""Is a projection that is built again the same, while it is read and written, and whatever comes in between?"""

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from adapters.clock import SystemClock
from adapters.embedded.log import EmbeddedLog
from adapters.postgres.idempotency import PostgresIdempotencyKeys
from adapters.postgres.pool import open_pool
from adapters.projector.batch import OffsetRange, build_batch
from adapters.projector.catch_up import RebuildLimits
from adapters.projector.postgres import PostgresStore
from adapters.projector.projector import Projector, ProjectorLimits
from adapters.projector.rebuild import Rebuild, rebuild, verify
from adapters.projector.rebuild_schema import RebuildError, RebuildSchema
from adapters.projector.status import status_of
from adapters.projector.store import OwnershipLostError
from engine.partition.ports import LogError, Outgoing
from schemas.instant import EPOCH, Instant
from tests.adapters.projector.histories import PARTITIONS, START, TOPIC, World, world_of
from tests.adapters.projector.tables import of_postgres
from tests.contact_ids import CONTACT_IDS, SHAPES

TOPICS = (TOPIC, "accounts.decisions", "impressions", "contacts.requests")
STEPS = [("put", 1), ("put", 2), ("call", 1), ("move", 1), ("result", 2), ("put", 1), ("put", 3), ("slots", 3)] * 15
OF_CONTACTS = [
    *(step for step in STEPS if step[0] != "slots"),
    *(("remove", 1), ("put", 4), ("call", 4), ("remove", 3), ("result", 4)),
]
QUICK = RebuildLimits(records_max=7, poll_seconds=0.01, near_offsets=20, retry_seconds=0.01)
SMALL = ProjectorLimits(records_max=5, buffered_max=10, poll_seconds=0.01, retry_seconds_min=0.001, retry_seconds_max=0.02)
WORK_TABLES = ("deliveries", "idempotency_keys", "send_log")


class Clock(SystemClock):
    """Stands a minute after the decisions of the world, whose results are not over their time then."""

    def now(self) -> Instant:
        return START + 60_000


class Place:
    """A log of decisions, and a database into which a projector wrote them."""

    def __init__(self, dsn: str, pool: Any, log: EmbeddedLog) -> None:
        self.dsn = dsn
        self.pool = pool
        self.log = log
        self.world = World()
        self._appended = [0] * PARTITIONS

    def rebuild(self, **options: Any) -> Rebuild:
        given = {"log": self.log, "pool": self.pool, "clock": Clock(), "dsn": self.dsn, "limits": QUICK}
        return Rebuild(**({"contact_ids": CONTACT_IDS} | given | options))

    async def decide(self, world: World) -> None:
        """Append what the world has decided since."""
        self.world = world
        for partition, records in world.records.items():
            known, self._appended[partition] = self._appended[partition], len(records)
            ownership = await self.log.own("contacts.requests", partition)
            for record in records[known:]:
                await ownership.commit([Outgoing(TOPIC, None, record.value)])
            await ownership.close()

    def projector(self) -> Projector:
        projector = Projector(self.log, PostgresStore(self.pool), SystemClock(), contact_ids=CONTACT_IDS, limits=SMALL)
        projector.assign(range(PARTITIONS))
        return projector

    async def project(self) -> None:
        await self.pool.expire_connections()  # a rebuild replaced the types that they remember
        projector = self.projector()
        while await projector.run_once():
            pass
        await projector.close()

    async def keep(self, share: float) -> None:
        """Delete the oldest decisions, as retention does; a share of them stays."""
        for number in range(PARTITIONS):
            partition = self.log.partition(TOPIC, number)
            offsets = [*(record.offset for record in partition.records), partition.stable_end]
            first = max(1, round(len(partition.records) * (1 - share)))
            await self.log.delete_records(TOPIC, number, before=offsets[first])

    async def schemas(self) -> list[str]:
        rows = await self.pool.fetch("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'read%' ORDER BY 1")
        return [row["nspname"] for row in rows]


@asynccontextmanager
async def projected(dsn: str, steps: Sequence[tuple[str, int]]) -> AsyncIterator[Place]:
    pool = await open_pool(dsn, size=4)
    log = EmbeddedLog(None, now=lambda: EPOCH)
    for topic in TOPICS:
        await log.create_topic(topic, PARTITIONS)
    place = Place(dsn, pool, log)
    await place.decide(world_of(steps))
    await place.project()
    yield place
    await log.close()
    await pool.close()


@pytest.fixture
async def place(migrated_database: str) -> AsyncIterator[Place]:
    async with projected(migrated_database, STEPS) as place:
        yield place


@pytest.fixture
async def contacts(migrated_database: str) -> AsyncIterator[Place]:
    """Without slots: in truth these are decided on the topic of accounts, and retention takes each topic's own rows."""
    async with projected(migrated_database, OF_CONTACTS) as place:
        yield place


async def test_a_rebuilt_projection_is_the_same_and_is_the_one_that_is_read(place: Place) -> None:
    before = await place.pool.fetchval("SELECT to_regclass('read.leads')::oid::bigint")
    outcome = await rebuild(place.rebuild(), accept=False)
    assert (outcome.swapped, outcome.differences, outcome.gaps, outcome.faults) == (True, [], 0, 0)
    assert outcome.decisions == sum(map(len, place.world.records.values()))
    assert await place.pool.fetchval("SELECT to_regclass('read.leads')::oid::bigint") != before
    assert await of_postgres(place.pool) == place.world.tables
    assert await place.schemas() == ["read"]


async def test_who_reads_and_who_projects_notices_nothing(place: Place) -> None:
    """Readers see ever more and never an error, and the projector goes on writing, as the owner that it was."""
    projector, stop = place.projector(), asyncio.Event()
    running = asyncio.create_task(projector.run(stop))
    reading = [asyncio.create_task(_read(place, stop)) for _ in range(3)]
    deciding = asyncio.create_task(_decide_on(place, stop))
    async with asyncio.timeout(60):
        for _ in range(2):
            outcome = await rebuild(place.rebuild(), accept=False)
            assert (outcome.swapped, outcome.differences) == (True, [])
        stop.set()
        await deciding
        counts = await asyncio.gather(*reading)
        await running
    await projector.close()
    await place.project()
    assert min(counts) > 10
    assert projector.lost == set()
    assert await of_postgres(place.pool) == place.world.tables


async def _read(place: Place, stop: asyncio.Event) -> int:
    """Read all the time, by statements that the server has prepared; return how often. What is seen never goes back."""
    seen, count = 0, 0
    async with asyncpg.create_pool(place.dsn, min_size=1, max_size=1) as pool, pool.acquire() as connection:
        while not stop.is_set():
            found = await connection.fetchval("SELECT sum(next_offset)::bigint FROM read.positions")
            rows = await connection.fetchval("SELECT count(*) FROM read.history")
            assert found >= seen
            assert rows > 0
            seen, count = found, count + 1
            await asyncio.sleep(0.01)
    return count


async def _decide_on(place: Place, stop: asyncio.Event) -> None:
    for step in itertools.cycle(STEPS):
        if stop.is_set():
            return
        place.world.step(*step)
        await place.decide(place.world)
        await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("tampering", "table", "what"),
    [
        ("UPDATE read.leads SET status = 'won' WHERE id = 2", "leads", "changed"),
        ("DELETE FROM read.calls", "calls", "missing"),
        ("DELETE FROM read.history WHERE sequence = 3 AND partition = 0", "history", "missing"),
        ("UPDATE read.history SET digest = '\\x00' WHERE sequence = 3 AND partition = 0", "history", "changed"),
        ("INSERT INTO read.faults VALUES ('contacts.decisions', 1, 7, 3, 'none')", "faults", "extra"),
        ("UPDATE read.request_results SET verdict = 'failed'", "request_results", "changed"),
    ],
)
async def test_what_differs_is_named_and_nothing_is_swapped_unless_accepted(
    place: Place, tampering: str, table: str, what: str
) -> None:
    await place.pool.execute(tampering)
    proved = await verify(place.rebuild())
    assert proved.differences is not None
    assert {one.table for one in proved.differences} == {table}
    assert getattr(proved.differences[0], what) != ()
    left = await rebuild(place.rebuild(), accept=False)
    assert (left.swapped, left.resumed, left.decisions) == (False, True, 0)
    assert await of_postgres(place.pool) != place.world.tables
    assert (await rebuild(place.rebuild(), accept=True)).swapped
    assert await of_postgres(place.pool) == place.world.tables


async def test_a_projection_that_is_right_is_proved_and_leaves_nothing_behind(place: Place) -> None:
    outcome = await verify(place.rebuild())
    assert (outcome.differences, outcome.swapped) == ([], False)
    assert await place.schemas() == ["read"]


async def test_an_interrupted_rebuild_goes_on_where_it_was(place: Place) -> None:
    class Failing(EmbeddedLog):
        polls = 0

        async def reader(self, *arguments: Any, **options: Any) -> Any:
            type(self).polls += 1
            if type(self).polls == len(TOPICS) + 1:  # three look where the topics begin
                raise LogError("away")
            return await place.log.reader(*arguments, **options)

        async def topic_id(self, topic: str) -> str:
            return await place.log.topic_id(topic)

        async def partition_count(self, topic: str) -> int:
            return await place.log.partition_count(topic)

    one_by_one = RebuildLimits(records_max=7, poll_seconds=0.01, writers_max=1)
    with pytest.raises(LogError, match="away"):
        await rebuild(place.rebuild(log=Failing(None, now=lambda: EPOCH), limits=one_by_one), accept=False)
    assert await place.schemas() == ["read", "read_rebuild"]
    total = sum(map(len, place.world.records.values()))
    outcome = await rebuild(place.rebuild(), accept=False)
    assert (outcome.resumed, outcome.swapped) == (True, True)
    assert 0 < outcome.decisions < total
    assert await of_postgres(place.pool) == place.world.tables


async def test_a_paced_rebuild_writes_one_batch_at_a_time_and_at_its_whole_speed_while_projectors_wait(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    paced = RebuildLimits(records_max=7, poll_seconds=0.01, rest_share=1.0)
    for rests in (True, False):
        async with place.rebuild(limits=paced, afresh=True) as work:
            write, under_way, counts = work._store.write, list[Any](), list[int]()

            async def counted(batch: Any, write: Any = write, under_way: Any = under_way, counts: Any = counts) -> None:
                under_way.append(batch)
                counts.append(len(under_way))
                await write(batch)
                under_way.remove(batch)

            monkeypatch.setattr(work._store, "write", counted)
            await work.projector.project_to(await work._bounds(), rests=rests)
            assert (max(counts) == 1) is rests
            assert await work.compare() == []


async def test_a_second_rebuild_is_refused(place: Place) -> None:
    async with place.rebuild():
        with pytest.raises(RebuildError, match="another"):
            await rebuild(place.rebuild(), accept=False)
    assert (await rebuild(place.rebuild(), accept=False)).swapped


async def test_a_rebuild_that_lost_its_right_writes_nothing_more(place: Place) -> None:
    """Its connection is gone, so another may begin; from then on the first one is fenced."""
    store = PostgresStore(place.pool, schemas=RebuildSchema(place.dsn).schemas)
    first, second = place.rebuild(), place.rebuild()
    await first.__aenter__()
    topic_id = await place.log.topic_id(TOPIC)
    owned = await store.take(TOPIC, topic_id, 0)
    await first.__aexit__()
    async with second:
        records = place.world.records[0][:3]
        offset_range = OffsetRange(TOPIC, 0, owned.epoch, owned.next_offset, records[-1].offset + 1)
        with pytest.raises(OwnershipLostError):
            await store.write(build_batch(records, offset_range, owned.sequence, topic=TOPIC, shapes=SHAPES))
        await second.catch_up()
        assert await second.compare() == []
    await store.close()


async def test_a_new_rebuild_fences_the_one_before(place: Place) -> None:
    store = PostgresStore(place.pool, schemas=RebuildSchema(place.dsn).schemas)
    topic_id = await place.log.topic_id(TOPIC)
    async with place.rebuild():
        owned = await store.take(TOPIC, topic_id, 0)
    async with place.rebuild(afresh=True):
        again = await store.take(TOPIC, topic_id, 0)
        assert again.epoch > owned.epoch + 1
    await store.close()


async def test_the_work_schema_is_not_touched(place: Place) -> None:
    async def work() -> list[Any]:
        files = "SELECT oid::bigint, relname FROM pg_class WHERE relnamespace = 'work'::regnamespace ORDER BY oid"
        found = [tuple(row) for row in await place.pool.fetch(files)]
        return [*found, *[tuple(map(tuple, await place.pool.fetch(f"TABLE work.{name}"))) for name in WORK_TABLES]]

    await PostgresIdempotencyKeys(place.pool).claim(1, "key", "digest", "request", now=START)
    before = await work()
    assert (await rebuild(place.rebuild(), accept=False)).swapped
    assert await work() == before


async def test_a_migration_that_came_in_between_is_not_swapped_away(place: Place) -> None:
    work = place.rebuild()
    async with work:
        await work.catch_up()
        await place.pool.execute("INSERT INTO read.migrations (number, name, checksum) VALUES (9999, 'new', 'x')")
        with pytest.raises(RebuildError, match="migrated meanwhile"):
            await work.swap()
    assert await place.pool.fetchval("SELECT count(*) FROM read.migrations WHERE number = 9999") == 1


async def test_topics_that_were_created_again_are_projected_again(place: Place) -> None:
    other = EmbeddedLog(None, now=lambda: EPOCH)
    for topic in TOPICS:
        await other.create_topic(topic, PARTITIONS)
    place.log, place._appended = other, [0] * PARTITIONS
    await place.decide(world_of(STEPS[:9]))
    refused = await rebuild(place.rebuild(), accept=False)
    assert (refused.swapped, refused.differences) == (False, None)
    assert (await rebuild(place.rebuild(), accept=True)).swapped
    assert await of_postgres(place.pool) == place.world.tables
    await place.project()
    await other.close()


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.7, 1.0], ids=lambda kept: f"{kept:.0%}")
async def test_rows_that_retention_left_without_decisions_are_kept_and_not_judged(contacts: Place, kept: float) -> None:
    """Whatever share of the decisions is left: leads that changed, moved and were removed before and after it began."""
    place = contacts
    await place.keep(kept)

    proved = await verify(place.rebuild())
    assert (proved.differences, proved.gaps) == ([], 0)
    assert {(one.topic, one.partition) for one in proved.begins} == {(TOPIC, n) for n in range(PARTITIONS)}
    assert proved.carried > 0
    outcome = await rebuild(place.rebuild(), accept=True)
    assert (outcome.swapped, outcome.differences, outcome.gaps) == (True, [], 0)
    assert await of_postgres(place.pool) == place.world.tables
    await place.decide(world_of([*OF_CONTACTS, ("put", 2)]))
    await place.project()
    assert await of_postgres(place.pool) == place.world.tables


async def test_a_row_that_differs_from_what_retention_left_is_still_found(place: Place) -> None:
    await place.decide(world_of([*STEPS, ("put", 2), ("put", 4), ("remove", 4)]))
    await place.project()
    await place.keep(0.1)
    await place.pool.execute("UPDATE read.leads SET status = 'won' WHERE id = 2")
    await place.pool.execute("UPDATE read.leads SET deleted_at = now() WHERE id = 4")
    await place.pool.execute("UPDATE read.leads SET deleted_at = now(), sequence = sequence + 1 WHERE id = 3")

    proved = await verify(place.rebuild())

    assert proved.differences is not None
    assert {key for one in proved.differences if one.table == "leads" for key in one.changed} >= {"7/2", "7/4"}


async def test_a_rebuild_that_retention_overtook_begins_again_and_drops_nothing(place: Place) -> None:
    """Interrupted before retention deleted what was still to be read: what was built would lack it."""
    work = place.rebuild()
    async with work:
        await work.projector.project_to({(TOPIC, 0): 5, (TOPIC, 1): 5})
    await place.keep(0.3)

    outcome = await rebuild(place.rebuild(), accept=True)

    assert (outcome.resumed, outcome.differences, outcome.gaps) == (False, [], 0)
    assert await of_postgres(place.pool) == place.world.tables


async def test_a_rebuild_is_not_swapped_where_retention_overtakes_it(place: Place) -> None:
    work = place.rebuild()
    carry = work._carry_over

    async def carried() -> None:
        await carry()
        await place.keep(0.3)

    work._carry_over = carried  # type: ignore[method-assign]
    with pytest.raises(RebuildError, match="retention deleted"):
        await rebuild(work, accept=True)

    assert await of_postgres(place.pool) == place.world.tables
    assert (await rebuild(place.rebuild(), accept=True)).swapped
    assert await of_postgres(place.pool) == place.world.tables


async def test_a_projector_that_does_not_stand_still_is_waited_for(place: Place) -> None:
    """A batch under way holds its position: the freeze waits for it, and gives up in time."""
    work = place.rebuild()
    async with work, place.pool.acquire() as connection:
        await work.catch_up()
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute("UPDATE read.positions SET decided_at = decided_at")
        swapping = asyncio.create_task(work.swap())
        await asyncio.sleep(0.2)
        assert not swapping.done()
        await transaction.rollback()
        assert await swapping
    assert await of_postgres(place.pool) == place.world.tables


async def test_status_tells_positions_lag_and_the_same_checksum_however_rows_were_written(place: Place) -> None:
    async def look() -> Any:
        return await status_of(place.log, place.pool, Clock(), place.dsn)

    before = await look()
    assert before.lag == 0
    assert before.version.startswith("00")
    assert {(one.topic, one.partition) for one in before.partitions} == {
        (t, n) for t in TOPICS[:3] for n in range(PARTITIONS)
    }
    await rebuild(place.rebuild(), accept=False)
    after = await look()
    assert after.checksum == before.checksum
    assert [one.checksum for one in after.partitions] == [one.checksum for one in before.partitions]
    await place.decide(world_of([*STEPS, ("put", 2), ("put", 2)]))
    assert (await look()).lag == sum(map(len, place.world.records.values())) - sum(one.sequence for one in before.partitions)
    await place.pool.execute("UPDATE read.leads SET status = 'won' WHERE id = 2")
    assert (await look()).checksum != before.checksum


async def test_connections_may_be_cut_all_the_time(place: Place) -> None:
    """Runs that fail say so, and the next goes on; in the end one comes through, and the projection is right."""
    chance, stop = random.Random(5), asyncio.Event()
    projector = place.projector()
    running = asyncio.create_task(projector.run(stop))
    cutting = asyncio.create_task(_cut(place.dsn, stop, lambda: chance.uniform(0.05, 0.6)))
    swapped = 0
    async with asyncio.timeout(60):
        while swapped < 2:
            try:
                swapped += (await rebuild(place.rebuild(), accept=False)).swapped
            except RebuildError:
                continue
    stop.set()
    assert await cutting > 0
    await running
    await projector.close()
    await place.pool.expire_connections()
    assert await of_postgres(place.pool) == place.world.tables


async def _cut(dsn: str, stop: asyncio.Event, pause: Callable[[], float]) -> int:
    connection = await asyncpg.connect(dsn)
    count = 0
    try:
        while not stop.is_set():
            await asyncio.sleep(pause() * (1 + count / 20))  # ever less often, so that a busy machine comes through
            count += await connection.fetchval(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )
        return count
    finally:
        await connection.close()
