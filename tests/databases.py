"""How does a test get a database with our tables? As a copy of a template, which the run migrates once.

Copying takes a third of the time of creating and migrating. All copies have one incarnation, that of the template: it is
older than every command of a test, so a gateway takes them all. Tests of migrations and of incarnations migrate an empty
database themselves.
"""

import fcntl
import os
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from adapters.postgres.migrate import migrate

FOLDER_VARIABLE = "LEADCLOCK_TEST_FOLDER"
"""Set by the run itself and inherited by its workers: the folder of the run's servers."""
TEMPLATE = "leadclock_test_template"
CONNECT_SECONDS = 60.0
"""Longer than a busy machine takes for anything."""


async def create_migrated_database(postgres_dsn: str, name: str) -> str:
    """Create database `name` with our tables on the run's server and return its DSN; the caller drops it."""
    await _make_template(postgres_dsn)
    # Copying the files costs half of what copying by the write-ahead log does, which is the default.
    await administer(postgres_dsn, f"CREATE DATABASE {name} TEMPLATE {TEMPLATE} STRATEGY file_copy")
    return dsn_of(postgres_dsn, name)


async def drop_database(postgres_dsn: str, name: str) -> None:
    """Drop a database of the run's server, and end what is still connected to it."""
    await administer(postgres_dsn, f"DROP DATABASE {name} WITH (FORCE)")


@asynccontextmanager
async def migrated(postgres_dsn: str) -> AsyncIterator[str]:
    """Yield the DSN of a fresh database with our tables, dropped afterwards."""
    name = f"test_{uuid.uuid4().hex}"
    dsn = await create_migrated_database(postgres_dsn, name)
    try:
        yield dsn
    finally:
        await drop_database(postgres_dsn, name)


def dsn_of(postgres_dsn: str, name: str) -> str:
    """Return the DSN of another database of the same server."""
    return urlunsplit(urlsplit(postgres_dsn)._replace(path=f"/{name}"))


async def administer(postgres_dsn: str, statement: str) -> None:
    """Run a statement that makes or drops a database."""
    connection = await asyncpg.connect(postgres_dsn, timeout=CONNECT_SECONDS)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def _make_template(postgres_dsn: str) -> None:
    """Migrate the template; the first worker that asks does it, the others wait for it."""
    folder = Path(os.environ[FOLDER_VARIABLE])
    made = folder / "template.made"
    if made.exists():
        return
    with (folder / "template.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if made.exists():
            return
        await administer(postgres_dsn, f"DROP DATABASE IF EXISTS {TEMPLATE}")  # of a worker that died on its way
        await administer(postgres_dsn, f"CREATE DATABASE {TEMPLATE}")
        await migrate(dsn_of(postgres_dsn, TEMPLATE))
        await administer(postgres_dsn, f"ALTER DATABASE {TEMPLATE} ALLOW_CONNECTIONS false")
        made.touch()
