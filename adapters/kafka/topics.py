"""Are the topics there, and are they set as this version needs them? Missing ones are created; existing ones never altered.

What differs comes back as `Drift` with the command that mends it, for an operator to run. (aiokafka's `alter_configs`
would set every other key of the topic back to its default.)
"""

import asyncio
from collections.abc import Sequence

from aiokafka import errors
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from msgspec import Struct

from adapters.kafka.catalog import Catalog
from adapters.kafka.connection import FAILURES, Connection, refusal
from engine.partition.ports import LogError

REPLICAS_WANTED = 3
"""Where the cluster has fewer brokers, as many as it has."""

CREATE_SECONDS = 30.0
"""Creating dozens of partitions takes a small broker seconds."""

VISIBLE_RETRY_SECONDS = 0.05


class TopicSpec(Struct, frozen=True):
    """One topic as it is needed: full name, partition count, and Kafka's own configuration keys and values."""

    name: str
    partitions: int
    configs: dict[str, str] = {}


class Drift(Struct, frozen=True):
    """One difference: `setting` is a configuration key or `partitions`; `mend` is a command line for an operator."""

    topic: str
    setting: str
    wanted: str
    found: str
    mend: str


async def prepare_topics(
    connection: Connection, specs: Sequence[TopicSpec], *, replicas: int | None = None
) -> tuple[list[str], list[Drift]]:
    """Create the missing topics and return their names, and how the others differ. Raises `LogError`.

    Safe to run from several processes at once; returns when every topic can be used.
    """
    catalog = Catalog(connection)
    try:
        present = await catalog.find([spec.name for spec in specs])
        missing = [spec for spec in specs if spec.name not in present]
        created = []
        if missing:
            replicas = replicas or min(REPLICAS_WANTED, await catalog.broker_count())
            created = await _create(connection, missing, replicas)
            await _until_visible(catalog, [spec.name for spec in missing])
        there_before = [spec for spec in specs if spec.name not in created]
        return created, await _compare(catalog, connection, there_before)
    finally:
        await catalog.close()


async def compare_topics(connection: Connection, specs: Sequence[TopicSpec]) -> list[Drift]:
    """Return how the topics differ; a missing one is a drift of `partitions` from 0. Changes nothing. Raises `LogError`."""
    catalog = Catalog(connection)
    try:
        return await _compare(catalog, connection, specs)
    finally:
        await catalog.close()


async def _create(connection: Connection, specs: Sequence[TopicSpec], replicas: int) -> list[str]:
    """Return the names that we created; a topic that another process created meanwhile is not an error."""
    wanted = [NewTopic(spec.name, spec.partitions, replicas, topic_configs=spec.configs) for spec in specs]
    admin = AIOKafkaAdminClient(**connection.options(request_timeout_seconds=CREATE_SECONDS))
    try:
        async with asyncio.timeout(CREATE_SECONDS):
            await admin.start()
            response = await admin.create_topics(wanted, timeout_ms=int(CREATE_SECONDS * 1000))
    except FAILURES as error:
        raise refusal(error, "creating topics") from error
    finally:
        await admin.close()
    created = []
    # The library raises for none of them: each topic has its own error code.
    for name, error_code, message in response.topic_errors:
        if error_code == errors.NoError.errno:
            created.append(name)
        elif error_code != errors.TopicAlreadyExistsError.errno:
            raise refusal(errors.for_code(error_code)(message), f"creating {name}")
    return created


async def _until_visible(catalog: Catalog, names: Sequence[str]) -> None:
    """Wait until brokers answer for the topics: they learn of them a moment after the controller."""
    try:
        async with asyncio.timeout(CREATE_SECONDS):
            while len(await _visible(catalog, names)) < len(names):  # noqa: ASYNC110  # only the broker knows
                await asyncio.sleep(VISIBLE_RETRY_SECONDS)
    except TimeoutError as error:
        raise LogError(f"topics were created but do not show: {', '.join(names)}") from error


async def _visible(catalog: Catalog, names: Sequence[str]) -> set[str]:
    try:
        return set(await catalog.find(list(names)))
    except LogError as error:
        if not error.retryable:
            raise
        return set()  # a new partition has no leader yet


async def _compare(catalog: Catalog, connection: Connection, specs: Sequence[TopicSpec]) -> list[Drift]:
    present = await catalog.find([spec.name for spec in specs])
    drifts: list[Drift] = []
    for spec in specs:
        count = present[spec.name].partition_count if spec.name in present else 0
        if count != spec.partitions:
            drifts.append(_partition_drift(connection, spec, count))
        if count:
            found = await catalog.configs(spec.name)
            drifts.extend(_config_drifts(connection, spec, found))
    return drifts


def _partition_drift(connection: Connection, spec: TopicSpec, count: int) -> Drift:
    """More partitions would send known keys to other partitions, so the only way is a new topic."""
    tool = f"kafka-topics.sh --bootstrap-server {connection.bootstrap}"
    create = f"{tool} --create --topic {spec.name} --partitions {spec.partitions}"
    for key, value in sorted(spec.configs.items()):
        create += f" --config {key}={value}"
    mend = f"{tool} --delete --topic {spec.name} && {create}  # deletes every record of it" if count else create
    return Drift(spec.name, "partitions", str(spec.partitions), str(count), mend)


def _config_drifts(connection: Connection, spec: TopicSpec, found: dict[str, str]) -> list[Drift]:
    drifts = []
    for key, wanted in sorted(spec.configs.items()):
        is_set = found.get(key, "")
        if set(wanted.split(",")) != set(is_set.split(",")):  # a list (`compact,delete`) has no order
            mend = (
                f"kafka-configs.sh --bootstrap-server {connection.bootstrap} --alter --entity-type topics"
                f" --entity-name {spec.name} --add-config {key}={_quoted(wanted)}"
            )
            drifts.append(Drift(spec.name, key, wanted, is_set, mend))
    return drifts


def _quoted(value: str) -> str:
    """Return a list in the brackets that kafka-configs.sh wants, quoted for a shell; any other value as it is."""
    return f"'[{value}]'" if "," in value else value
