"""What does `leadclock doctor` look at, and in which order? What depends on no other comes first; nothing stays changed."""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

from adapters.clock import wall_now
from adapters.data_digest import OtherDataError
from adapters.doctor.broker import (
    check_broker_clock,
    check_brokers,
    check_certificates,
    check_kafka_settings,
    check_login,
    check_topics,
    is_incomplete,
)
from adapters.doctor.database import check_database, check_migrations
from adapters.doctor.deployment import (
    check_carrier_accounts,
    check_channels,
    check_command_order,
    check_contact_holds,
    check_identity,
    check_mail_accounts,
    check_numbers,
    check_secret_keys,
    check_site,
    read_serving,
)
from adapters.doctor.findings import Finding, failure, warning
from adapters.doctor.losses import check_losses
from adapters.doctor.machine import check_disk, check_secret, check_telephone_metadata, check_versions
from adapters.doctor.mail import check_mail
from adapters.doctor.recordings import check_recordings
from adapters.errors import StoreError
from adapters.postgres.database_errors import DatabaseAwayError
from adapters.reads.ports import ReadsUnavailableError, Serving
from adapters.roles.broker import describe
from adapters.roles.context import Context, open_context, versions
from adapters.roles.identity import find_identity, read_database_identity
from adapters.settings import Settings
from engine.partition.ports import LogError
from schemas.deployment import AddedTopics, with_topics

Work = Callable[[], Awaitable[list[Finding]]]


async def examine(settings: Settings) -> AsyncIterator[Finding]:
    """Yield a finding for everything that is looked at, as it is found."""
    metadata = check_telephone_metadata(versions()["phonenumbers"], wall_now())
    for finding in (*check_versions(), *metadata, *check_secret(settings), *check_disk(settings)):
        yield finding
    serving = Serving()
    has_database = False
    if settings.postgres_dsn:
        async for finding in _examine_database(settings.postgres_dsn):
            has_database = has_database or finding.check == "migrations"
            yield finding
        if has_database:
            serving = await _serving(settings.postgres_dsn)
    else:
        yield warning("database", "LEADCLOCK_POSTGRES_DSN is not set, so none was looked at", "set it")
    async for finding in _examine_broker(settings, serving, has_database=has_database):
        yield finding
    for finding in await check_mail(settings, is_served="email" in serving.channels):
        yield finding
    for finding in await check_recordings(settings):
        yield finding


async def _examine_database(dsn: str) -> AsyncIterator[Finding]:
    try:
        for finding in (*await check_database(dsn), *await check_migrations(dsn)):
            yield finding
    except DatabaseAwayError as error:
        yield failure("database", f"{error}", "correct that first: what depends on the database was not looked at")


async def _serving(dsn: str) -> Serving:
    """Return which channels are served; none where the tables are not there, which `migrations` reports."""
    try:
        return await read_serving(dsn)
    except ReadsUnavailableError:
        return Serving()


async def _examine_broker(settings: Settings, serving: Serving, *, has_database: bool) -> AsyncIterator[Finding]:
    if not settings.kafka_bootstrap:
        yield warning("broker", "LEADCLOCK_KAFKA_BOOTSTRAP is not set, so none was looked at", "set it")
        return
    found = check_kafka_settings(settings)
    if not any(finding.level == "failure" for finding in found):
        found += [*await check_certificates(settings), *await check_login(settings)]
    for finding in found:
        yield finding
    if any(finding.level == "failure" for finding in found):
        return
    async with open_context(settings) as context:
        is_away = False
        for finding in await _brokers(context):
            is_away = is_away or (finding.check, finding.level) == ("broker", "failure")
            yield finding
        if is_away:
            return
        async for finding in _examine_topics(context, serving, has_database=has_database):
            yield finding


async def _examine_topics(context: Context, serving: Serving, *, has_database: bool) -> AsyncIterator[Finding]:
    """Yield what topics are like, and what they hold; only the first where one is missing."""
    found = await _caught("topics", partial(_check_topics, context, has_database=has_database))
    for finding in found:
        yield finding
    if is_incomplete(found):
        return
    for check, work in _of_context(context, serving, has_database=has_database).items():
        for finding in await _caught(check, work):
            yield finding


async def _check_topics(context: Context, *, has_database: bool) -> list[Finding]:
    """Compare the topics by the identity of both; those of another development version are what `identity` reports."""
    try:
        known = await find_identity(context)
        stored = await read_database_identity(context.settings.postgres_dsn) if has_database else None
    except OtherDataError:
        return []
    if (
        stored is not None
        and (known is None or known.id == stored.id)
        and stored.topic_prefix == context.settings.topic_prefix
    ):
        known = with_topics(known or stored, AddedTopics(topics=stored.topics))
    return await check_topics(context, known)


async def _brokers(context: Context) -> list[Finding]:
    try:
        return await check_brokers(context)
    except LogError as error:
        cure = "correct that first: what depends on it was not looked at"
        return [failure("broker", describe(context.settings, error), cure)]


async def _caught(check: str, work: Work) -> list[Finding]:
    try:
        return await work()
    except (LogError, DatabaseAwayError, StoreError) as error:
        return [failure(check, str(error), "correct that, then run this again")]


def _of_context(context: Context, serving: Serving, *, has_database: bool) -> dict[str, Work]:
    """Return the examinations that read topics; the identity comes before what depends on it."""
    works: dict[str, Work] = {
        "identity": partial(check_identity, context, with_database=has_database),
        "continuity": partial(check_losses, context, with_database=has_database),
        "site": partial(check_site, context),
        "clock and broker": partial(check_broker_clock, context),
        "contact holds": partial(check_contact_holds, context),
        "numbers": partial(check_numbers, context),
        "mail accounts": partial(check_mail_accounts, context),
        "carrier accounts": partial(check_carrier_accounts, context),
    }
    if has_database:
        works["commands"] = partial(check_command_order, context.settings.postgres_dsn)
        works["secret keys"] = partial(check_secret_keys, context)
        works["channels"] = partial(check_channels, context, serving)
    return works
