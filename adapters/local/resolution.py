"""Which broker and which database are used? The first that can run, in a fixed order; a sentence gives the reason.

Broker: the one that the caller names; a managed Apache Kafka; a container, where an engine answers; the embedded log.
Database: the one that the caller names; a managed PostgreSQL, from the wheel or else the system's programs.
The environment's settings are never read here: a demo or a test must not use a deployment by accident.
"""

import asyncio
import contextlib
import importlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from adapters.local.jars import JarsUnavailableError
from adapters.local.kafka import managed_kafka, port_is_open
from adapters.local.postgres import database_answers, managed_postgres
from adapters.local.process import LocalServerError

BOOTSTRAP_VARIABLE = "LEADCLOCK_KAFKA_BOOTSTRAP"
DSN_VARIABLE = "LEADCLOCK_POSTGRES_DSN"
EMBEDDED = "embedded"  # in place of a bootstrap address
ENGINE_SECONDS = 3  # a container engine on this machine answers in milliseconds

BrokerChoice = Literal["auto", "kafka", "embedded"]


class UnavailableError(LocalServerError):
    """No server can run; gives the reason for each possibility."""


class Broker(msgspec.Struct, frozen=True, kw_only=True):
    """What carries the topics.

    `bootstrap` is `host:port`, or "embedded"; `ports` are all that one of ours listens on; `sentence` says what it
    is and why; `check` raises LocalServerError once a broker that we run has ended by itself.
    """

    bootstrap: str
    kind: Literal["given", "managed", "container", "embedded"]
    sentence: str
    check: Callable[[], None]
    ports: tuple[int, ...] = ()


class Database(msgspec.Struct, frozen=True, kw_only=True):
    """Where the read schema lives; `dsn` holds the password. `sentence` and `check` are as a Broker's."""

    dsn: str
    kind: Literal["given", "managed"]
    sentence: str
    check: Callable[[], None]


@contextlib.asynccontextmanager
async def broker(
    data_dir: Path, *, choice: BrokerChoice = "auto", given: str = "", environ: Mapping[str, str] = os.environ
) -> AsyncIterator[Broker]:
    """Serve a broker for as long as the context lasts: the `given` one (`host:port`), else one that fits the choice.

    `environ` says where Java and Maven are. Raises UnavailableError.
    """
    async with contextlib.AsyncExitStack() as stack:
        yield await (_given_broker(given) if given else _broker(stack, data_dir, choice, environ))


@contextlib.asynccontextmanager
async def database(data_dir: Path, *, durable: bool = True, given: str = "") -> AsyncIterator[Database]:
    """Serve a database for as long as the context lasts: the `given` one (a DSN), else one of this machine.

    Not `durable` is for data that is thrown away at the end. Raises UnavailableError.
    """
    if given:
        yield await _given_database(given)
        return
    async with managed_postgres(data_dir, durable=durable) as postgres:
        sentence = f"PostgreSQL of this machine, its data in {data_dir / 'postgres'}"
        yield Database(dsn=postgres.dsn, kind="managed", sentence=sentence, check=postgres.process.check)


async def _broker(
    stack: contextlib.AsyncExitStack, data_dir: Path, choice: BrokerChoice, environ: Mapping[str, str]
) -> Broker:
    if choice == EMBEDDED:
        return _embedded("as asked for")
    reasons = []
    possibilities: tuple[Callable[[], Awaitable[Broker]], ...] = (
        lambda: _managed_broker(stack, data_dir, environ),
        lambda: _container_broker(stack),
    )
    for serve in possibilities:
        try:
            return await serve()
        except UnavailableError as error:
            reasons.append(str(error))
    if choice == "kafka":
        raise UnavailableError("no Kafka can be had: " + "; ".join(reasons))
    return _embedded("; ".join(reasons))


async def _given_broker(bootstrap: str) -> Broker:
    """Take the named broker if one of its addresses accepts connections; never fall back to another one."""
    for address in bootstrap.split(","):
        host, _, port = address.strip().rpartition(":")
        if port.isdigit() and await port_is_open(host.strip("[]"), port):
            sentence = f"Kafka at {bootstrap}, as {BOOTSTRAP_VARIABLE} says"
            return Broker(bootstrap=bootstrap, kind="given", sentence=sentence, check=_check_nothing)
    raise UnavailableError(f"no broker accepts connections at {bootstrap}, which {BOOTSTRAP_VARIABLE} names")


async def _managed_broker(stack: contextlib.AsyncExitStack, data_dir: Path, environ: Mapping[str, str]) -> Broker:
    try:
        kafka = await stack.enter_async_context(managed_kafka(data_dir, environ=environ))
    except JarsUnavailableError as error:
        raise UnavailableError(str(error)) from error
    sentence = f"Apache Kafka of this machine, its data in {data_dir / 'kafka'}"
    return Broker(bootstrap=kafka.bootstrap, kind="managed", sentence=sentence, check=kafka.process.check, ports=kafka.ports)


async def _container_broker(stack: contextlib.AsyncExitStack) -> Broker:
    """Run a broker in a container; a blocking library of the developers' group, so it is loaded late and in a thread."""

    def start() -> Any:
        try:
            docker = importlib.import_module("docker")
            kafka = importlib.import_module("testcontainers.community.kafka")
        except ImportError:
            raise UnavailableError("testcontainers is not installed") from None
        try:
            docker.from_env(timeout=ENGINE_SECONDS).ping()
        except docker.errors.DockerException:
            raise UnavailableError("no container engine answers") from None
        container = kafka.KafkaContainer().with_kraft().with_env("KAFKA_AUTO_CREATE_TOPICS_ENABLE", "false")
        try:
            return container.start()
        except Exception as error:  # whatever keeps an image from being had or started, the next possibility is tried
            container.stop()
            raise UnavailableError(f"the container did not start: {error}") from error

    container = await asyncio.to_thread(start)
    stack.push_async_callback(asyncio.to_thread, container.stop)
    bootstrap = container.get_bootstrap_server()
    return Broker(bootstrap=bootstrap, kind="container", sentence="Apache Kafka in a container", check=_check_nothing)


def _embedded(reason: str) -> Broker:
    sentence = f"THE EMBEDDED LOG, NOT KAFKA: {reason}"
    return Broker(bootstrap=EMBEDDED, kind="embedded", sentence=sentence, check=_check_nothing)


async def _given_database(dsn: str) -> Database:
    reason = await database_answers(dsn)
    if reason is not None:
        raise UnavailableError(f"the database that {DSN_VARIABLE} names does not answer: {reason}")
    sentence = f"PostgreSQL as {DSN_VARIABLE} says"
    return Database(dsn=dsn, kind="given", sentence=sentence, check=_check_nothing)


def _check_nothing() -> None:
    """Do nothing: we do not run this server."""
