"""How do settings lead to a log, and which error names a broker that does not answer?

Apart from `context`, for commands that need the log alone.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from adapters.embedded.remote import EMBEDDED, RemoteLog
from adapters.kafka.connection import KafkaConnection
from adapters.kafka.log import KafkaLog
from adapters.roles.kafka_security import security_of
from adapters.settings import PREFIX, Settings, SettingsError
from engine.partition.ports import Log, LogError


class LogUnavailableError(LogError):
    """The broker of the settings does not answer; `str(error)` names it, the reason and what to do."""


@asynccontextmanager
async def open_log(settings: Settings) -> AsyncIterator[Log]:
    """Connect to the log alone, to read it. Raises `LogUnavailableError` where it does not answer."""
    log = log_of(settings)
    try:
        with describing_log_errors(settings):
            yield log
    finally:
        await log.close()


def log_of(settings: Settings) -> Log:
    """Return the log of the settings: a broker's, or the embedded one of a running `up` through its log server."""
    return _embedded_log_of_up(settings) if settings.kafka_bootstrap.startswith(EMBEDDED) else _kafka(settings)


@contextmanager
def describing_log_errors(settings: Settings) -> Iterator[None]:
    """Turn a log that does not answer into `LogUnavailableError`, which names it and what to do."""
    try:
        yield
    except LogError as error:
        if not error.retryable:
            raise
        raise LogUnavailableError(describe(settings, error)) from error


def describe(settings: Settings, error: LogError) -> str:
    """Return one sentence about a failure of the log: which broker, what is wrong, and what to do."""
    bootstrap = settings.kafka_bootstrap
    if not error.retryable or not bootstrap or bootstrap.startswith(EMBEDDED) or isinstance(error, LogUnavailableError):
        return str(error)
    return f"Kafka at {bootstrap} does not answer ({error}); start it, or correct {PREFIX}KAFKA_BOOTSTRAP"


def connection_of(settings: Settings) -> KafkaConnection:
    """Return how the brokers of the settings are reached. Raises `SettingsError` where none are named."""
    if not settings.kafka_bootstrap:
        raise SettingsError("LEADCLOCK_KAFKA_BOOTSTRAP is not set (host:port of a broker, or --kafka-bootstrap)")
    return KafkaConnection(settings.kafka_bootstrap, settings.app, security_of(settings))


def _embedded_log_of_up(settings: Settings) -> RemoteLog:
    port = settings.kafka_bootstrap.removeprefix(EMBEDDED)
    if not port.isdecimal():
        raise SettingsError(
            f"LEADCLOCK_KAFKA_BOOTSTRAP is {settings.kafka_bootstrap!r}; it is host:port, or {EMBEDDED} and a port"
        )
    return RemoteLog(int(port), settings.secret_key)


def _kafka(settings: Settings) -> KafkaLog:
    return KafkaLog(
        settings.kafka_bootstrap,
        client_id=settings.app,
        app=settings.app,
        security=security_of(settings),
        compression=None if settings.kafka_compression == "none" else settings.kafka_compression,
    )
