"""Do impressions become the same rows however they are cut, repeated and read again, from both logs and in a rebuild?"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from adapters.clock import SystemClock
from adapters.embedded.log import EmbeddedLog
from adapters.http.exchange.impression_log import LogImpressions
from adapters.postgres.pool import open_pool
from adapters.postgres.retention import Purge
from adapters.postgres.tables import IMPRESSION_COLUMNS
from adapters.projector.batch import OffsetRange
from adapters.projector.catch_up import RebuildLimits
from adapters.projector.impressions import RawImpression, build_impression_batch, impression_row
from adapters.projector.postgres import PostgresStore
from adapters.projector.projector import IMPRESSION_LIMITS, Projector, ProjectorLimits
from adapters.projector.rebuild import Rebuild, rebuild, verify
from adapters.projector.status import status_of
from engine.identity import impression_uuid
from engine.partition.ports import Log, LogRecord, Outgoing
from engine.partition.runner import TopicNames
from schemas.impressions import Impression
from schemas.instant import DAY, EPOCH, Instant
from schemas.topics import IMPRESSION_RETENTION_MS
from schemas.wire import from_json, to_json
from tests.adapters.kafka_world import KafkaWorld
from tests.adapters.postgres.projected_rows import START
from tests.adapters.projector.memory import MemoryStore
from tests.adapters.projector.tables import Tables, named, of_memory, of_postgres, rewind
from tests.contact_ids import CONTACT_IDS

TOPIC = "impressions"
TOPICS = (TOPIC, "contacts.decisions", "accounts.decisions")
PARTITIONS = 2
SMALL = ProjectorLimits(records_max=3, buffered_max=6, poll_seconds=0.01)
QUICK = RebuildLimits(records_max=7, poll_seconds=0.01, near_offsets=20, retry_seconds=0.01)

Store = MemoryStore | PostgresStore
Sent = list[tuple[int, int]]
"""The visitor and the number of the uuid of each impression, in order; a number may come again."""


class Clock(SystemClock):
    """Stands a minute after the impressions."""

    def now(self) -> Instant:
        return START + 60_000


def impression(visitor: int, number: int, at: Instant = START, **fields: Any) -> Impression:
    return Impression(
        company_id=7,
        uuid=impression_uuid("r", number),
        created_at=at,
        visitor_id=f"v{visitor}",
        page_url=f"https://example.com/{number}",
        tokens={"n": number, "large": 1e20},
        **fields,
    )


def records_of(sent: Sent) -> dict[int, list[LogRecord]]:
    """Return the records by partition: visitors with an even number are in the first. Offsets have gaps."""
    found: dict[int, list[LogRecord]] = {number: [] for number in range(PARTITIONS)}
    for place, (visitor, number) in enumerate(sent):
        partition = visitor % PARTITIONS
        offset = 3 * len(found[partition])
        value = to_json(impression(visitor, number, START + place))
        found[partition].append(LogRecord(TOPIC, partition, offset, None, value, (), START + place))
    return found


def expected(records: dict[int, list[LogRecord]]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return the rows: of each uuid the first record of its partition."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for partition, written in records.items():
        known = set()
        for record in written:
            one = from_json(record.value or b"", RawImpression)
            if one.uuid not in known:
                known.add(one.uuid)
                row = impression_row(one, partition, record.offset)
                found[row[:2]] = named(IMPRESSION_COLUMNS, row)
    return found


async def write(store: Store, records: Sequence[LogRecord], partition: int, count: int) -> None:
    owned = await store.take(TOPIC, "id", partition)
    chosen = [record for record in records if record.offset >= owned.next_offset][:count]
    if chosen:
        offset_range = OffsetRange(TOPIC, partition, owned.epoch, owned.next_offset, chosen[-1].offset + 1)
        await store.write(build_impression_batch(chosen, offset_range, owned.sequence, topic=TOPIC))


async def project(store: Store, records: dict[int, list[LogRecord]], cuts: list[tuple[int, int, int | None]]) -> None:
    for partition, count, back in cuts:
        await write(store, records[partition], partition, count)
        if back is not None:
            await rewind(store, TOPIC, partition, 3 * back)
    for partition, written in records.items():
        await write(store, written, partition, len(written))


SENT = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6)), max_size=25)
CUTS = st.lists(
    st.tuples(st.integers(0, PARTITIONS - 1), st.integers(1, 9), st.sampled_from([None, None, 0, 1, 4])), max_size=12
)
REPEATED: Sent = [(0, 1), (2, 1), (0, 1), (1, 1), (0, 2)]


@given(sent=SENT, cuts=CUTS)
@example(sent=REPEATED, cuts=[(0, 1, 0), (0, 3, 1)])
@settings(max_examples=200, deadline=None)
async def test_any_cut_and_any_repeat_gives_the_first_impression_of_each_uuid(sent: Sent, cuts: Any) -> None:
    store, records = MemoryStore(), records_of(sent)
    await project(store, records, cuts)
    assert of_memory(store)["impressions"] == expected(records)


@pytest.fixture
async def pool(migrated_database: str) -> AsyncIterator[Any]:
    pool = await open_pool(migrated_database, size=4)
    yield pool
    await pool.close()


@given(sent=SENT, cuts=CUTS)
@example(sent=REPEATED, cuts=[(0, 1, 0), (0, 3, 1)])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_postgresql_gives_the_same_rows(pool: Any, sent: Sent, cuts: Any) -> None:
    await pool.execute("TRUNCATE read.impressions, read.positions, read.faults")
    store, records = PostgresStore(pool), records_of(sent)
    await project(store, records, cuts)
    assert (await of_postgres(pool))["impressions"] == expected(records)


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"{",
        b"[]",
        b'{"company_id":7}',
        b"\xff",
        to_json(impression(0, 1)).replace(b'"company_id":7', b'"company_id":"7"'),
    ],
)
@pytest.mark.parametrize("kind", ["memory", "postgres"])
async def test_a_record_that_is_no_impression_is_a_fault_and_its_neighbours_are_shown(
    pool: Any, kind: str, value: bytes | None
) -> None:
    store: Store = MemoryStore() if kind == "memory" else PostgresStore(pool)
    records = records_of([(0, 1), (0, 2), (0, 3)])
    records[0][1] = LogRecord(TOPIC, 0, 3, None, value, (), START)
    await project(store, records, [])
    tables = of_memory(store) if isinstance(store, MemoryStore) else await of_postgres(pool)
    assert [row["page_url"][-1] for _, row in sorted(tables["impressions"].items())] == ["1", "3"]
    assert list(tables["faults"]) == [(TOPIC, 0, 3)]


async def test_a_row_that_the_database_refuses_costs_no_other(pool: Any) -> None:
    """Only a forged record has such values: what is posted is checked before it is appended."""
    log = await embedded()
    await append(log, TopicNames(), [to_json(impression(0, number)) for number in range(5)])
    forged = to_json(impression(0, 9)).replace(impression_uuid("r", 9).encode(), b"no-uuid")
    await append(log, TopicNames(), [forged, to_json(impression(0, 10)).replace(b'"n":10', b'"n":"\\u0000"')])
    await projected(log, pool)
    tables = await of_postgres(pool)
    assert len(tables["impressions"]) == 6
    assert [error["error"].partition(":")[0] for error in tables["faults"].values()] == ["RowsRefusedError"]
    await log.close()


# -- both logs ---------------------------------------------------------------------------------------------------------


async def embedded() -> EmbeddedLog:
    log = EmbeddedLog(None, now=lambda: EPOCH)
    for topic in TOPICS:
        await log.create_topic(topic, PARTITIONS)
    return log


async def append(log: Log, names: TopicNames, values: Sequence[bytes], partition: int = 0) -> None:
    appender = await log.appender()
    await appender.append(partition, [Outgoing(names.of(TOPIC), None, value) for value in values])
    await appender.close()


async def projected(log: Log, pool: Any, names: TopicNames = TopicNames(), wanted: int | None = None) -> None:  # noqa: B008
    """Project everything, as the role does, in small batches."""
    projector = Projector(
        log, PostgresStore(pool), SystemClock(), contact_ids=CONTACT_IDS, topics=(TOPIC,), names=names, limits=SMALL
    )
    projector.assign(range(PARTITIONS))
    async with asyncio.timeout(60):
        while await projector.run_once(0.1) or (wanted is not None and projector.decisions_written < wanted):
            pass
    await projector.close()


@pytest.fixture(params=["embedded", "kafka"])
async def place(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Log, TopicNames]]:
    if request.param == "embedded":
        log = await embedded()
        yield log, TopicNames()
        await log.close()
        return
    prefix = request.getfixturevalue("topic_prefix")
    world = KafkaWorld(request.getfixturevalue("kafka_bootstrap"), prefix)
    await world.create(*TOPICS, partitions=PARTITIONS)
    yield world.log, TopicNames(prefix)
    await world.close()


async def test_what_is_appended_by_visitor_is_shown_once_from_either_log(place: tuple[Log, TopicNames], pool: Any) -> None:
    log, names = place
    appender = await log.appender()
    queue = LogImpressions(log, names=names, appender=appender)
    sent = [impression(number % 9, number) for number in range(60)]
    await asyncio.gather(*(queue.append(sent[start : start + 20]) for start in (0, 20, 40)))
    await queue.append(sent[:20])  # a client that got no answer
    await projected(log, pool, names, wanted=80)
    rows = (await of_postgres(pool))["impressions"].values()
    assert sorted(row["uuid"] for row in rows) == sorted(one.uuid for one in sent)
    assert len({row["id"] for row in rows}) == 60
    assert all(0 < row["id"] < 2**53 for row in rows)
    partitions = {visitor: {row["partition"] for row in rows if row["visitor_id"] == visitor} for visitor in ("v1", "v8")}
    assert all(len(found) == 1 for found in partitions.values())
    await queue.close()
    await appender.close()


# -- retention and rebuild ---------------------------------------------------------------------------------------------


async def test_impressions_are_purged_when_their_time_is_over(pool: Any) -> None:
    records = records_of([(0, number) for number in range(10)])
    await project(PostgresStore(pool), records, [])
    assert await Purge(pool).run(START + IMPRESSION_RETENTION_MS) == 0
    assert await Purge(pool).run(START + IMPRESSION_RETENTION_MS + 4) == 4
    assert len((await of_postgres(pool))["impressions"]) == 6


def _rebuild(dsn: str, log: Log, pool: Any, now: Instant = START + 60_000) -> Rebuild:
    class At(SystemClock):
        def now(self) -> Instant:
            return now

    return Rebuild(log=log, pool=pool, clock=At(), dsn=dsn, contact_ids=CONTACT_IDS, limits=QUICK)


async def test_a_rebuild_has_the_same_impressions_and_finds_one_that_differs(migrated_database: str, pool: Any) -> None:
    log = await embedded()
    for partition in range(PARTITIONS):
        values = [to_json(impression(partition, number % 15, START + number)) for number in range(20)]
        await append(log, TopicNames(), values, partition)
    await projected(log, pool)
    before: Tables = await of_postgres(pool)
    assert len(before["impressions"]) == 30
    assert (await verify(_rebuild(migrated_database, log, pool))).differences == []
    outcome = await rebuild(_rebuild(migrated_database, log, pool), accept=False)
    assert (outcome.swapped, outcome.differences, outcome.gaps) == (True, [], 0)
    await pool.expire_connections()
    assert await of_postgres(pool) == before
    status = await status_of(log, pool, Clock(), migrated_database)
    assert (status.lag, {one.table for one in status.tables}) == (0, {"impressions"})
    await pool.execute("UPDATE read.impressions SET page_url = 'https://example.com/forged' WHERE id = 1024")
    (difference,) = (await verify(_rebuild(migrated_database, log, pool))).differences or []
    assert (difference.table, difference.place, difference.changed) == ("impressions", "impressions[0]", ("7/1024",))
    await log.close()


async def test_a_rebuild_leaves_out_what_is_over_and_keeps_what_only_the_log_has_deleted(
    migrated_database: str, pool: Any
) -> None:
    log = await embedded()
    values = [to_json(impression(0, number, START + number * DAY)) for number in range(10)]
    await append(log, TopicNames(), values)
    await projected(log, pool)
    now = START + IMPRESSION_RETENTION_MS + 2 * DAY + 1
    await Purge(pool).run(now)
    await log.delete_records(TOPIC, 0, before=6)  # an operator has shortened the retention of the topic
    await projected(log, pool)
    outcome = await rebuild(_rebuild(migrated_database, log, pool, now), accept=False)
    assert (outcome.swapped, outcome.differences, outcome.carried) == (True, [], 3)
    await pool.expire_connections()
    rows = (await of_postgres(pool))["impressions"].values()
    assert sorted(row["page_url"][-1] for row in rows) == ["3", "4", "5", "6", "7", "8", "9"]
    await log.close()


async def test_a_flood_of_impressions_takes_one_connection_and_bounded_batches(pool: Any) -> None:
    """What is decided is written beside it: the other connections of the pool are free."""
    log = await embedded()
    for partition in range(PARTITIONS):
        await append(log, TopicNames(), [to_json(impression(partition, number)) for number in range(1_200)], partition)
    sizes, writing, most = [], 0, 0

    class Counting(PostgresStore):
        async def write(self, batch: Any) -> None:
            nonlocal writing, most
            writing += 1
            most = max(most, writing)
            sizes.append(len(batch.impressions))
            await super().write(batch)
            writing -= 1

    projector = Projector(
        log, Counting(pool), SystemClock(), contact_ids=CONTACT_IDS, topics=(TOPIC,), limits=IMPRESSION_LIMITS
    )
    projector.assign(range(PARTITIONS))
    stop = asyncio.Event()
    running = asyncio.create_task(projector.run(stop))
    async with asyncio.timeout(60):
        while projector.decisions_written < 2_400:
            await asyncio.sleep(0.01)
    stop.set()
    await running
    await projector.close()
    assert (most, sum(sizes)) == (1, 2_400)
    assert max(sizes) <= IMPRESSION_LIMITS.records_max
    await log.close()


async def test_a_topic_that_is_not_there_yet_is_named_and_is_followed_once_it_is(pool: Any) -> None:
    """As in an upgrade, until `leadclock topics create` has run."""
    log = EmbeddedLog(None, now=lambda: EPOCH)
    projector = Projector(log, PostgresStore(pool), SystemClock(), contact_ids=CONTACT_IDS, topics=(TOPIC,), limits=SMALL)
    projector.assign(range(PARTITIONS))
    stop = asyncio.Event()
    running = asyncio.create_task(projector.run(stop))
    async with asyncio.timeout(30):
        while TOPIC not in projector.problems().get(TOPIC, ""):
            await asyncio.sleep(0.01)
        await log.create_topic(TOPIC, PARTITIONS)
        await append(log, TopicNames(), [to_json(impression(0, 1))])
        while projector.decisions_written < 1:
            await asyncio.sleep(0.01)
        assert projector.problems() == {}
    stop.set()
    await running
    await projector.close()
    await log.close()
