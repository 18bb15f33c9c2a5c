"""Do the settings, the topics and the database belong to one deployment? Both store its identity; every process compares.

It is written to unused topics; used ones without it have lost it. Those whose identity has another digest beside it are of
another development version (`adapters/data_digest.py`). Both list the topics that were made, so that none is made again
in the place of one that is lost (`adapters/roles/made_topics.py`). A database that was used without an identity gets one
only by `leadclock topics adopt`: otherwise a process with a wrong setting would take over another deployment's database.
"""

import asyncio
import secrets
import uuid
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from importlib import import_module
from typing import Any

import structlog
from msgspec import Struct

from adapters.clock import wall_now
from adapters.data_digest import data_digest
from adapters.kafka.topics import PAGE, PARTITIONS, Drift
from adapters.retry import Backoff, retry, retry_until_stopped
from adapters.roles.broker import describe
from adapters.roles.context import Context, prepare, smaller_topics, topics_of
from adapters.roles.made_topics import (
    PresentTopics,
    describe_losses,
    find_other_prefixes,
    find_present,
    find_written,
    name_losses,
    name_prefixes,
)
from adapters.roles.role import Role
from adapters.roles.table import NEEDS_SECRET
from adapters.secret_fingerprint import secret_fingerprint
from adapters.settings import PREFIX, Settings, database_location
from engine.identity import CONTACT_ID_SECRET_BYTES
from engine.partition.ports import LogError, Outgoing
from schemas.deployment import (
    DIGEST_HEADER,
    PARTITION,
    AddedTopics,
    Deployment,
    added_topics_key,
    deployment_key,
    with_topics,
)
from schemas.errors import DependencyError
from schemas.instant import EPOCH, Instant
from schemas.topics import ACCOUNTS_REQUESTS, ACCOUNTS_RULES, ACCOUNTS_STATE, CONTACTS_REQUESTS, CONTACTS_STATE, TOPICS
from schemas.wire import to_json

USED = (CONTACTS_REQUESTS, CONTACTS_STATE, ACCOUNTS_REQUESTS, ACCOUNTS_STATE, ACCOUNTS_RULES)
"""Topics that every role has written to or read, once a deployment works."""

ESTABLISH_SECONDS = 20.0
"""Just after creating topics, a broker may take longer to answer about them than one request waits."""

RETRY_SECONDS_MIN = 0.1
RETRY_SECONDS_MAX = 2.0

logger = structlog.get_logger(__name__)


class IdentityError(DependencyError):
    """The settings, the topics and the database are not of one deployment; `str(error)` names both and what to do."""


class NotPreparedError(DependencyError):
    """Topics or database are not prepared yet; `str(error)` says by which command they are."""


class LostTopicsError(NotPreparedError):
    """Topics of a deployment that exists are lost; `str(error)` names them, and the page with the way back."""


class MadeTopics(Struct, frozen=True):
    """What was done to the topics: `identity` is None where they differ in a way that has to be corrected first."""

    created: Sequence[str]
    drifts: Sequence[Drift]
    identity: Deployment | None


async def check(context: Context, *, with_database: bool) -> Deployment:
    """Return the identity that settings, topics and (if asked for) the database have in common.

    Raises `IdentityError` where they differ, `OtherDataError`, `NotPreparedError` where there is none yet, or not any more,
    `LogError`, `DatabaseAwayError`.
    """
    found = await read_identity(context)
    if found is None:
        raise await _no_identity(context, with_database=with_database)
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

    It lists the topics that the database knows as well.

    Raises `IdentityError` where the settings or the database are of another deployment, `LostTopicsError` where the database
    is of one and the topics have no identity, `OtherDataError` where topics or database are of another development version,
    `LogError`, `DatabaseAwayError`.
    """
    found = await find_identity(context)
    if found is not None:
        _compare_settings(found, context.settings)
    stored = await read_database_identity(context.settings.postgres_dsn) if with_database else None
    if stored is not None and found is None:
        raise await _lost_identity(context, stored)
    if stored is not None and found is not None:
        _compare_database(context, found, stored)
        found = with_topics(found, AddedTopics(topics=stored.topics))
    return found


async def make_topics(context: Context, known: Deployment | None, *, is_demo: bool = False) -> MadeTopics:
    """Create what is missing of a deployment that is begun, or what a release adds to one that exists, and identify it.

    `known` is what `check_before_creating` returned. Raises `LostTopicsError` where something is lost: then nothing was
    created. Raises `IdentityError`, `OtherDataError`, `LogError`.
    """
    present = await find_present(context)
    await _refuse_lost(context, known, present)
    created, drifts = await prepare(context, known)
    if known is None and any(drift.setting == PARTITIONS for drift in drifts):
        return MadeTopics(created, drifts, None)
    identity = await establish(context, is_demo=is_demo)
    return MadeTopics(created, drifts, await _add_topics(context, identity))


async def _refuse_lost(context: Context, known: Deployment | None, present: PresentTopics) -> None:
    """Raise `LostTopicsError` where topics are not those that were made, or hold records without an identity."""
    if known is not None:
        if losses := describe_losses(known.topics, present, context.settings.topic_prefix):
            raise LostTopicsError(name_losses(context, losses))
        return
    written = await find_written(context, (topic for topic in TOPICS if topic.name in present.ids))
    if written and await find_identity(context) is None:  # another process may have written it meanwhile
        raise LostTopicsError(_no_identity_but(context, written))


def _no_identity_but(context: Context, written: Sequence[str]) -> str:
    rules = context.names.of(ACCOUNTS_RULES.name)
    return (
        f"{topics_of(context.settings)} are of a deployment that exists: {', '.join(written)} hold records, and {rules} "
        f"does not hold its identity. Nothing is made in the place of what was lost: stop every process, and see {PAGE}"
    )


async def _add_topics(context: Context, identity: Deployment) -> Deployment:
    """Record the topics that the identity does not list yet: those that a release has added."""
    present = await find_present(context)
    added = AddedTopics(topics={name: found for name, found in present.ids.items() if name not in identity.topics})
    if not added.topics:
        return identity
    await append_identity(context, added_topics_key(identity.id, added.topics), to_json(added))
    return with_topics(identity, added)


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
        present = await find_present(context)
        await _refuse_lost(context, None, present)
        made = _new(context.settings, present.ids, await context.cluster_id(), is_demo=is_demo)
        await append_identity(context, deployment_key(made), to_json(made))
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


async def append_identity(context: Context, key: bytes, value: bytes) -> None:
    """Append a record of the identity to `accounts.rules`, with the digest of this version. Raises `LogError`."""
    topic, digest = context.names.of(ACCOUNTS_RULES.name), ((DIGEST_HEADER, data_digest().encode()),)
    appender = await context.log.appender()
    try:
        await appender.append(PARTITION, [Outgoing(topic, key, value, digest)])
    finally:
        await appender.close()


def _new(settings: Settings, topics: dict[str, str], cluster_id: str, *, is_demo: bool) -> Deployment:
    wall_at, domain_at, speed = _clock(settings)
    return Deployment(
        id=str(uuid.uuid4()),
        topic_prefix=settings.topic_prefix,
        app=settings.app,
        contact_id_secret=secrets.token_bytes(CONTACT_ID_SECRET_BYTES),
        clock_wall_at=wall_at,
        clock_domain_at=domain_at,
        clock_speed=speed,
        is_demo=is_demo,
        created_at=wall_now(),
        partitions=settings.partitions,
        topics=topics,
        cluster_id=cluster_id,
        site=settings.site,
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


def _compare_database(context: Context, found: Deployment, stored: Deployment) -> None:
    if stored.id != found.id:
        raise IdentityError(
            f"{topics_of(context.settings)} are of deployment {found.id}, and the database "
            f"{database_location(context.settings.postgres_dsn)} is of deployment {stored.id}: correct "
            f"{PREFIX}KAFKA_BOOTSTRAP and {PREFIX}TOPIC_PREFIX, or {PREFIX}POSTGRES_DSN"
        )


async def _lost_identity(context: Context, stored: Deployment) -> LostTopicsError:
    """Return the error for topics without an identity beside a database that has one."""
    settings = context.settings
    database = f"the database {database_location(settings.postgres_dsn)} is of deployment {stored.id}"
    present = await find_present(context)
    if stored.topic_prefix == settings.topic_prefix and present.ids:
        losses = describe_losses(stored.topics, present, settings.topic_prefix)
        rules = f"{context.names.of(ACCOUNTS_RULES.name)} does not hold its identity"
        return LostTopicsError(f"{database}. {name_losses(context, losses or [rules])}")
    others = name_prefixes(await find_other_prefixes(context))
    return LostTopicsError(
        f"{topics_of(settings)} have no identity, and {database}, whose {PREFIX}TOPIC_PREFIX is {stored.topic_prefix!r}: "
        f"correct {PREFIX}KAFKA_BOOTSTRAP and {PREFIX}TOPIC_PREFIX, or {PREFIX}POSTGRES_DSN; where the topics are lost, see "
        f"{PAGE}" + (f". {others}" if others else "")
    )


async def _no_identity(context: Context, *, with_database: bool) -> NotPreparedError:
    """Return the error for topics without an identity. A role's ACLs may hide whether they were used."""
    stored = await read_database_identity(context.settings.postgres_dsn) if with_database else None
    if stored is not None:
        return await _lost_identity(context, stored)
    try:
        written = await find_written(context, USED)
    except LogError as error:
        if error.retryable:
            raise
        written = []
    if written:
        return LostTopicsError(_no_identity_but(context, written))
    others = name_prefixes(await find_other_prefixes(context))
    return NotPreparedError(
        f"{topics_of(context.settings)} have no identity yet: run `leadclock topics create`"
        + (f". {others}" if others else "")
    )


def _database() -> Any:
    """Return the module that reads the database, loaded only where there is one: a scheduler starts without it."""
    return import_module("adapters.postgres.identity")
