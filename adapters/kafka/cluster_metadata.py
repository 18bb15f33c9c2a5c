"""What does the cluster say about a topic? Its id, partitions, replicas and configuration.

aiokafka speaks Metadata up to version 5, which has no topic ids and creates missing topics where the broker allows that.
The request here is version 10 (brokers since 2.8): it carries the id and never creates anything.
"""

import asyncio
import uuid
from io import BytesIO
from typing import Any, ClassVar

from aiokafka import errors
from aiokafka.client import AIOKafkaClient
from aiokafka.protocol.abstract import AbstractType
from aiokafka.protocol.admin import DescribeConfigsRequest
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Boolean, CompactArray, CompactString, Int16, Int32, Schema, TaggedFields
from msgspec import Struct

from adapters.kafka.connection import CLIENT_ERRORS, DEADLINE_SECONDS, KafkaConnection, to_log_error
from adapters.kafka.shared_client import SharedClient
from engine.partition.ports import LogError

ATTEMPTS_MAX = 3
"""Requests go to random brokers; one that just stopped must not answer for the cluster."""

MISSING = "if it is lost, run `leadclock recover`; `leadclock topics create` makes one that a release adds"
"""What to do about a topic that does not exist: who only reads it does not know whether it ever did."""

_TOPIC_RESOURCE = 2
_BROKER_RESOURCE = 4
_NO_TOPIC_ID = bytes(16)


class _Uuid(AbstractType[bytes]):  # type: ignore[misc]  # aiokafka has no types
    @classmethod
    def encode(cls, value: bytes) -> bytes:
        return value

    @classmethod
    def decode(cls, data: BytesIO) -> bytes:
        return data.read(16)


class _MetadataResponse(Response):  # type: ignore[misc]
    API_KEY = 3
    API_VERSION = 10
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "brokers",
            CompactArray(
                ("node_id", Int32),
                ("host", CompactString()),
                ("port", Int32),
                ("rack", CompactString()),
                ("tags", TaggedFields),
            ),
        ),
        ("cluster_id", CompactString()),
        ("controller_id", Int32),
        (
            "topics",
            CompactArray(
                ("error_code", Int16),
                ("name", CompactString()),
                ("topic_id", _Uuid),
                ("is_internal", Boolean),
                (
                    "partitions",
                    CompactArray(
                        ("error_code", Int16),
                        ("partition", Int32),
                        ("leader", Int32),
                        ("leader_epoch", Int32),
                        ("replicas", CompactArray(Int32)),
                        ("isr", CompactArray(Int32)),
                        ("offline_replicas", CompactArray(Int32)),
                        ("tags", TaggedFields),
                    ),
                ),
                ("authorized_operations", Int32),
                ("tags", TaggedFields),
            ),
        ),
        ("cluster_authorized_operations", Int32),
        ("tags", TaggedFields),
    )


class _MetadataRequestV10(RequestStruct):  # type: ignore[misc]
    FLEXIBLE_VERSION = True
    API_KEY = 3
    API_VERSION = 10
    RESPONSE_TYPE = _MetadataResponse
    SCHEMA = Schema(
        ("topics", CompactArray(("topic_id", _Uuid), ("name", CompactString()), ("tags", TaggedFields))),
        ("allow_auto_topic_creation", Boolean),
        ("include_cluster_authorized_operations", Boolean),
        ("include_topic_authorized_operations", Boolean),
        ("tags", TaggedFields),
    )


class _MetadataRequest(Request[_MetadataRequestV10]):  # type: ignore[misc]
    API_KEY: ClassVar[int] = 3

    def __init__(self, topics: list[str] | None) -> None:
        self._topics = topics

    def build(self, request_struct_class: type[_MetadataRequestV10]) -> _MetadataRequestV10:
        topics: list[tuple[bytes, str, dict[int, bytes]]] | None
        topics = None if self._topics is None else [(_NO_TOPIC_ID, name, {}) for name in self._topics]
        return request_struct_class(topics, False, False, False, {})


class TopicDescription(Struct, frozen=True):
    """What the broker says now: `topic_id` never changes, `replicas` are the brokers of each partition.

    `leaders` are -1 where it has none; `insync` are the replicas that have every acknowledged record.
    """

    name: str
    topic_id: str
    partition_count: int
    replicas: dict[int, list[int]] = {}
    leaders: dict[int, int] = {}
    insync: dict[int, list[int]] = {}


class ClusterMetadata:
    """Asks the cluster about topics over a connection of its own; never creates or changes one."""

    def __init__(self, connection: KafkaConnection, *, deadline_seconds: float = DEADLINE_SECONDS) -> None:
        self._deadline_seconds = deadline_seconds
        self._client = SharedClient(connection, deadline_seconds=deadline_seconds)
        self._batch_bytes_max: dict[str, int] = {}

    async def find(self, names: list[str], *, hidden: set[str] | None = None) -> dict[str, TopicDescription]:
        """Return the descriptions of those topics that exist.

        Raises `LogError`, also for a topic that we may not see; where `hidden` is given, such names are added to it instead.
        """
        response = await self._ask(_MetadataRequest(names), "asking for topics")
        found: dict[str, TopicDescription] = {}
        for error_code, name, topic_id, _internal, partitions, _operations, _tags in response.topics:
            if error_code == errors.UnknownTopicOrPartitionError.errno:
                continue
            if error_code == errors.TopicAuthorizationFailedError.errno and hidden is not None:
                hidden.add(name)
                continue
            if error_code:
                raise to_log_error(errors.for_code(error_code)(), f"asking for topic {name}")
            ordered = sorted(partitions, key=lambda one: one[1])
            found[name] = TopicDescription(
                name,
                str(uuid.UUID(bytes=topic_id)),
                len(partitions),
                {partition[1]: list(partition[4]) for partition in ordered},
                {partition[1]: partition[2] for partition in ordered},
                {partition[1]: list(partition[5]) for partition in ordered},
            )
        return found

    async def describe(self, name: str) -> TopicDescription:
        """Return the facts of one topic. Raises `LogError` (not retryable) where it does not exist."""
        found = await self.find([name])
        if name not in found:
            raise LogError(f"topic {name} does not exist: {MISSING}", retryable=False)
        return found[name]

    async def names(self) -> list[str]:
        """Return the names of all topics that we may see. Raises `LogError`."""
        response = await self._ask(_MetadataRequest(None), "asking for all topics")
        return sorted(topic[1] for topic in response.topics)

    async def cluster_id(self) -> str:
        """Return Kafka's id of the cluster, which its brokers keep on their disks. Raises `LogError`."""
        return str((await self._ask(_MetadataRequest([]), "asking for the cluster's id")).cluster_id or "")

    async def brokers(self) -> list[int]:
        """Return the ids of the brokers that the cluster shows now. Raises `LogError`."""
        response = await self._ask(_MetadataRequest([]), "asking for brokers")
        return sorted(broker[0] for broker in response.brokers)

    async def broker_configs(self, broker: int) -> dict[str, str]:
        """Return the settings in force of a broker. Raises `LogError`, not retryable where that is not allowed."""
        doing = f"asking how broker {broker} is set"
        request = DescribeConfigsRequest([(_BROKER_RESOURCE, str(broker), None)])
        return self._entries(await self._ask(request, doing, node=broker), doing)

    async def configs(self, name: str) -> dict[str, str]:
        """Return the settings in force for a topic, defaults included. Raises `LogError`."""
        doing = f"asking how {name} is set"
        return self._entries(await self._ask(DescribeConfigsRequest([(_TOPIC_RESOURCE, name, None)]), doing), doing)

    async def batch_bytes_max(self, name: str) -> int:
        """Return `max.message.bytes`, cached; it also proves that the topic exists."""
        if name not in self._batch_bytes_max:
            await self.describe(name)
            self._batch_bytes_max[name] = int((await self.configs(name))["max.message.bytes"])
        return self._batch_bytes_max[name]

    def forget(self) -> None:
        """Clear the cache: a topic may have been reconfigured or created again."""
        self._batch_bytes_max.clear()

    async def close(self) -> None:
        """Close the connection. Never raises."""
        await self._client.close()

    @staticmethod
    def _entries(response: Any, doing: str) -> dict[str, str]:
        error_code, message, _type, _name, entries = response.resources[0]
        if error_code:
            raise to_log_error(errors.for_code(error_code)(message), doing)
        return {entry[0]: entry[1] for entry in entries}

    async def _ask(self, request: Any, doing: str, *, node: int | None = None) -> Any:
        for attempt in range(1, ATTEMPTS_MAX + 1):
            client: AIOKafkaClient | None = None
            try:
                async with asyncio.timeout(self._deadline_seconds):
                    client = await self._client.connect()
                    return await client.send(client.get_random_node() if node is None else node, request)
            except CLIENT_ERRORS as error:
                refused = to_log_error(error, doing)
                await self._client.drop(client)  # the next attempt asks for the brokers again
                if attempt == ATTEMPTS_MAX or not refused.retryable:
                    raise refused from error
        raise AssertionError("the last attempt returns or raises")
