"""How does a database get its tables? By numbered files, each applied once, in order, in one transaction, never changed.

`migrations/read/*.sql` and `migrations/work/*.sql`; a file's name says whether it runs before (`_pre_`) or after (`_post_`)
the release that needs it is deployed. Each schema remembers its own files, so a dropped `read` schema is built again.

Until 0.1.0 is released there is one file for each schema, the baseline, which is edited in place. Row 0 of each table
`migrations` is the digest of the development version that made the schema (`adapters/data_digest.py`).
"""

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from importlib.resources import files
from itertools import pairwise
from typing import Any, Literal

import asyncpg
from msgspec import Struct

from adapters.data_digest import data_digest, refuse_schemas
from adapters.postgres.database_errors import convert_connection_errors
from adapters.postgres.sql import Schemas
from adapters.settings import database_location
from schemas.errors import DependencyError

Phase = Literal["pre", "post"]
Which = Literal["read", "work"]

BOTH: tuple[Which, ...] = ("work", "read")

LOCK_KEY = 0x6C656164636C6F63
"""`leadcloc` as a number: the advisory lock that serializes migrations of a database."""

CONNECT_SECONDS = 10.0
LOCK_SECONDS = 60
"""Timeout of waiting for another migration, or for a table in use."""

_FILE = re.compile(r"(\d{4})_(pre|post)_[a-z0-9_]+\.sql")


class MigrationError(DependencyError):
    """The files and the database disagree, or a file failed; nothing of that file was applied."""


class Migration(Struct, frozen=True):
    """One file: `schema` is `read` or `work`, whatever the schema is called in the database."""

    schema: Which
    number: int
    phase: Phase
    name: str
    text: str

    @property
    def checksum(self) -> str:
        """Return the SHA-256 of the file as it is shipped."""
        return sha256(self.text.encode()).hexdigest()


class Status(Struct, frozen=True):
    """A line of `status`: a file, and whether it is applied."""

    schema: str
    name: str
    phase: Phase
    applied: bool


def migrations() -> list[Migration]:
    """Return every shipped file in the order in which they are applied."""
    found = [migration for schema in BOTH for migration in _of(schema)]
    for earlier, later in pairwise(found):
        if earlier.schema == later.schema and earlier.number == later.number:
            raise MigrationError(f"{earlier.name} and {later.name} have the same number")
    return found


async def migrate(
    dsn: str,
    *,
    phase: Phase | None = None,
    schemas: Schemas = Schemas(),  # noqa: B008 - frozen
    only: Sequence[Which] = BOTH,
) -> list[str]:
    """Apply missing files and return their names.

    `phase="pre"` stops before the first missing file that runs after the deployment; `phase="post"` applies all.
    `only` limits the schemas.
    Raises `MigrationError` if an applied file is unknown or has changed, or a file fails; `OtherDataError`; and
    `DatabaseAwayError`.
    """
    async with _locked(dsn) as connection:
        await check_digests(connection, dsn, schemas, only=only)
        applied = await _applied(connection, schemas, only=only)
        done: list[str] = []
        for migration in _missing(applied):
            if migration.schema not in only:
                continue
            if phase == "pre" and migration.phase == "post":
                break
            await _apply(connection, migration, schemas)
            done.append(migration.name)
        return done


async def status(dsn: str, *, schemas: Schemas = Schemas()) -> list[Status]:  # noqa: B008 - frozen
    """Return every shipped file and whether it is applied; read-only. Raises as `migrate`."""
    with convert_connection_errors(dsn):
        connection = await asyncpg.connect(dsn, timeout=CONNECT_SECONDS)
        try:
            await check_digests(connection, dsn, schemas)
            applied = await _applied(connection, schemas, create=False)
        finally:
            await connection.close()
    missing = {(migration.schema, migration.number) for migration in _missing(applied)}
    return [Status(item.schema, item.name, item.phase, (item.schema, item.number) not in missing) for item in migrations()]


async def check_digests(
    connection: Any,
    dsn: str,
    schemas: Schemas = Schemas(),  # noqa: B008 - frozen
    *,
    only: Sequence[Which] = BOTH,
) -> None:
    """Compare the digest of each schema that has tables of ours. Raises `OtherDataError`."""
    others: dict[str, str | None] = {}
    for schema in only:
        if await connection.fetchval(_of_schema(_EXISTS, schemas, schema)) is None:
            continue
        found: str | None = await connection.fetchval(_of_schema(_DIGEST, schemas, schema))
        if found != data_digest():
            others[schemas.read if schema == "read" else schemas.work] = found
    if others:
        raise refuse_schemas(database_location(dsn), sorted(others), next(iter(others.values())))


def _of(schema: Which) -> Iterator[Migration]:
    folder = files(__package__).joinpath("migrations", schema)
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        match = _FILE.fullmatch(path.name)
        if match is None:
            raise MigrationError(f"{path.name} is not called NNNN_pre_name.sql or NNNN_post_name.sql")
        phase: Phase = "pre" if match[2] == "pre" else "post"
        yield Migration(schema, int(match[1]), phase, path.name, path.read_text())


def _missing(applied: dict[tuple[str, int], tuple[str, str]]) -> list[Migration]:
    shipped = {(migration.schema, migration.number): migration for migration in migrations()}
    for key, (name, checksum) in applied.items():
        if key not in shipped:
            raise MigrationError(f"the database has {name}, which this release does not know: it is newer")
        if shipped[key].checksum != checksum:
            raise MigrationError(
                f"{name} was changed after it had been applied: undo that, and add a new file. Until 0.1.0 is released the "
                "baselines are edited in place: type DROP SCHEMA read, work CASCADE in psql, and run `leadclock db migrate`"
            )
    return [migration for key, migration in shipped.items() if key not in applied]


@asynccontextmanager
async def _locked(dsn: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """Connect and take the lock of migrations."""
    with convert_connection_errors(dsn):
        connection = await asyncpg.connect(
            dsn, timeout=CONNECT_SECONDS, server_settings={"lock_timeout": f"{LOCK_SECONDS}s"}
        )
    try:
        await connection.execute("SELECT pg_advisory_lock($1)", LOCK_KEY)
        yield connection
    except asyncpg.LockNotAvailableError as error:
        raise MigrationError(f"waited {LOCK_SECONDS} s for another migration or a table in use") from error
    finally:
        await connection.close()  # releases the lock


async def _applied(
    connection: "asyncpg.Connection[asyncpg.Record]", schemas: Schemas, *, create: bool = True, only: Sequence[Which] = BOTH
) -> dict[tuple[str, int], tuple[str, str]]:
    found: dict[tuple[str, int], tuple[str, str]] = {}
    for schema in only:
        if create:
            await connection.execute(_of_schema(_CREATE, schemas, schema).replace("{digest}", data_digest()))
        elif await connection.fetchval(_of_schema(_EXISTS, schemas, schema)) is None:
            continue
        rows = await connection.fetch(_of_schema(_APPLIED, schemas, schema))
        found |= {(schema, row["number"]): (row["name"], row["checksum"]) for row in rows}
    return found


async def _apply(connection: "asyncpg.Connection[asyncpg.Record]", migration: Migration, schemas: Schemas) -> None:
    try:
        async with connection.transaction():
            await connection.execute(schemas.fill(migration.text))
            await connection.execute(
                _of_schema(_REMEMBER, schemas, migration.schema),
                migration.number,
                migration.name,
                migration.checksum,
            )
    except asyncpg.LockNotAvailableError:
        raise
    except asyncpg.PostgresError as error:
        raise MigrationError(f"{migration.name}: {error}") from error


def _of_schema(statement: str, schemas: Schemas, schema: str) -> str:
    return statement.replace("{schema}", schemas.read if schema == "read" else schemas.work)


_CREATE = """
CREATE SCHEMA IF NOT EXISTS {schema};
CREATE TABLE IF NOT EXISTS {schema}.migrations (
    number      integer      NOT NULL PRIMARY KEY,
    name        text         NOT NULL,
    checksum    text         NOT NULL,
    applied_at  timestamptz  NOT NULL DEFAULT now()
);
INSERT INTO {schema}.migrations (number, name, checksum) VALUES (0, 'development version', '{digest}')
ON CONFLICT DO NOTHING;
"""
_DIGEST = "SELECT checksum FROM {schema}.migrations WHERE number = 0"
_EXISTS = "SELECT to_regclass('{schema}.migrations')"
_APPLIED = "SELECT number, name, checksum FROM {schema}.migrations WHERE number > 0"
_REMEMBER = "INSERT INTO {schema}.migrations (number, name, checksum) VALUES ($1, $2, $3)"
