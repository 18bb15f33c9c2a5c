"""Are tables made once, in order, by one at a time, and never out of a file that was changed?"""

import asyncio
from pathlib import Path
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


async def test_of_four_at_once_one_applies_every_file(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = (f"CREATE TABLE {{read}}.t{number} (n integer)" for number in range(1, 60))
    files = [Migration("read", number, "pre", f"{number:04}_pre_t.sql", text) for number, text in enumerate(texts, 1)]
    ship(monkeypatch, *files)
    done = await asyncio.gather(*(migrate(database) for _ in range(4)))
    assert sorted(map(len, done)) == [0, 0, 0, len(files)]


def place(folder: Path, *names: str) -> None:
    """Put files of a schema each into a folder, in place of the shipped ones."""
    for name in ("read", "work"):
        (folder / "migrations" / name).mkdir(parents=True)
    for name in names:
        (folder / "migrations" / name).write_text(f"SELECT '{name}'")


def test_files_are_shipped_by_schema_and_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrating, "files", lambda _package: tmp_path)
    place(tmp_path, "read/0010_pre_b.sql", "read/0002_post_a.sql", "work/0011_pre_d.sql", "work/0001_pre_c.sql")
    assert [(item.schema, item.number, item.phase, item.name, item.text) for item in migrations()] == [
        ("work", 1, "pre", "0001_pre_c.sql", "SELECT 'work/0001_pre_c.sql'"),
        ("work", 11, "pre", "0011_pre_d.sql", "SELECT 'work/0011_pre_d.sql'"),
        ("read", 2, "post", "0002_post_a.sql", "SELECT 'read/0002_post_a.sql'"),
        ("read", 10, "pre", "0010_pre_b.sql", "SELECT 'read/0010_pre_b.sql'"),
    ]


@pytest.mark.parametrize(
    ("names", "fault"),
    [
        (("read/1_pre_a.sql",), "1_pre_a.sql is not called NNNN_pre_name.sql"),
        (("work/0001_a.sql",), "0001_a.sql is not called NNNN_pre_name.sql"),
        (("read/0001_pre_a.sql", "read/0001_post_b.sql"), "0001_post_b.sql and 0001_pre_a.sql have the same number"),
    ],
)
def test_files_whose_order_is_not_clear_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], fault: str
) -> None:
    monkeypatch.setattr(migrating, "files", lambda _package: tmp_path)
    place(tmp_path, *names)
    with pytest.raises(MigrationError, match=fault):
        migrations()


def test_there_is_one_file_for_each_schema_until_the_first_release() -> None:
    assert [(item.schema, item.name) for item in migrations()] == [
        ("work", "0001_pre_baseline.sql"),
        ("read", "0001_pre_baseline.sql"),
    ]


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
    with pytest.raises(MigrationError, match="was changed") as refused:
        await migrate(database)
    with pytest.raises(MigrationError, match="was changed"):
        await status(database)
    assert "type DROP SCHEMA read, work CASCADE in psql, and run `leadclock db migrate`" in str(refused.value)
    await fetch(database, "DROP SCHEMA read, work CASCADE")
    assert await migrate(database) == [FIRST.name, SECOND.name]


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
