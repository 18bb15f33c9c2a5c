"""Does a process notice that its settings, topics and database are not of one deployment? On the real database."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace

from adapters import retry
from adapters.embedded.log import EmbeddedLog
from adapters.postgres import identity
from adapters.postgres.identity import Presence, read_identity
from adapters.postgres.migrate import migrate
from adapters.roles.context import Context, open_context, prepare
from adapters.roles.identity import (
    IdentifiedRole,
    IdentityError,
    LostTopicsError,
    NotPreparedError,
    check,
    check_before_creating,
    establish,
    establish_database,
    make_topics,
)
from adapters.roles.made_topics import find_present
from adapters.settings import Settings, database_location
from engine.partition.ports import LogError, Outgoing
from schemas.instant import EPOCH

SETTINGS = Settings(kafka_bootstrap="broker:9092", partitions=2)


@pytest.fixture
async def log() -> AsyncIterator[EmbeddedLog]:
    log = EmbeddedLog(None, now=lambda: EPOCH)
    yield log
    await log.close()


@pytest.fixture
async def context(log: EmbeddedLog, database: str) -> AsyncIterator[Context]:
    async with open_context(replace(SETTINGS, postgres_dsn=database), log) as context:
        await prepare(context)
        yield context


async def use(context: Context) -> None:
    """Write what a process of the deployment writes."""
    appender = await context.log.appender()
    await appender.append(1, [Outgoing(context.names.of("contacts.requests"), b"key", b"{}")])
    await appender.close()


async def project(dsn: str) -> None:
    """Note what a projector notes."""
    connection = await asyncpg.connect(dsn)
    await connection.execute("INSERT INTO read.positions (topic, partition, topic_id) VALUES ('t', 0, 'id')")
    await connection.close()


async def test_fresh_topics_and_a_fresh_database_get_one_identity_for_good(context: Context) -> None:
    await migrate(context.settings.postgres_dsn)
    made = await establish(context)
    await establish_database(context, made)
    await use(context)

    assert await establish(context) == made
    assert await check(context, with_database=True) == made
    assert await read_identity(context.settings.postgres_dsn) == made


async def test_a_broker_that_is_slow_to_answer_about_new_topics_is_asked_again(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    refresh, faults = context.rules.refresh, [LogError("opening accounts.rules: no answer in time")] * 2

    async def slow() -> None:
        if faults:
            raise faults.pop()
        await refresh()

    monkeypatch.setattr(context.rules, "refresh", slow)
    assert (await establish(context)).topic_prefix == ""

    faults.append(LogError("not allowed", retryable=False))
    with pytest.raises(LogError, match="not allowed"):
        await establish(context)


async def test_two_that_begin_at_once_agree_on_one_identity(context: Context, log: EmbeddedLog) -> None:
    async with open_context(context.settings, log) as other:
        await asyncio.gather(establish(context), establish(other))
        assert await check(context, with_database=False) == await check(other, with_database=False)


async def test_before_anything_is_prepared_a_process_is_identified_by_its_command(context: Context) -> None:
    with pytest.raises(NotPreparedError, match="leadclock topics create"):
        await check(context, with_database=True)
    made = await establish(context)
    with pytest.raises(NotPreparedError, match="leadclock db migrate"):
        await check(context, with_database=True)
    with pytest.raises(NotPreparedError, match="leadclock db migrate"):
        await establish_database(context, made)
    await migrate(context.settings.postgres_dsn)
    with pytest.raises(NotPreparedError, match="leadclock db migrate"):
        await check(context, with_database=True)


@pytest.mark.parametrize(
    ("topic_prefix", "named"),
    [("", "the topics at broker:9092"), ("blue.", "the topics blue.* at broker:9092")],
)
async def test_topics_without_an_identity_are_named_by_their_prefix_where_they_have_one(
    log: EmbeddedLog, topic_prefix: str, named: str
) -> None:
    async with open_context(replace(SETTINGS, topic_prefix=topic_prefix), log) as context:
        await prepare(context)
        with pytest.raises(NotPreparedError, match="run `leadclock topics create`") as refused:
            await check(context, with_database=False)
    assert str(refused.value).startswith(f"{named} have no identity yet")


async def test_a_database_that_was_used_without_an_identity_gets_one_only_where_it_is_adopted(context: Context) -> None:
    dsn = context.settings.postgres_dsn
    await migrate(dsn)
    await project(dsn)
    made = await establish(context)
    with pytest.raises(IdentityError, match=rf"deployment {made.id}.*leadclock topics adopt"):
        await establish_database(context, made)
    assert await read_identity(dsn) is None

    await establish_database(context, made, adopt=True)
    assert await check(context, with_database=True) == made


async def test_the_database_of_another_deployment_is_refused_with_both_ids_also_where_it_would_be_adopted(
    context: Context, log: EmbeddedLog
) -> None:
    await migrate(context.settings.postgres_dsn)
    made = await establish(context)
    await establish_database(context, made)
    async with open_context(replace(context.settings, topic_prefix="other."), log) as foreign:
        await prepare(foreign)
        other = await establish(foreign)
        for refused in (check(foreign, with_database=True), establish_database(foreign, other, adopt=True)):
            with pytest.raises(IdentityError, match=rf"deployment {other.id}.*deployment {made.id}.*LEADCLOCK_POSTGRES_DSN"):
                await refused


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"app": "second"}, "LEADCLOCK_APP is 'second' here and 'leadclock' there"),
        ({"clock_speed": 600.0}, "LEADCLOCK_CLOCK_SPEED is 600.0 here and 1.0 there"),
        ({"clock_wall_at": 5}, "LEADCLOCK_CLOCK_WALL_AT is 5 here and 0 there"),
    ],
)
async def test_a_process_whose_settings_are_those_of_another_deployment_is_refused(
    context: Context, log: EmbeddedLog, changed: dict[str, Any], named: str
) -> None:
    made = await establish(context)
    async with open_context(replace(context.settings, **changed), log) as foreign:
        for refused in (check(foreign, with_database=False), establish(foreign)):
            with pytest.raises(IdentityError) as raised:
                await refused
            assert named in str(raised.value)
            assert made.id in str(raised.value)


async def test_an_origin_that_changes_nothing_is_the_clock_of_the_wall(context: Context, log: EmbeddedLog) -> None:
    made = await establish(context)
    async with open_context(replace(context.settings, clock_wall_at=5, clock_domain_at=5), log) as same:
        assert await check(same, with_database=False) == made


class Working:
    """A role that works until it is stopped."""

    name = "working"

    def __init__(self) -> None:
        self.works = asyncio.Event()

    async def run(self, stop: asyncio.Event) -> None:
        self.works.set()
        await stop.wait()

    def problems(self) -> dict[str, str]:
        return {}


async def test_a_role_waits_for_its_deployment_to_be_prepared_and_says_so(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "BACKOFF_FIRST_SECONDS", 0.01)
    monkeypatch.setattr(retry, "BACKOFF_MAX_SECONDS", 0.01)
    inner, stop = Working(), asyncio.Event()
    role = IdentifiedRole(inner, context, with_database=True)
    running = asyncio.create_task(role.run(stop))
    async with asyncio.timeout(60):
        while "topics create" not in role.problems().get("deployment", ""):
            await asyncio.sleep(0.01)
        made = await establish(context)
        while "db migrate" not in role.problems().get("deployment", ""):
            await asyncio.sleep(0.01)
        assert not inner.works.is_set()
        await migrate(context.settings.postgres_dsn)
        await establish_database(context, made)
        await inner.works.wait()
    assert role.problems() == {}
    stop.set()
    await running


async def test_a_role_of_another_deployment_ends_before_it_works(context: Context, log: EmbeddedLog) -> None:
    await establish(context)
    inner = Working()
    async with open_context(replace(context.settings, app="second"), log) as foreign:
        with pytest.raises(IdentityError, match="LEADCLOCK_APP"):
            await IdentifiedRole(inner, foreign, with_database=False).run(asyncio.Event())
    assert not inner.works.is_set()


async def test_a_process_that_uses_the_database_is_seen_by_who_wants_to_be_alone_and_not_once_it_has_ended(
    database: str,
) -> None:
    async with Presence(database, "leadclock api"), asyncio.timeout(60):
        while not (found := await alone(database)):
            await asyncio.sleep(0.01)
        assert found == ["leadclock api"]
    assert await alone(database) == []


async def test_a_process_whose_connection_is_cut_is_seen_again(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "RETRY_SECONDS", 0.05)
    async with Presence(database, "leadclock api"), asyncio.timeout(60):
        for _ in range(2):
            while await alone(database) != ["leadclock api"]:
                await asyncio.sleep(0.01)
            connection = await asyncpg.connect(database)
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'leadclock api'"
            )
            await connection.close()


async def test_of_two_that_want_to_be_alone_one_is_and_others_may_come_later(database: str) -> None:
    first, second = Presence(database, "first"), Presence(database, "second")
    found = await asyncio.gather(first.take_alone(), second.take_alone())
    assert sorted(map(bool, found)) == [False, True]
    winner = second if found[0] else first
    async with winner, Presence(database, "leadclock api"), asyncio.timeout(60):
        while len(await alone(database)) < 2:
            await asyncio.sleep(0.01)


async def alone(dsn: str) -> list[str]:
    presence = Presence(dsn, "asking")
    found = await presence.take_alone()
    if not found:
        async with presence:
            pass
    return found


def test_the_place_of_a_database_is_shown_without_its_password() -> None:
    assert database_location("postgresql://leadclock:hunter2@db:5432/leads?sslmode=require") == "db:5432/leads"
    assert "hunter2" not in database_location("host=db password=hunter2")


async def test_an_embedded_log_that_lost_its_files_is_not_begun_again_beside_its_database(context: Context) -> None:
    await migrate(context.settings.postgres_dsn)
    made = await establish(context)
    await establish_database(context, made)
    empty = EmbeddedLog(None, now=lambda: EPOCH)
    async with open_context(context.settings, empty) as again:
        with pytest.raises(LostTopicsError, match=rf"have no identity, and the database .* is of deployment {made.id}"):
            await check_before_creating(again, with_database=True)
        assert (await find_present(again)).ids == {}
    await empty.close()


async def test_a_topic_that_an_embedded_log_lost_is_named_and_not_made_again(context: Context, log: EmbeddedLog) -> None:
    made = await establish(context)
    await log.delete_topic("contacts.state")
    with pytest.raises(
        LostTopicsError, match=rf"contacts\.state is lost: it was made with the id {made.topics['contacts.state']}"
    ):
        await make_topics(context, await check_before_creating(context, with_database=False))
    assert "contacts.state" not in (await find_present(context)).ids
