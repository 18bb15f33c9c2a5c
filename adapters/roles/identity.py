"""Do the settings, the topics and the database belong to one deployment? Both store its identity; every process compares.

It is written to unused topics; used ones without it are of another development version, as are those whose identity has
another digest beside it (`adapters/data_digest.py`). A database that was used without an identity gets one only by
`leadclock topics adopt`: otherwise a process with a wrong setting would take over the database of another deployment.
"""

import asyncio
import uuid
from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import partial
from importlib import import_module
from typing import Any

import structlog

from adapters.clock import wall_now
from adapters.data_digest import OtherDataError, data_digest, refuse_topics
from adapters.retry import Backoff, retry, retry_until_stopped
from adapters.roles.broker import describe
from adapters.roles.context import Context, smaller_topics, topics_of
from adapters.roles.role import Role
from adapters.roles.table import NEEDS_SECRET
from adapters.secret_fingerprint import secret_fingerprint
from adapters.settings import PREFIX, Settings, database_location
from engine.partition.ports import LogError, Outgoing
from schemas.deployment import DIGEST_HEADER, PARTITION, Deployment, deployment_key
from schemas.errors import DependencyError
from schemas.instant import EPOCH, Instant
from schemas.topics import ACCOUNTS_REQUESTS, ACCOUNTS_RULES, ACCOUNTS_STATE, CONTACTS_REQUESTS, CONTACTS_STATE
from schemas.wire import to_json

USED = (CONTACTS_REQUESTS, CONTACTS_STATE, ACCOUNTS_REQUESTS, ACCOUNTS_STATE, ACCOUNTS_RULES)
"""Topics that only our own processes write to: a deployment whose topics are all empty is unused."""

ESTABLISH_SECONDS = 20.0
"""Just after creating topics, a broker may take longer to answer about them than one request waits."""

RETRY_SECONDS_MIN = 0.1
RETRY_SECONDS_MAX = 2.0

logger = structlog.get_logger(__name__)


class IdentityError(DependencyError):
    """The settings, the topics and the database are not of one deployment; `str(error)` names both and what to do."""


class NotPreparedError(DependencyError):
    """Topics or database are not prepared yet; `str(error)` says by which command they are."""


async def check(context: Context, *, with_database: bool) -> Deployment:
    """Return the identity that settings, topics and (if asked for) the database have in common.

    Raises `IdentityError` where they differ, `OtherDataError`, `NotPreparedError` where there is none yet, `LogError`,
    `DatabaseAwayError`.
    """
    found = await read_identity(context)
    if found is None:
        raise await _no_identity(context)
    _compare_settings(found, context.settings)
    if with_database:
        database = _database()
        try:
            stored = await database.read_identity(context.settings.postgres_dsn)
        except database.NotMigratedError as error:
            raise NotPreparedError(str(error)) from error
        if stored is None:
            where = database_location(context.settings.postgres_dsn)
            raise NotPreparedError(f"the database {where} has no identity yet: run `leadclock db migrate`")
        _compare_database(context, found, stored)
    return found


async def check_before_creating(context: Context, *, with_database: bool) -> Deployment | None:
    """Check the identity before anything is created or migrated; return that of the topics, None where they have none yet.

    Raises `IdentityError` where the settings or the database are of another deployment, `OtherDataError` where topics or
    database are of another development version, `LogError`, `DatabaseAwayError`.
    """
    found = await find_identity(context)
    if found is not None:
        _compare_settings(found, context.settings)
    stored = await read_database_identity(context.settings.postgres_dsn) if with_database else None
    if stored is not None:
        _compare_database(context, found, stored)
    return found


async def read_database_identity(dsn: str) -> Deployment | None:
    """Return the identity that a database has, or None, also where it has no tables yet.

    Raises `OtherDataError`, `DatabaseAwayError`.
    """
    database = _database()
    try:
        stored: Deployment | None = await database.read_identity(dsn)
    except database.NotMigratedError:
        return None
    return stored


async def establish(context: Context, *, is_demo: bool = False) -> Deployment:
    """Return the identity that the topics have; write it where they are unused.

    Retries for `ESTABLISH_SECONDS`. Raises `IdentityError`, `OtherDataError`, `LogError`.
    """
    return await retry(
        partial(_establish, context, is_demo=is_demo),
        on=_is_transient,
        first_seconds=RETRY_SECONDS_MIN,
        max_seconds=RETRY_SECONDS_MAX,
        timeout_seconds=ESTABLISH_SECONDS,
    )


def _is_transient(error: Exception) -> bool:
    return isinstance(error, LogError) and error.retryable


async def _establish(context: Context, *, is_demo: bool) -> Deployment:
    found = await read_identity(context)
    if found is None:
        if not await is_unused(context):
            raise refuse_topics(topics_of(context.settings), None)
        await _write(context, _new(context.settings, is_demo=is_demo))
        found = await read_identity(context)
    if found is None:
        raise LogError(f"the identity that was written to {topics_of(context.settings)} does not show")
    _compare_settings(found, context.settings)
    return found


async def establish_database(context: Context, found: Deployment, *, adopt: bool = False) -> None:
    """Record the identity of the topics in the database where that has none.

    Raises `IdentityError`, `OtherDataError`, `NotPreparedError` (no tables yet), `DatabaseAwayError`.
    """
    database, dsn = _database(), context.settings.postgres_dsn
    try:
        stored = await database.record_identity(dsn, found, adopt=adopt)
    except database.NotMigratedError as error:
        raise NotPreparedError(str(error)) from error
    if stored is None:
        raise IdentityError(
            f"the database {database_location(dsn)} was used before it had an identity, and "
            f"{topics_of(context.settings)} are of deployment {found.id}: if they belong together, run "
            f"`leadclock topics adopt`; else correct {PREFIX}POSTGRES_DSN"
        )
    _compare_database(context, found, stored)


async def read_identity(context: Context) -> Deployment | None:
    """Return the identity that the topics have now, or None. Raises `OtherDataError`, `LogError`."""
    await context.rules.refresh()
    return context.rules.deployment


async def find_identity(context: Context) -> Deployment | None:
    """Return the identity that the topics have now, or None, also where there are no topics.

    Raises `OtherDataError`, `LogError`.
    """
    try:
        return await read_identity(context)
    except LogError as error:
        if error.retryable:
            raise
        return None


async def is_unused(context: Context) -> bool:
    """Return whether none of our processes has ever written to the topics. Raises `LogError`."""
    for topic in USED:
        name = context.names.of(topic.name)
        partitions = range(await context.log.partition_count(name))
        reader = await context.log.reader(name, partitions)
        try:
            if any([await reader.end(partition) > 0 for partition in partitions]):
                return False
        finally:
            await reader.close()
    return True


class IdentifiedRole:
    """A role that starts once the identity of its deployment is checked."""

    def __init__(self, role: Role, context: Context, *, with_database: bool) -> None:
        self.name = role.name
        self._role = role
        self._context = context
        self._with_database = with_database
        self._problem: str | None = "comparing the identity of the deployment"

    async def run(self, stop: asyncio.Event) -> None:
        """Compare, then work. Raises `IdentityError`, `OtherDataError` where this is another deployment or version."""
        away = (LogError, NotPreparedError, *([_database().DatabaseAwayError] if self._with_database else []))
        await retry_until_stopped(self._compare, stop, on=away, backoff=Backoff(), failed=self._report)
        if stop.is_set():
            return
        async with AsyncExitStack() as stack:
            if self._with_database:
                await stack.enter_async_context(await self._presence())
            await self._role.run(stop)

    async def _presence(self) -> Any:
        """Return what shows others that this process runs, and of which secret key it is."""
        settings, key = self._context.settings, None
        if self.name in NEEDS_SECRET:
            key = await asyncio.to_thread(secret_fingerprint, settings.secret_key, self._context.deployment_id())
        return _database().Presence(settings.postgres_dsn, f"leadclock {self.name}", fingerprint=key)

    def problems(self) -> Mapping[str, str]:
        """Return what keeps the role from being ready."""
        return self._role.problems() if self._problem is None else {"deployment": self._problem}

    async def _compare(self) -> None:
        await check(self._context, with_database=self._with_database)
        await _check_sizes(self._context, self.name)
        self._problem = None

    async def _report(self, error: Exception, seconds: float) -> None:
        """Show in the readiness that broker or database are away or not prepared."""
        self._problem = describe(self._context.settings, error) if isinstance(error, LogError) else str(error)
        await logger.awarning("deployment.check_failed", role=self.name, error=self._problem, retry_in_seconds=seconds)


async def _check_sizes(context: Context, kind: str) -> None:
    """Raise `NotPreparedError` where a topic's `max.message.bytes` is too small for the role. Raises `LogError`."""
    for drift in await smaller_topics(context, kind):
        raise NotPreparedError(
            f"{drift.topic} takes records of {drift.found} bytes at most, {drift.wanted} are needed: run `{drift.fix}`"
        )


async def _write(context: Context, deployment: Deployment) -> None:
    topic, digest = context.names.of(ACCOUNTS_RULES.name), ((DIGEST_HEADER, data_digest().encode()),)
    appender = await context.log.appender()
    try:
        await appender.append(PARTITION, [Outgoing(topic, deployment_key(deployment), to_json(deployment), digest)])
    finally:
        await appender.close()


def _new(settings: Settings, *, is_demo: bool) -> Deployment:
    wall_at, domain_at, speed = _clock(settings)
    return Deployment(
        id=str(uuid.uuid4()),
        topic_prefix=settings.topic_prefix,
        app=settings.app,
        clock_wall_at=wall_at,
        clock_domain_at=domain_at,
        clock_speed=speed,
        is_demo=is_demo,
        created_at=wall_now(),
    )


def _clock(settings: Settings) -> tuple[Instant, Instant, float]:
    """Return origin and speed of the clock; wall time has no origin."""
    if settings.clock_speed == 1.0 and settings.clock_wall_at == settings.clock_domain_at:
        return EPOCH, EPOCH, 1.0
    return settings.clock_wall_at, settings.clock_domain_at, settings.clock_speed


def _compare_settings(found: Deployment, settings: Settings) -> None:
    """Raise `IdentityError` naming every setting that differs from the deployment's."""
    wall_at, domain_at, speed = _clock(settings)
    table: list[tuple[str, Any, Any]] = [
        ("topic_prefix", found.topic_prefix, settings.topic_prefix),
        ("app", found.app, settings.app),
        ("clock_wall_at", found.clock_wall_at, wall_at),
        ("clock_domain_at", found.clock_domain_at, domain_at),
        ("clock_speed", found.clock_speed, speed),
    ]
    wrong = [f"{PREFIX}{name.upper()} is {given!r} here and {made!r} there" for name, made, given in table if made != given]
    if wrong:
        raise IdentityError(
            f"these settings are not those of deployment {found.id}: {'; '.join(wrong)}. Correct them, or give the broker "
            "and the topic prefix of the deployment that is meant"
        )


def _compare_database(context: Context, found: Deployment | None, stored: Deployment) -> None:
    if found is None or stored.id != found.id:
        topics = "have no identity" if found is None else f"are of deployment {found.id}"
        raise IdentityError(
            f"{topics_of(context.settings)} {topics}, and the database "
            f"{database_location(context.settings.postgres_dsn)} is of deployment {stored.id}: correct "
            f"{PREFIX}KAFKA_BOOTSTRAP and {PREFIX}TOPIC_PREFIX, or {PREFIX}POSTGRES_DSN"
        )


async def _no_identity(context: Context) -> OtherDataError | NotPreparedError:
    """Return the error for topics without an identity. A role's ACLs may hide whether they were used."""
    try:
        used = not await is_unused(context)
    except LogError as error:
        if error.retryable:
            raise
        used = False
    if used:
        return refuse_topics(topics_of(context.settings), None)
    return NotPreparedError(f"{topics_of(context.settings)} have no identity yet: run `leadclock topics create`")


def _database() -> Any:
    """Return the module that reads the database, loaded only where there is one: a scheduler starts without it."""
    return import_module("adapters.postgres.identity")
