"""What does a proof run on? A broker and a database of its own, with topics and a database that are deleted at the end."""

import contextlib
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg
from aiokafka.admin import AIOKafkaAdminClient

from adapters.local.resolution import broker, database
from adapters.roles.context import specs
from adapters.settings import SANDBOX_CHANNELS, Settings

SESSION_SECONDS = 6.0
"""The least that a broker grants by default."""

CONNECT_SECONDS = 10.0


@contextlib.asynccontextmanager
async def own_servers(folder: Path, say: Callable[[str], None], *, partitions: int) -> AsyncIterator[Settings]:
    """Yield the settings of a fresh deployment whose files are in `folder`. Raises `LocalServerError`."""
    open_to_the_database(folder)
    async with contextlib.AsyncExitStack() as stack:
        opened = await stack.enter_async_context(broker(folder, choice="kafka"))
        say(opened.sentence)
        stored = await stack.enter_async_context(database(folder))
        dsn = await stack.enter_async_context(_own_database(stored.dsn))
        settings = fresh_settings(folder, bootstrap=opened.bootstrap, dsn=dsn, partitions=partitions)
        stack.push_async_callback(_delete_topics, settings)
        yield settings


def fresh_settings(folder: Path, *, bootstrap: str, dsn: str, partitions: int) -> Settings:
    """Return the settings of a deployment of its own: topics, groups and transactional ids of its own."""
    name = f"proof-{uuid.uuid4().hex[:8]}"
    return Settings(
        kafka_bootstrap=bootstrap,
        kafka_session_seconds=SESSION_SECONDS,
        topic_prefix=f"{name}.",
        app=name,
        partitions=partitions,
        postgres_dsn=dsn,
        secret_key=uuid.uuid4().hex * 2,
        state_dir=str(folder / "state"),
        sandbox=SANDBOX_CHANNELS,
    )


def open_to_the_database(folder: Path) -> None:
    """Make a folder that the database, which may run as another user, can reach its own folder through."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)


@contextlib.asynccontextmanager
async def _own_database(dsn: str) -> AsyncIterator[str]:
    name = f"proof_{uuid.uuid4().hex[:8]}"
    await _administer(dsn, f"CREATE DATABASE {name}")
    try:
        yield urlunsplit(urlsplit(dsn)._replace(path=f"/{name}"))
    finally:
        await _administer(dsn, f"DROP DATABASE {name} WITH (FORCE)")


async def _administer(dsn: str, statement: str) -> None:
    connection = await asyncpg.connect(dsn, timeout=CONNECT_SECONDS)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def _delete_topics(settings: Settings) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=settings.kafka_bootstrap)
    await admin.start()
    try:
        await admin.delete_topics([spec.name for spec in specs(settings)])
    finally:
        await admin.close()
