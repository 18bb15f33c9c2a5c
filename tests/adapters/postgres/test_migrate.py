"""Are tables made once, in order, by one at a time, and never out of a file that was changed?"""

import asyncio
from typing import Any

import asyncpg
import pytest

from adapters.postgres import migrate as migrating
from adapters.postgres.migrate import Migration, MigrationError, migrate, migrations, status
from adapters.postgres.sql import Schemas, queries

FIRST = Migration("read", 1, "pre", "0001_pre_a.sql", "CREATE TABLE {read}.a (n integer)")
SECOND = Migration("read", 2, "post", "0002_post_b.sql", "ALTER TABLE {read}.a ADD COLUMN m integer")
THIRD = Migration("read", 3, "pre", "0003_pre_c.sql", "CREATE TABLE {read}.c (n integer)")


def ship(monkeypatch: pytest.MonkeyPatch, *shipped: Migration) -> None:
    monkeypatch.setattr(migrating, "migrations", lambda: list(shipped))


async def fetch(dsn: str, query: str) -> Any:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def test_an_empty_database_gets_every_file_once(database: str) -> None:
    assert [item.applied for item in await status(database)] == [False] * len(migrations())
    assert await migrate(database) == [migration.name for migration in migrations()]
    assert await migrate(database) == []
    assert all(item.applied for item in await status(database))


async def test_two_at_once_do_it_once(database: str) -> None:
    done = await asyncio.gather(*(migrate(database) for _ in range(4)))
    assert sorted(map(len, done)) == [0, 0, 0, len(migrations())]


async def test_a_dropped_read_schema_is_built_again_and_work_is_left_alone(database: str) -> None:
    await migrate(database)
    begun = await fetch(database, "SELECT born_at FROM work.incarnation")
    await fetch(database, "DROP SCHEMA read CASCADE")
    assert await migrate(database) == [item.name for item in migrations() if item.schema == "read"]
    assert await fetch(database, "SELECT born_at FROM work.incarnation") == begun


async def test_a_projection_is_built_beside_the_other(database: str) -> None:
    await migrate(database)
    beside = Schemas(read="read_next")
    assert await migrate(database, schemas=beside) == [item.name for item in migrations() if item.schema == "read"]
    assert await fetch(database, "SELECT count(*) FROM read_next.leads") == 0
    assert "read_next.leads" in queries("reads", beside)["lead_by_id"]


@pytest.mark.parametrize("name", ["", "Read", 'x"', "a.b", "a b", "1a", "read; --", "x" * 64])
def test_a_schema_name_that_would_need_quotes_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not a schema name"):
        Schemas(read=name)


async def test_files_before_the_deployment_stop_at_the_first_one_after_it(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ship(monkeypatch, FIRST, SECOND, THIRD)
    assert await migrate(database, phase="pre") == [FIRST.name]
    assert [item.applied for item in await status(database)] == [True, False, False]
    assert await migrate(database, phase="post") == [SECOND.name, THIRD.name]


async def test_a_file_that_was_changed_is_refused(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ship(monkeypatch, FIRST)
    await migrate(database)
    ship(monkeypatch, Migration("read", 1, "pre", FIRST.name, FIRST.text + " "), SECOND)
    with pytest.raises(MigrationError, match="was changed"):
        await migrate(database)
    with pytest.raises(MigrationError, match="was changed"):
        await status(database)


async def test_a_database_of_a_newer_release_is_refused(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ship(monkeypatch, FIRST, THIRD)
    await migrate(database)
    ship(monkeypatch, FIRST)
    with pytest.raises(MigrationError, match="newer"):
        await migrate(database)


async def test_a_file_that_fails_leaves_nothing_and_keeps_those_before(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = Migration("read", 2, "pre", "0002_pre_bad.sql", "CREATE TABLE {read}.b (n integer); SELECT 1 / 0")
    ship(monkeypatch, FIRST, bad)
    with pytest.raises(MigrationError, match=r"0002_pre_bad\.sql: division by zero"):
        await migrate(database)
    assert await fetch(database, "SELECT to_regclass('read.b') IS NULL AND to_regclass('read.a') IS NOT NULL")
    ship(monkeypatch, FIRST, THIRD)
    assert await migrate(database) == [THIRD.name]


def test_every_query_is_named_and_speaks_of_schemas_by_placeholder() -> None:
    schemas = Schemas(read="r1", work="w1")
    for file in ("projection", "reads", "idempotency", "retention", "deliveries"):
        found = queries(file, schemas)
        assert found
        for name, text in found.items():
            assert text, name
            assert "{read}" not in text, name
            assert " read." not in text, name
            assert " work." not in text, name
