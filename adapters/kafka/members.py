"""Which members has a consumer group now? Those with a heartbeat within their session: what runs, and what just died.

aiokafka's `describe_consumer_groups` reads the broker's answer by the wrong version of its schema. The request here is
version 2, which it knows how to read.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, ClassVar

from aiokafka import errors
from aiokafka.client import AIOKafkaClient, ConnectionGroup, CoordinationType
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment
from aiokafka.protocol.admin import DescribeGroupsRequest_v2
from aiokafka.protocol.api import Request
from msgspec import Struct

from adapters.kafka.committed_offsets import COORDINATOR_MOVES
from adapters.kafka.connection import CLIENT_ERRORS, KafkaConnection, to_log_error
from adapters.kafka.lifecycle import close, starting

DEADLINE_SECONDS = 15.0
"""A new cluster takes seconds to have coordinators."""

RETRY_SECONDS = 0.2


class _DescribeGroups(Request[DescribeGroupsRequest_v2]):  # type: ignore[misc]  # aiokafka has no types
    API_KEY: ClassVar[int] = 15

    def __init__(self, groups: list[str]) -> None:
        self._groups = groups

    def build(self, request_struct_class: type[DescribeGroupsRequest_v2]) -> DescribeGroupsRequest_v2:
        return request_struct_class(self._groups)


class Member(Struct, frozen=True):
    """A process that is a member of a group: how it calls itself, the host it speaks from, and its partitions."""

    name: str
    host: str
    partitions: frozenset[int]


async def list_members(connection: KafkaConnection, groups: Sequence[str]) -> dict[str, list[Member]]:
    """Return the members of each group that has any. Raises `LogError`."""
    client = AIOKafkaClient(**connection.options())
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            with starting():
                await client.bootstrap()
            found = {group: await _list(client, group) for group in groups}
    except CLIENT_ERRORS as error:
        raise to_log_error(error, "asking who runs the deployment") from error
    finally:
        await close(client)
    return {group: members for group, members in found.items() if members}


async def _list(client: Any, group: str) -> list[Member]:
    while True:
        try:
            node = await client.coordinator_lookup(CoordinationType.GROUP, group)
            answer = await client.send(node, _DescribeGroups([group]), group=ConnectionGroup.COORDINATION)
            [(error_code, _group, _state, _kind, _protocol, members)] = answer.groups
            if error_code:
                raise errors.for_code(error_code)(group)
            return [Member(name, host, _partitions(held)) for _id, name, host, _metadata, held in members]
        except COORDINATOR_MOVES:
            await asyncio.sleep(RETRY_SECONDS)


def _partitions(assignment: bytes) -> frozenset[int]:
    """Return the partitions of an assignment; it is empty while the group rebalances."""
    if not assignment:
        return frozenset()
    decoded = ConsumerProtocolMemberAssignment.decode(assignment)
    return frozenset(partition for _topic, partitions in decoded.assignment for partition in partitions)
