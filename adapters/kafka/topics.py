"""Do the topics exist, replicated and configured as this version needs? Create missing ones; never alter existing ones.

A difference is returned as `Drift`, with the command that corrects it, for an operator to run. (aiokafka's `alter_configs`
would reset every other key of the topic to its default.)
"""

import asyncio
import json
from collections.abc import Sequence

from aiokafka import errors
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from msgspec import Struct
from msgspec.structs import replace

from adapters.kafka.cluster_metadata import ClusterMetadata, TopicDescription
from adapters.kafka.connection import CLIENT_ERRORS, TRANSACTION_TIMEOUT_MS, KafkaConnection, to_log_error
from adapters.kafka.lifecycle import starting
from engine.partition.ports import LogError

REPLICAS_WANTED = 3
"""Where the cluster has fewer brokers, as many as it has."""

INSYNC_MAX = 2
"""Of three replicas: what is acknowledged survives the loss of one broker, and one may be away while we write."""

AT_LEAST = frozenset({"min.insync.replicas"})

INTERNAL = ("__consumer_offsets", "__transaction_state")
"""Kafka's own topics: without them no role finds its offsets and no transaction ends. Kafka creates them itself."""

HIDDEN_FIX = "leadclock topics acls --apply operator=User:…  # as a user who may; it allows Describe"

CREATE_TOPICS = "leadclock topics create"
"""The cure of a topic that a release adds; it refuses to make one that is lost."""

PAGE = "deploy/docs/backup.md, What was lost"
"""Where the way back of each topic is written."""

LOST = f"see {PAGE}: it was made once, and is not made again"
TOO_MANY_PARTITIONS = f"see {PAGE}: Kafka takes no partition away"

PARTITIONS = "partitions"
"""The name of this setting in a `Drift`, and in `TopicSpec.at_least` where a topic may have more of them."""

CREATE_SECONDS = 30.0
"""Creating dozens of partitions takes a small broker seconds."""

VISIBLE_RETRY_SECONDS = 0.05


class TopicSpec(Struct, frozen=True):
    """One topic as it is needed: full name, partition count, and Kafka's own configuration keys and values.

    An operator may set more than is needed of the keys in `at_least`; -1 is without a bound. `is_fixed`: the topic is of a
    deployment whose partition count is recorded. `was_made`: if it is missing, it is lost.
    """

    name: str
    partitions: int
    configs: dict[str, str] = {}
    at_least: frozenset[str] = frozenset()
    is_fixed: bool = False
    was_made: bool = False


class Drift(Struct, frozen=True):
    """One difference: `setting` is a configuration key, `partitions` or `replicas`; `fix` is a command for an operator.

    `topic` is `broker N` where a broker is set wrongly.
    """

    topic: str
    setting: str
    wanted: str
    found: str
    fix: str


async def prepare_topics(
    connection: KafkaConnection, specs: Sequence[TopicSpec], *, replicas: int | None = None
) -> tuple[list[str], list[Drift]]:
    """Create the missing topics and return their names, and how the others differ. Raises `LogError`.

    Safe to run from several processes at once; returns when every topic can be used.
    """
    metadata = ClusterMetadata(connection)
    try:
        replicas = await _replicas(metadata, replicas)
        specs = [_durable(spec, replicas) for spec in specs]
        present = await metadata.find([spec.name for spec in specs])
        missing = [spec for spec in specs if spec.name not in present]
        created = []
        if missing:
            created = await _create(connection, missing, replicas)
            await _until_visible(metadata, [spec.name for spec in missing])
        there_before = [spec for spec in specs if spec.name not in created]
        return created, await _compare(metadata, connection, there_before, replicas)
    finally:
        await metadata.close()


async def compare_topics(
    connection: KafkaConnection, specs: Sequence[TopicSpec], *, replicas: int | None = None
) -> list[Drift]:
    """Return how the topics differ; a missing one is a drift of `partitions` from 0. Changes nothing. Raises `LogError`."""
    metadata = ClusterMetadata(connection)
    try:
        replicas = await _replicas(metadata, replicas)
        return await _compare(metadata, connection, [_durable(spec, replicas) for spec in specs], replicas)
    finally:
        await metadata.close()


async def find_too_small(connection: KafkaConnection, names: Sequence[str], bytes_min: int) -> list[Drift]:
    """Return which topics take no records of this size; one that is missing is not looked at. Raises `LogError`."""
    metadata = ClusterMetadata(connection)
    key = "max.message.bytes"
    try:
        drifts: list[Drift] = []
        for name in await metadata.find(list(names)):
            found = {key: (await metadata.configs(name))[key]}
            spec = TopicSpec(name, 1, {key: str(bytes_min)}, frozenset({key}))
            drifts.extend(_config_drifts(connection, spec, found))
        return drifts
    finally:
        await metadata.close()


async def _replicas(metadata: ClusterMetadata, asked: int | None) -> int:
    return asked or min(REPLICAS_WANTED, len(await metadata.brokers()))


def _durable(spec: TopicSpec, replicas: int) -> TopicSpec:
    """Return a topic that also says how many replicas acknowledge, and that none without all records becomes the leader."""
    durable = {
        "min.insync.replicas": str(min(INSYNC_MAX, max(1, replicas - 1))),
        "unclean.leader.election.enable": "false",
    }
    return replace(spec, configs=durable | spec.configs, at_least=spec.at_least | AT_LEAST)


async def _create(connection: KafkaConnection, specs: Sequence[TopicSpec], replicas: int) -> list[str]:
    """Return the names that we created; a topic that another process created meanwhile is not an error."""
    wanted = [NewTopic(spec.name, spec.partitions, replicas, topic_configs=spec.configs) for spec in specs]
    admin = AIOKafkaAdminClient(**connection.options(request_timeout_seconds=CREATE_SECONDS))
    try:
        async with asyncio.timeout(CREATE_SECONDS):
            with starting():
                await admin.start()
            response = await admin.create_topics(wanted, timeout_ms=int(CREATE_SECONDS * 1000))
    except CLIENT_ERRORS as error:
        raise to_log_error(error, "creating topics") from error
    finally:
        await admin.close()
    created = []
    # The library raises for none of them: each topic has its own error code.
    for name, error_code, message in response.topic_errors:
        if error_code == errors.NoError.errno:
            created.append(name)
        elif error_code != errors.TopicAlreadyExistsError.errno:
            raise to_log_error(errors.for_code(error_code)(message), f"creating {name}")
    return created


async def _until_visible(metadata: ClusterMetadata, names: Sequence[str]) -> None:
    """Wait until brokers know the topics: they learn of them a moment after the controller."""
    try:
        async with asyncio.timeout(CREATE_SECONDS):
            while len(await _visible(metadata, names)) < len(names):  # noqa: ASYNC110  # only the broker knows
                await asyncio.sleep(VISIBLE_RETRY_SECONDS)
    except TimeoutError as error:
        raise LogError(f"topics were created but do not show: {', '.join(names)}") from error


async def _visible(metadata: ClusterMetadata, names: Sequence[str]) -> set[str]:
    try:
        return set(await metadata.find(list(names)))
    except LogError as error:
        if not error.retryable:
            raise
        return set()  # a new partition has no leader yet


async def _compare(
    metadata: ClusterMetadata, connection: KafkaConnection, specs: Sequence[TopicSpec], replicas: int
) -> list[Drift]:
    present = await metadata.find([spec.name for spec in specs])
    hidden: set[str] = set()
    internal = await metadata.find(list(INTERNAL), hidden=hidden)
    brokers = await metadata.brokers()
    drifts: list[Drift] = []
    for spec in specs:
        count = present[spec.name].partition_count if spec.name in present else 0
        drifts.extend(_partition_drift(connection, spec, count))
        if count:
            drifts.extend(_replica_drifts(connection, present[spec.name], replicas, brokers))
            drifts.extend(_config_drifts(connection, spec, await metadata.configs(spec.name)))
    for topic in internal.values():
        drifts.extend(_replica_drifts(connection, topic, replicas, brokers))
    drifts.extend(Drift(name, "replicas", str(replicas), "not shown to this user", HIDDEN_FIX) for name in sorted(hidden))
    for broker in brokers:
        drifts.extend(await _broker_drifts(metadata, connection, broker))
    return drifts


def _partition_drift(connection: KafkaConnection, spec: TopicSpec, count: int) -> list[Drift]:
    """Return that a topic has another number of partitions. None of the cures deletes a topic: it may hold the truth.

    Kafka takes no partition away, and more of them would send known keys to other partitions. So partitions are added only
    where a deployment has no identity yet, which it gets once its topics are right.
    """
    if count == spec.partitions or (count > spec.partitions and PARTITIONS in spec.at_least):
        return []
    if not count:
        fix = LOST if spec.was_made else CREATE_TOPICS
    elif spec.is_fixed:
        fix = TOO_MANY_PARTITIONS
    elif count > spec.partitions:
        fix = f"{CREATE_TOPICS} --partitions {count}  # sets LEADCLOCK_PARTITIONS for this once: set it everywhere"
    else:
        tool = f"kafka-topics.sh --bootstrap-server {connection.bootstrap}"
        fix = f"{tool} --alter --topic {spec.name} --partitions {spec.partitions}"
    return [Drift(spec.name, PARTITIONS, str(spec.partitions), str(count), fix)]


def _replica_drifts(
    connection: KafkaConnection, topic: TopicDescription, wanted: int, brokers: Sequence[int]
) -> list[Drift]:
    """Return that some partition has fewer replicas than are wanted, with a plan that adds brokers in turn."""
    found = min(len(replicas) for replicas in topic.replicas.values())
    if found >= wanted:
        return []
    plan = []
    for partition, replicas in topic.replicas.items():
        others = [broker for broker in brokers if broker not in replicas]
        turned = others[partition % len(others) :] + others[: partition % len(others)] if others else []
        grown = [*replicas, *turned[: max(0, wanted - len(replicas))]]
        plan.append({"topic": topic.name, "partition": partition, "replicas": grown})
    text = json.dumps({"version": 1, "partitions": plan}, separators=(",", ":"))
    fix = (
        f"echo '{text}' > {topic.name}.json && kafka-reassign-partitions.sh --bootstrap-server {connection.bootstrap}"
        f" --reassignment-json-file {topic.name}.json --execute"
    )
    return [Drift(topic.name, "replicas", str(wanted), str(found), fix)]


async def _broker_drifts(metadata: ClusterMetadata, connection: KafkaConnection, broker: int) -> list[Drift]:
    """Return that a broker ends our transactions before we do.

    A user that may not see a broker's settings gets no drift here: an owner of a partition gets the error at its start.
    """
    key = "transaction.max.timeout.ms"
    try:
        found = (await metadata.broker_configs(broker)).get(key)
    except LogError as error:
        if error.retryable:
            raise
        return []
    if found is None or int(found) >= TRANSACTION_TIMEOUT_MS:
        return []
    fix = f"{key}={TRANSACTION_TIMEOUT_MS}  # in server.properties of broker {broker} of {connection.bootstrap}; restart"
    return [Drift(f"broker {broker}", key, str(TRANSACTION_TIMEOUT_MS), found, fix)]


def _config_drifts(connection: KafkaConnection, spec: TopicSpec, found: dict[str, str]) -> list[Drift]:
    drifts = []
    for key, wanted in sorted(spec.configs.items()):
        is_set = found.get(key, "")
        if not _is_enough(wanted, is_set, at_least=key in spec.at_least):
            fix = (
                f"kafka-configs.sh --bootstrap-server {connection.bootstrap} --alter --entity-type topics"
                f" --entity-name {spec.name} --add-config {key}={_quoted(wanted)}"
            )
            drifts.append(Drift(spec.name, key, wanted, is_set, fix))
    return drifts


def _is_enough(wanted: str, found: str, *, at_least: bool) -> bool:
    if at_least and found:
        return int(found) == -1 or int(found) >= int(wanted)
    return set(wanted.split(",")) == set(found.split(","))  # a list (`compact,delete`) has no order


def _quoted(value: str) -> str:
    """Return a list in the brackets that kafka-configs.sh wants, quoted for a shell; any other value as it is."""
    return f"'[{value}]'" if "," in value else value
