"""Which members has a consumer group now? Those with a heartbeat within their session: what runs, and what just died.

aiokafka's `describe_consumer_groups` reads the broker's answer by the wrong version of its schema. The request here is
version 2, which it knows how to read.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from aiokafka import errors
from aiokafka.client import CoordinationType
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment
from aiokafka.protocol.admin import DescribeGroupsRequest_v2
from aiokafka.protocol.api import Request
from msgspec import Struct

from adapters.kafka.connection import KafkaConnection
from adapters.kafka.coordinators import Coordinators

DEADLINE_SECONDS = 15.0
"""Of each group: a new cluster takes seconds to have coordinators."""


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
    coordinators = Coordinators(connection, CoordinationType.GROUP, deadline_seconds=DEADLINE_SECONDS)
    doing = "asking who runs the deployment"
    try:
        found = {group: await coordinators.ask(group, doing, _DescribeGroups([group]), _members) for group in groups}
    finally:
        await coordinators.close()
    return {group: members for group, members in found.items() if members}


def _members(answer: Any) -> list[Member]:
    [(error_code, group, _state, _kind, _protocol, members)] = answer.groups
    if error_code:
        raise errors.for_code(error_code)(group)
    return [Member(name, host, _partitions(held)) for _id, name, host, _metadata, held in members]


def _partitions(assignment: bytes) -> frozenset[int]:
    """Return the partitions of an assignment; it is empty while the group rebalances."""
    if not assignment:
        return frozenset()
    decoded = ConsumerProtocolMemberAssignment.decode(assignment)
    return frozenset(partition for _topic, partitions in decoded.assignment for partition in partitions)
